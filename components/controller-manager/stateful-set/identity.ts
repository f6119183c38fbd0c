/**
 * Who a pod of a StatefulSet is: the name, labels, host name and claims that belong to its ordinal (upstream:
 * stateful_set_utils.go; KEP-3335 start ordinals, KEP-4017 index label). Pure.
 */
import type {
  PersistentVolumeClaim,
  Pod,
  PodTemplateSpec,
  StatefulSet,
  Volume,
} from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { podFromTemplate } from '../replica-set/pod-control.ts'
import { revisionHashKey } from '../revisions/revision-control.ts'

export interface IdentityKeys {
  readonly podName: string
  readonly podIndex: string
}

export function identityKeys(dialect: Dialect): IdentityKeys {
  return {
    podName: labelKey(dialect, 'statefulset', 'pod-name'),
    podIndex: labelKey(dialect, 'apps', 'pod-index'),
  }
}

export function startOrdinal({ spec }: StatefulSet): number {
  return spec?.ordinals?.start ?? 0
}

export function replicasOf({ spec }: StatefulSet): number {
  return spec?.replicas ?? 1
}

export function podNameOf(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name}-${ordinal}`
}

/** The ordinal of the set's pod of that name; undefined for a pod that is not a member. */
export function ordinalOf(set: StatefulSet, { metadata: { name = '' } }: Pod): number | undefined {
  const digits = /-(\d{1,10})$/.exec(name)?.[1]
  if (digits === undefined) return undefined
  const ordinal = Number(digits)
  return ordinal <= 0x7f_ff_ff_ff && name === podNameOf(set, ordinal) ? ordinal : undefined
}

/** The set wants a pod of this ordinal. */
export function isInRange(set: StatefulSet, ordinal: number): boolean {
  const start = startOrdinal(set)
  return ordinal >= start && ordinal < start + replicasOf(set)
}

/** The name of the ControllerRevision that the pod was made from. */
export function podRevision({ metadata }: Pod): string {
  return metadata.labels?.[revisionHashKey] ?? ''
}

/** The claims of the pod of that ordinal, in the order of their templates. */
export function claimsFor(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  const { namespace = '' } = set.metadata
  return (set.spec?.volumeClaimTemplates ?? []).map((template) => {
    const claim = copyJson(template)
    const { labels, annotations, finalizers, name } = claim.metadata
    const selected = set.spec?.selector.matchLabels
    return {
      ...claim,
      metadata: {
        name: `${name}-${podNameOf(set, ordinal)}`,
        namespace,
        ...((labels ?? selected) && { labels: { ...labels, ...selected } }),
        ...(annotations && { annotations }),
        ...(finalizers && { finalizers }),
      },
    }
  })
}

/** The volumes that the set's claims stand for, then the others. */
function withClaims(set: StatefulSet, ordinal: number, volumes: readonly Volume[]): Volume[] {
  const claims = claimsFor(set, ordinal)
  const own = (set.spec?.volumeClaimTemplates ?? []).map(({ metadata }, index) => ({
    name: metadata.name ?? '',
    persistentVolumeClaim: { claimName: claims[index]?.metadata.name ?? '' },
  }))
  const names = new Set(own.map(({ name }) => name))
  return [...own, ...volumes.filter(({ name }) => !names.has(name))]
}

export function hasIdentity(pod: Pod, keys: IdentityKeys): boolean {
  return pod.metadata.labels?.[keys.podName] === pod.metadata.name
}

export function hasStorage(set: StatefulSet, ordinal: number, pod: Pod): boolean {
  const volumes = pod.spec?.volumes ?? []
  const claims = claimsFor(set, ordinal)
  return (set.spec?.volumeClaimTemplates ?? []).every(({ metadata }, index) => {
    const volume = volumes.find(({ name }) => name === metadata.name)
    return volume?.persistentVolumeClaim?.claimName === claims[index]?.metadata.name
  })
}

/** The pod with its identity and storage put right. */
export function repaired(
  set: StatefulSet,
  ordinal: number,
  { pod, keys }: { pod: Pod; keys: IdentityKeys },
): Pod {
  const labels = {
    ...pod.metadata.labels,
    [keys.podName]: podNameOf(set, ordinal),
    [keys.podIndex]: String(ordinal),
  }
  const metadata = { ...pod.metadata, labels }
  if (pod.spec === undefined || hasStorage(set, ordinal, pod)) return { ...pod, metadata }
  const volumes = withClaims(set, ordinal, pod.spec.volumes ?? [])
  return { ...pod, metadata, spec: { ...pod.spec, volumes } }
}

/** The pod to create for that ordinal, at that revision. */
export function newPod(
  set: StatefulSet,
  ordinal: number,
  from: {
    readonly template: PodTemplateSpec | undefined
    readonly revision: string
    readonly keys: IdentityKeys
    readonly resource: Resource
  },
): Pod {
  const { template, revision, keys, resource } = from
  const name = podNameOf(set, ordinal)
  const made = podFromTemplate(template, set, resource)
  const pod: Pod = {
    ...made,
    metadata: {
      ...made.metadata,
      name,
      labels: { ...made.metadata.labels, [revisionHashKey]: revision },
    },
    spec: {
      containers: [],
      ...made.spec,
      hostname: name,
      ...(set.spec?.serviceName ? { subdomain: set.spec.serviceName } : {}),
    },
  }
  return repaired(set, ordinal, { pod, keys })
}
