/** NodeVolumeLimits: a node takes as many volumes of a CSI driver as its CSINode says (upstream: plugins/nodevolumelimits/csi.go). */
import type { CSINode, PersistentVolumeClaim, Pod } from '../../api/generated/types.ts'
import { podClaims } from '../../api/pod-references.ts'
import { resourcesOf } from '../../api/resources.ts'
import { registered, registeredPods } from '../cluster-event.ts'
import type { Handle, PluginWith, Rejection } from '../plugin.ts'
import { classOf, usesClaim, volumeCaches } from './pod-volumes.ts'
import type { VolumeCaches } from './pod-volumes.ts'

const exceeded: Rejection = { reasons: ['node(s) exceed max volume count'], resolvable: true }

/** The driver of the claim's volume, and what tells the volume from others; undefined for volumes of no driver. */
function driverVolume(
  caches: VolumeCaches,
  claim: PersistentVolumeClaim,
): readonly [volume: string, driver: string] | undefined {
  const { volumeName } = claim.spec ?? {}
  if (volumeName) {
    const csi = caches.volumes.get(volumeName)?.spec?.csi
    return csi === undefined ? undefined : [`${csi.driver}/${csi.volumeHandle}`, csi.driver]
  }
  // Not bound yet: its driver is the provisioner, as far as one can tell.
  const driver = classOf(caches, claim)?.provisioner
  const { namespace = '', name = '' } = claim.metadata
  return driver === undefined ? undefined : [`${driver}/${namespace}/${name}`, driver]
}

/** The pod's volumes of CSI drivers: the driver of each. */
function driverVolumes(caches: VolumeCaches, pod: Pod): Map<string, string> {
  const { namespace = '' } = pod.metadata
  return new Map(
    podClaims(pod).flatMap((name) => {
      const claim = caches.claims.get(`${namespace}/${name}`)
      const volume = claim === undefined ? undefined : driverVolume(caches, claim)
      return volume === undefined ? [] : [volume]
    }),
  )
}

export function nodeVolumeLimits(handle: Handle): PluginWith<'filter'> {
  const caches = volumeCaches(handle)
  const csiNodes = handle.informers.informer<CSINode>(resourcesOf(handle.dialect).csiNodes)
  return {
    name: 'NodeVolumeLimits',
    events: [
      registered('CSINode', ['Add', 'Update']),
      registeredPods(['Delete'], (_, { old }) => old !== undefined && podClaims(old).length > 0),
      registered(
        'PersistentVolumeClaim',
        ['Add', 'Update'],
        ({ pod }, { now }) => now !== undefined && usesClaim(pod, now),
      ),
    ],
    filter({ pod }) {
      if (podClaims(pod).length === 0) return undefined
      const wanted = driverVolumes(caches, pod)
      if (wanted.size === 0) return undefined
      return (node) => {
        const limits = new Map(
          (csiNodes.get(node.name)?.spec.drivers ?? []).flatMap(({ name, allocatable }) =>
            allocatable?.count === undefined ? [] : [[name, allocatable.count] as const],
          ),
        )
        if (![...wanted.values()].some((driver) => limits.has(driver))) return undefined
        const all = new Map(wanted)
        for (const { pod: other } of node.pods.values()) {
          for (const [volume, driver] of driverVolumes(caches, other)) all.set(volume, driver)
        }
        const added = new Set(wanted.values())
        for (const driver of added) {
          const count = [...all.values()].filter((one) => one === driver).length
          if (count > (limits.get(driver) ?? Infinity)) return exceeded
        }
        return undefined
      }
    },
  }
}
