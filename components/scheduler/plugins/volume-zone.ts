/** VolumeZone: a pod goes to the zone and region that the labels of its volumes name (upstream: plugins/volumezone). */
import { labelKey, type Dialect } from '../../api/dialect.ts'
import { podClaims } from '../../api/pod-references.ts'
import { registered } from '../cluster-event.ts'
import type { Handle, PluginWith, Rejection } from '../plugin.ts'
import type { NodeLabels } from '../snapshot.ts'
import { usesClaim, volumeCaches } from './pod-volumes.ts'

const conflict: Rejection = {
  reasons: ['node(s) had no available volume zone'],
  resolvable: false,
}

interface Topology {
  readonly key: string
  readonly values: readonly string[]
}

/** Zone and region under their names of today and of before. */
function topologyKeys(dialect: Dialect): readonly (readonly [key: string, other: string])[] {
  return ['zone', 'region'].flatMap((name) => {
    const now = labelKey(dialect, 'topology', name)
    const before = labelKey(dialect, 'failure-domain.beta', name)
    return [[now, before] as const, [before, now] as const]
  })
}

export function volumeZone(handle: Handle): PluginWith<'filter'> {
  const caches = volumeCaches(handle)
  const keys = topologyKeys(handle.dialect)
  const valueOf = ({ labels }: NodeLabels, key: string): string | undefined =>
    labels[key] ?? labels[keys.find(([one]) => one === key)?.[1] ?? '']
  return {
    name: 'VolumeZone',
    events: [
      registered('Node', ['Add', 'UpdateNodeLabel']),
      registered(
        'PersistentVolumeClaim',
        ['Add', 'Update'],
        ({ pod }, { now }) => now !== undefined && usesClaim(pod, now),
      ),
      registered('PersistentVolume', ['Add', 'Update']),
      registered('StorageClass', ['Add']),
    ],
    filter({ pod }) {
      const topologies = podClaims(pod).flatMap((name): Topology[] => {
        const claim = caches.claims.get(`${pod.metadata.namespace ?? ''}/${name}`)
        const { labels = {} } = caches.volumes.get(claim?.spec?.volumeName ?? '')?.metadata ?? {}
        return keys.flatMap(([key]) => {
          const value = labels[key]
          return value === undefined ? [] : [{ key, values: value.split('__') }]
        })
      })
      if (topologies.length === 0) return undefined
      return (node) => {
        // A node without zone and region is near everything.
        if (keys.every(([key]) => node.labels[key] === undefined)) return undefined
        const isNear = topologies.every(({ key, values }) =>
          values.includes(valueOf(node, key) ?? ''),
        )
        return isNear ? undefined : conflict
      }
    },
  }
}
