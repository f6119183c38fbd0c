import { afterEach, describe, expect, it } from 'vitest'
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  VolumeAttachment,
} from '../../../components/api/generated/types.ts'
import { attachDetach } from '../../../components/controller-manager/attach-detach/attach-detach.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { claim, podWithClaim, volume } from '../../support/volumes.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

const driver = 'csi.example.com'
const csiVolume = (modes = ['ReadWriteOnce']): PersistentVolume => {
  const one = volume('v', { claim: 'c c-uid', modes })
  const { hostPath: _path, ...spec } = one.spec ?? {}
  return { ...one, spec: { ...spec, csi: { driver, volumeHandle: 'disk-1' } } }
}
const bound: PersistentVolumeClaim = claim('c', { volumeName: 'v', status: { phase: 'Bound' } })

async function settled(
  options: { volume?: PersistentVolume; pods?: Pod[]; attachRequired?: boolean } = {},
): Promise<void> {
  harness = createReconcilerHarness()
  const { cluster, resources } = harness
  for (const name of ['n1', 'n2']) cluster.seed(resources.nodes, { metadata: { name } })
  cluster.seed(resources.persistentVolumes, options.volume ?? csiVolume())
  cluster.seed(resources.persistentVolumeClaims, bound)
  const { attachRequired } = options
  if (attachRequired !== undefined)
    cluster.seed(resources.csiDrivers, { metadata: { name: driver }, spec: { attachRequired } })
  for (const pod of options.pods ?? [podWithClaim('p', 'c', 'n1')])
    cluster.seed(resources.pods, pod)
  await harness.start(attachDetach)
}

function attachments(): VolumeAttachment[] {
  return harness.cluster.all<VolumeAttachment>(harness.resources.volumeAttachments)
}

/** The driver's attacher answers. */
async function answer(status: object, name = attachments()[0]?.metadata.name ?? ''): Promise<void> {
  harness.cluster.change(harness.resources.volumeAttachments, name, (object) => {
    object['status'] = status
  })
  await harness.step()
}

const attachedTo = (name: string) =>
  harness.cluster.peek<Node>(harness.resources.nodes, name)?.status?.volumesAttached

describe('persistentvolume-attach-detach-controller', () => {
  it('asks for a volume where its pod is, and reports it once it is attached', async () => {
    await settled()
    expect(attachments().map(({ spec }) => spec)).toEqual([
      { attacher: driver, nodeName: 'n1', source: { persistentVolumeName: 'v' } },
    ])
    expect(attachments()[0]?.metadata.name).toMatch(/^csi-[0-9a-f]{64}$/)
    expect(attachedTo('n1')).toBeUndefined()
    await answer({ attached: true })
    expect(attachedTo('n1')).toEqual([
      { name: `kubernetes.io/csi/${driver}^disk-1`, devicePath: '' },
    ])
    expect(harness.events).toEqual([
      'Normal SuccessfulAttachVolume Pod default/p: AttachVolume.Attach succeeded for volume "v" ',
    ])
    const before = harness.cluster.writes.length
    await harness.step(600_000)
    expect(harness.cluster.writes.slice(before)).toEqual([])
  })

  it('detaches it once the pod is gone or has finished, and no longer in use', async () => {
    await settled()
    await answer({ attached: true })
    const { cluster, resources } = harness
    cluster.change(resources.nodes, 'n1', (node) => {
      node['status'].volumesInUse = [`kubernetes.io/csi/${driver}^disk-1`]
    })
    cluster.change(resources.pods, 'default/p', (pod) => {
      pod['status'] = { phase: 'Succeeded' }
    })
    await harness.step()
    expect(attachments()).toHaveLength(1)
    cluster.change(resources.nodes, 'n1', (node) => {
      delete node['status'].volumesInUse
    })
    await harness.step()
    expect(attachments()).toEqual([])
    expect(attachedTo('n1') ?? []).toEqual([])
  })

  it('leaves attachments alone that others made', async () => {
    await settled({ pods: [] })
    const { cluster, resources } = harness
    const source = { persistentVolumeName: 'v' }
    for (const name of ['by-hand', `csi-${'0'.repeat(64)}`])
      cluster.seed(resources.volumeAttachments, {
        metadata: { name },
        spec: { attacher: driver, nodeName: 'n1', source },
      })
    await harness.step(60_000)
    expect(attachments()).toHaveLength(2)
  })

  it('says once why the driver could not attach', async () => {
    await settled()
    await answer({ attached: false, attachError: { message: 'no such disk' } })
    await harness.step(60_000)
    expect(harness.events).toEqual([
      'Warning FailedAttachVolume Pod default/p: AttachVolume.Attach failed for volume "v" : no such disk',
    ])
  })

  it('gives a volume for one node to a second one only when the first has let it go', async () => {
    await settled({ pods: [podWithClaim('p', 'c', 'n1'), podWithClaim('q', 'c', 'n2')] })
    expect(attachments()).toHaveLength(1)
    const [first] = attachments()
    const waiting = first?.spec.nodeName === 'n1' ? 'q' : 'p'
    expect(harness.events).toEqual([
      `Warning FailedAttachVolume Pod default/${waiting}: Multi-Attach error for volume "v" Volume is already exclusively attached to one node and can't be attached to another`,
    ])
    const done = waiting === 'q' ? 'p' : 'q'
    harness.cluster.remove(harness.resources.pods, `default/${done}`)
    await harness.step()
    expect(attachments().map(({ spec }) => spec.nodeName)).toEqual([waiting === 'q' ? 'n2' : 'n1'])
  })

  it.each<[string, Parameters<typeof settled>[0], number]>([
    [
      'a volume for many nodes to each of them',
      {
        volume: csiVolume(['ReadWriteMany']),
        pods: [podWithClaim('p', 'c', 'n1'), podWithClaim('q', 'c', 'n2')],
      },
      2,
    ],
    [
      'a volume that two pods of a node use once',
      { pods: ['p', 'q'].map((name) => podWithClaim(name, 'c', 'n1')) },
      1,
    ],
    ['nothing where the driver needs no attachment', { attachRequired: false }, 0],
    ['nothing for a volume of no driver', { volume: volume('v', { claim: 'c c-uid' }) }, 0],
    ['nothing for a pod without a node', { pods: [podWithClaim('p', 'c')] }, 0],
  ])('attaches %s', async (_, options, count) => {
    await settled(options)
    expect(attachments()).toHaveLength(count)
  })
})

describe('the metrics of persistentvolume-attach-detach-controller', () => {
  const plugin = `kubernetes.io/csi:${driver}`
  const operation = (name: string, status: string): string =>
    `{volume_plugin="${plugin}",operation_name="${name}",status="${status}",migrated="false"}`

  it('show the volumes that nodes use, and how long drivers take', async () => {
    await settled()
    const shown = (): string[] => harness.shown('attachdetach_controller_total_volumes')
    expect(shown()).toEqual([`{plugin_name="${plugin}",state="desired_state_of_world"} 1`])
    await harness.step(2000)
    await answer({ attachError: { message: 'busy' } })
    await harness.step(3000)
    await answer({ attached: true })
    const times = (): string[] => harness.shown('storage_operation_duration_seconds')
    expect(times()).toEqual([
      `${operation('volume_attach', 'fail-unknown')} 1, 2`,
      `${operation('volume_attach', 'success')} 1, 3`,
    ])
    expect(shown()).toEqual([
      `{plugin_name="${plugin}",state="desired_state_of_world"} 1`,
      `{plugin_name="${plugin}",state="actual_state_of_world"} 1`,
    ])
    expect(harness.shown('storage_count_attachable_volumes_in_use')).toEqual([
      `{node="n1",volume_plugin="${plugin}"} 1`,
    ])
    harness.cluster.remove(harness.resources.pods, 'default/p')
    await harness.step()
    expect(attachments()).toEqual([])
    expect(times().at(-1)).toBe(`${operation('volume_detach', 'success')} 1, 0`)
    expect(shown()).toEqual([])
  })
})
