/**
 * Keeps a deleted VolumeAttributesClass until no claim and no volume names it (upstream: pkg/controller/volume/vacprotection;
 * KEP-3751).
 */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/types.ts'
import { volumeKeys } from '../../api/volume-binding.ts'
import { runController, source } from '../../client/controller.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { ControllerContext, ControllerEntry } from '../controller-context.ts'
import { protect } from './protection.ts'

const name = 'volumeattributesclass-protection-controller'
const byClass = 'attributesClass'

/** The classes that the claim asks for, has, or is on its way to. */
function classesOfClaim({ spec, status }: PersistentVolumeClaim): string[] {
  const names = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return [...new Set(names.filter((one) => one !== undefined && one !== ''))] as string[]
}

function classesOfVolume({ spec }: PersistentVolume): string[] {
  return spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : []
}

/** Runs until `signal` aborts. */
async function runAttributesClassProtection(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, informers, resources, dialect, clock, log, queues } = context
  const classes = informers.informer<KubeObject>(resources.volumeAttributesClasses)
  const claims = informers.informer<PersistentVolumeClaim>(resources.persistentVolumeClaims)
  const volumes = informers.informer<PersistentVolume>(resources.persistentVolumes)
  claims.addIndex(byClass, classesOfClaim)
  volumes.addIndex(byClass, classesOfVolume)
  const protection = {
    client: client.resource<KubeObject>(resources.volumeAttributesClasses),
    finalizer: volumeKeys(dialect).attributesClassProtection,
    isUsed: ({ metadata }: KubeObject): boolean => {
      const of = metadata.name ?? ''
      return claims.byIndex(byClass, of).length > 0 || volumes.byIndex(byClass, of).length > 0
    },
  }
  await runController(
    {
      name,
      informers: [
        source(classes),
        source(claims, classesOfClaim),
        source(volumes, classesOfVolume),
      ],
      reconcile: async (key) => {
        const found = classes.get(key)
        if (found !== undefined) await protect(protection, found)
      },
      clock,
      log,
      queue: queues('vacprotection'),
    },
    signal,
  )
}

export const attributesClassProtection: ControllerEntry = {
  name,
  aliases: [],
  defaultOn: true,
  gates: ['VolumeAttributesClass'],
  start: runAttributesClassProtection,
}
