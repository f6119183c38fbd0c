/** Classes of attributes: their protection, and what binder and simulated provisioner make of them. */
import { afterEach, describe, expect, it } from 'vitest'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
} from '../../../components/api/generated/types.ts'
import { persistentVolumeBinder } from '../../../components/controller-manager/persistent-volumes/binder.ts'
import { simulatedProvisionerController } from '../../../components/controller-manager/simulated-storage/simulated-provisioner.ts'
import { attributesClassProtection } from '../../../components/controller-manager/volume-protection/attributes-class-protection.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'
import { claim, defaultClass, volume } from '../../support/volumes.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

const finalizer = 'kubernetes.io/vac-protection'
const gates = { VolumeAttributesClass: true }

function withClass<T extends PersistentVolume | PersistentVolumeClaim>(object: T, name: string): T {
  return { ...object, spec: { ...object.spec, volumeAttributesClassName: name } }
}

function gold(finalizers: string[] = []): KubeObject {
  return { metadata: { name: 'gold', finalizers }, driverName: 'd', parameters: { iops: '1' } }
}

function classNow(): KubeObject | undefined {
  return harness.cluster.peek(harness.resources.volumeAttributesClasses, 'gold')
}

describe('the protection of a class of attributes', () => {
  it('is put on a class, and then nothing more is written', async () => {
    harness = createReconcilerHarness({ gates })
    harness.cluster.seed(harness.resources.volumeAttributesClasses, gold())
    await harness.start(attributesClassProtection)
    expect(classNow()?.metadata.finalizers).toEqual([finalizer])
    await harness.step(600_000)
    expect(harness.cluster.writes).toEqual(['update volumeattributesclasses gold'])
  })

  const status = (more: NonNullable<PersistentVolumeClaim['status']>) => ({
    ...claim('c'),
    status: more,
  })
  it.each<[string, PersistentVolumeClaim[], PersistentVolume[], boolean]>([
    ['goes when nothing names it', [claim('c')], [volume('v')], false],
    ['goes when others are named', [withClass(claim('c'), 'silver')], [], false],
    ['stays for a claim that asks for it', [withClass(claim('c'), 'gold')], [], true],
    [
      'stays for a claim that has it',
      [status({ currentVolumeAttributesClassName: 'gold' })],
      [],
      true,
    ],
    [
      'stays for a claim that is on its way to it',
      [
        status({
          modifyVolumeStatus: { targetVolumeAttributesClassName: 'gold', status: 'Pending' },
        }),
      ],
      [],
      true,
    ],
    ['stays for a volume that has it', [], [withClass(volume('v'), 'gold')], true],
  ])('of a deleted one: it %s', async (_, claims, volumes, stays) => {
    harness = createReconcilerHarness({ gates })
    const { cluster, resources } = harness
    cluster.seed(resources.volumeAttributesClasses, gold([finalizer]))
    for (const one of claims) cluster.seed(resources.persistentVolumeClaims, one)
    for (const one of volumes) cluster.seed(resources.persistentVolumes, one)
    cluster.remove(resources.volumeAttributesClasses, 'gold')
    await harness.start(attributesClassProtection)
    expect(classNow() !== undefined).toBe(stays)
  })

  it('ends with the last claim that names it', async () => {
    harness = createReconcilerHarness({ gates })
    const { cluster, resources } = harness
    cluster.seed(resources.volumeAttributesClasses, gold([finalizer]))
    cluster.seed(resources.persistentVolumeClaims, withClass(claim('c'), 'gold'))
    await harness.start(attributesClassProtection)
    cluster.remove(resources.volumeAttributesClasses, 'gold')
    await harness.step()
    expect(classNow()).toBeDefined()
    cluster.remove(resources.persistentVolumeClaims, 'default/c')
    await harness.step()
    expect(classNow()).toBeUndefined()
  })
})

describe('a claim with a class of attributes', () => {
  const claimNow = (): PersistentVolumeClaim | undefined =>
    harness.cluster.peek(harness.resources.persistentVolumeClaims, 'default/c')

  it('takes only a volume of that class, and has its attributes then', async () => {
    harness = createReconcilerHarness({ gates })
    const { cluster, resources } = harness
    cluster.seed(resources.persistentVolumes, volume('plain'))
    cluster.seed(resources.persistentVolumes, withClass(volume('silver'), 'silver'))
    cluster.seed(resources.persistentVolumes, withClass(volume('gold'), 'gold'))
    cluster.seed(resources.persistentVolumeClaims, withClass(claim('c'), 'gold'))
    await harness.start(persistentVolumeBinder)
    expect(claimNow()?.spec?.volumeName).toBe('gold')
    expect(claimNow()?.status).toMatchObject({
      phase: 'Bound',
      currentVolumeAttributesClassName: 'gold',
    })
  })

  it('cannot have a volume of another class that it names', async () => {
    harness = createReconcilerHarness({ gates })
    const { cluster, resources } = harness
    cluster.seed(resources.persistentVolumes, withClass(volume('silver'), 'silver'))
    const wanted = withClass(claim('c', { volumeName: 'silver' }), 'gold')
    cluster.seed(resources.persistentVolumeClaims, wanted)
    await harness.start(persistentVolumeBinder)
    expect(harness.events).toEqual([
      'Warning VolumeMismatch PersistentVolumeClaim default/c: Cannot bind to requested volume "silver": volumeAttributesClassName does not match',
    ])
  })

  it('gets no simulated volume, and is told why', async () => {
    harness = createReconcilerHarness({ gates })
    const { cluster, resources } = harness
    cluster.seed(resources.storageClasses, defaultClass())
    const wanted = withClass(claim('c', { className: 'standard' }), 'gold')
    cluster.seed(resources.persistentVolumeClaims, wanted)
    await harness.start(persistentVolumeBinder, simulatedProvisionerController)
    expect(cluster.all(resources.persistentVolumes)).toEqual([])
    expect(harness.events.join('\n')).toContain('does not support volume attributes classes')
  })

  it('that has a simulated volume is told once that it gets no other attributes', async () => {
    harness = createReconcilerHarness({ gates })
    const { cluster, resources } = harness
    cluster.seed(resources.storageClasses, defaultClass())
    cluster.seed(resources.persistentVolumeClaims, claim('c', { className: 'standard' }))
    await harness.start(persistentVolumeBinder, simulatedProvisionerController)
    expect(claimNow()?.status?.phase).toBe('Bound')
    const ask = (name: string): void => {
      cluster.change(resources.persistentVolumeClaims, 'default/c', (object) => {
        const { spec } = object as PersistentVolumeClaim
        if (spec) spec.volumeAttributesClassName = name
      })
    }
    const refusals = (): string[] => harness.events.filter((text) => text.includes('ModifyFailed'))
    ask('gold')
    await harness.step(60_000)
    expect(refusals()).toHaveLength(1)
    ask('silver')
    await harness.step(60_000)
    expect(refusals()).toHaveLength(2)
  })
})
