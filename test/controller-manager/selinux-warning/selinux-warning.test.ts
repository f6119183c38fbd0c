import { afterEach, describe, expect, it } from 'vitest'
import type { Pod } from '../../../components/api/generated/types.ts'
import { selinuxWarning } from '../../../components/controller-manager/selinux-warning/selinux-warning.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { claim, podWithClaim, volume } from '../../support/volumes.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

/** A pod whose container mounts the claim `c`, by its SELinux level. */
function pod(name: string, level: string | undefined, more: { policy?: string } = {}): Pod {
  const base = podWithClaim(name, 'c', 'n1')
  const [mounted] = base.spec?.volumes ?? []
  return {
    ...base,
    metadata: { ...base.metadata, uid: `${name}-uid` },
    spec: {
      ...base.spec,
      containers: [
        { name: 'main', volumeMounts: [{ name: mounted?.name ?? '', mountPath: '/d' }] },
      ],
      securityContext: {
        ...(level === undefined ? {} : { seLinuxOptions: { level } }),
        ...(more.policy === undefined ? {} : { seLinuxChangePolicy: more.policy }),
      },
    },
  }
}

async function startWith(pods: readonly Pod[], seLinuxMount = true): Promise<void> {
  harness = createReconcilerHarness({ gates: { SELinuxChangePolicy: true } })
  const { cluster, resources } = harness
  const { hostPath: _none, ...spec } = volume('v', { claim: 'c c-uid' }).spec ?? {}
  const csi = { driver: 'example.com', volumeHandle: 'h' }
  cluster.seed(resources.csiDrivers, { metadata: { name: 'example.com' }, spec: { seLinuxMount } })
  cluster.seed(resources.persistentVolumes, { metadata: { name: 'v' }, spec: { ...spec, csi } })
  cluster.seed(resources.persistentVolumeClaims, claim('c', { volumeName: 'v' }))
  for (const one of pods) cluster.seed(resources.pods, one)
  await harness.start(selinuxWarning)
}

const end = 'If both pods land on the same node, only one of them may access the volume.'

describe('pods that share a volume', () => {
  it('with different labels get one event each', async () => {
    await startWith([pod('a', 's0:c1'), pod('b', 's0:c2')])
    const told = [
      `Normal SELinuxLabelConflict Pod default/a: SELinux label "s0:c1" conflicts with pod b that uses the same volume as this pod with SELinux label "s0:c2". ${end}`,
      `Normal SELinuxLabelConflict Pod default/b: SELinux label "s0:c2" conflicts with pod a that uses the same volume as this pod with SELinux label "s0:c1". ${end}`,
    ]
    expect(harness.events.toSorted()).toEqual(told)
    const { cluster, resources } = harness
    cluster.change(resources.pods, 'default/a', (object) => {
      object['status'] = { phase: 'Running' }
    })
    await harness.step(600_000)
    expect(harness.events).toHaveLength(2)
    expect(cluster.writes).toEqual([])
  })

  it.each<[string, Pod[], boolean]>([
    ['with one label', [pod('a', 's0:c1'), pod('b', 's0:c1')], true],
    ['without labels', [pod('a', undefined), pod('b', undefined)], true],
    ['by a driver that mounts without labels', [pod('a', 's0:c1'), pod('b', 's0:c2')], false],
    [
      'that ask for files to be relabelled',
      [pod('a', 's0:c1', { policy: 'Recursive' }), pod('b', 's0:c2', { policy: 'Recursive' })],
      true,
    ],
    [
      'of which one has ended',
      [pod('a', 's0:c1'), { ...pod('b', 's0:c2'), status: { phase: 'Succeeded' } }],
      true,
    ],
  ])('%s do not conflict', async (_, pods, seLinuxMount) => {
    await startWith(pods, seLinuxMount)
    expect(harness.events).toEqual([])
  })

  it('with different policies conflict in them, too', async () => {
    await startWith([pod('a', 's0:c1'), pod('b', 's0:c1', { policy: 'Recursive' })])
    const reasons = harness.events.map((text) => text.split(' ')[1])
    expect(reasons.toSorted()).toEqual([
      'SELinuxChangePolicyConflict',
      'SELinuxChangePolicyConflict',
      'SELinuxLabelConflict',
      'SELinuxLabelConflict',
    ])
    expect(harness.events.join('\n')).toContain(
      'SELinuxChangePolicy "Recursive" conflicts with pod a',
    )
  })

  it('conflict once the driver mounts with labels', async () => {
    await startWith([pod('a', 's0:c1'), pod('b', 's0:c2')], false)
    harness.cluster.change(harness.resources.csiDrivers, 'example.com', (object) => {
      object['spec'].seLinuxMount = true
    })
    await harness.step()
    expect(harness.events.join('\n')).toContain('SELinuxLabelConflict')
  })

  it('conflict no more when one is gone', async () => {
    await startWith([pod('a', 's0:c1')])
    const { cluster, resources } = harness
    cluster.remove(resources.pods, 'default/a')
    await harness.step()
    cluster.seed(resources.pods, pod('b', 's0:c2'))
    await harness.step()
    expect(harness.events).toEqual([])
  })
})

it('a pod whose containers mount one volume with different labels gets one event', async () => {
  const base = pod('a', 's0:c1')
  const [main] = base.spec?.containers ?? []
  const other = { ...main, name: 'side', securityContext: { seLinuxOptions: { level: 's0:c2' } } }
  const containers = [...(base.spec?.containers ?? []), other]
  await startWith([{ ...base, spec: { ...base.spec, containers } }])
  const { cluster, resources } = harness
  cluster.change(resources.pods, 'default/a', (object) => {
    object['status'] = { phase: 'Running' }
  })
  await harness.step()
  expect(harness.events).toHaveLength(1)
  expect(harness.events[0]).toContain('is mounted twice with different SELinux labels')
})
