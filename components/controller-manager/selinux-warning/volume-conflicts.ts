/** Which pods use a volume with which label and policy, and how they conflict (upstream: selinuxwarning/cache). */
import { splitKey } from '../../machinery/objects/object.ts'
import type { LabelledVolume } from './labelled-volumes.ts'

/** An event about one pod that names another. */
export interface Conflict {
  readonly podKey: string
  readonly reason: string
  readonly message: string
}

export interface VolumeConflicts {
  /** The pod's volumes are these now. Answers with the conflicts of those that are new or changed, for both pods. */
  set(podKey: string, volumes: readonly LabelledVolume[]): Conflict[]
  /** The pod uses no volume any more. */
  delete(podKey: string): void
  /** Keys of pods that use volumes of the driver. */
  podsOf(driver: string): string[]
}

interface Property {
  readonly name: string
  readonly reason: string
  readonly of: (volume: LabelledVolume) => string
}

const properties: readonly Property[] = [
  {
    name: 'SELinuxChangePolicy',
    reason: 'SELinuxChangePolicyConflict',
    of: ({ policy }) => policy,
  },
  { name: 'SELinux label', reason: 'SELinuxLabelConflict', of: ({ label }) => label },
]

interface Use {
  readonly podKey: string
  readonly volume: LabelledVolume
}

/** The event about one pod. It names the other only in the same namespace. */
function conflictOf({ name, reason, of }: Property, own: Use, other: Use): Conflict {
  const [mine, theirs] = [splitKey(own.podKey), splitKey(other.podKey)]
  const end = 'If both pods land on the same node, only one of them may access the volume.'
  const value = `"${of(own.volume)}"`
  const message =
    mine.namespace === theirs.namespace
      ? `${name} ${value} conflicts with pod ${theirs.name} that uses the same volume as this pod with ${name} "${of(other.volume)}". ${end}`
      : // Upstream puts no space there.
        `${name}${value} conflicts with another pod that uses the same volume as this pod with a different ${name}. ${end}`
  return { podKey: own.podKey, reason, message }
}

export function createVolumeConflicts(): VolumeConflicts {
  /** By volume, then by pod. */
  const uses = new Map<string, Map<string, LabelledVolume>>()
  /** The volumes of each pod. */
  const volumesOf = new Map<string, ReadonlySet<string>>()
  const setVolumes = (podKey: string, ids: ReadonlySet<string>): void => {
    for (const id of volumesOf.get(podKey) ?? []) {
      if (ids.has(id)) continue
      const pods = uses.get(id)
      pods?.delete(podKey)
      if (pods?.size === 0) uses.delete(id)
    }
    if (ids.size === 0) volumesOf.delete(podKey)
    else volumesOf.set(podKey, ids)
  }
  const add = (podKey: string, volume: LabelledVolume): Conflict[] => {
    const pods = uses.get(volume.id) ?? new Map<string, LabelledVolume>()
    uses.set(volume.id, pods)
    const before = pods.get(podKey)
    if (before?.label === volume.label && before.policy === volume.policy) return []
    pods.set(podKey, volume)
    const own = { podKey, volume }
    return [...pods].flatMap(([otherKey, otherVolume]) => {
      const other = { podKey: otherKey, volume: otherVolume }
      return properties
        .filter(({ of }) => of(volume) !== of(otherVolume))
        .flatMap((property) => [conflictOf(property, own, other), conflictOf(property, other, own)])
    })
  }
  return {
    set: (podKey, volumes) => {
      setVolumes(podKey, new Set(volumes.map(({ id }) => id)))
      return volumes.flatMap((volume) => add(podKey, volume))
    },
    delete: (podKey) => setVolumes(podKey, new Set()),
    podsOf: (driver) => {
      const pods = [...uses.values()].flatMap((users) =>
        [...users].filter(([, volume]) => volume.driver === driver).map(([podKey]) => podKey),
      )
      return [...new Set(pods)]
    },
  }
}
