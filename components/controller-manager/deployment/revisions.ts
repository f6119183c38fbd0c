/** Revisions: how ReplicaSets record what they were part of, in annotations that kubectl rollout reads. Pure. */
import type { Deployment, PodTemplateSpec, ReplicaSet } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { deepEqual } from '../../machinery/object.ts'
import { byAge, desiredReplicas, maxSurge } from './replica-math.ts'

export interface RevisionKeys {
  readonly revision: string
  readonly history: string
  readonly desiredReplicas: string
  readonly maxReplicas: string
  /** Annotations a ReplicaSet does not take over from its Deployment. */
  readonly skipped: ReadonlySet<string>
}

export function revisionKeys(dialect: Dialect): RevisionKeys {
  const own = (name: string): string => labelKey(dialect, 'deployment', name)
  const keys = {
    revision: own('revision'),
    history: own('revision-history'),
    desiredReplicas: own('desired-replicas'),
    maxReplicas: own('max-replicas'),
  }
  const applied = labelKey(dialect, 'kubectl', 'last-applied-configuration')
  const skipped = new Set([...Object.values(keys), applied, 'deprecated.deployment.rollback.to'])
  return { ...keys, skipped }
}

/** Longest text of former revisions, as upstream. */
const maxHistoryLength = 2000

export function revisionOf(replicaSet: ReplicaSet, keys: RevisionKeys): number {
  return numberOf(replicaSet.metadata.annotations?.[keys.revision]) ?? 0
}

export function highestRevision(replicaSets: readonly ReplicaSet[], keys: RevisionKeys): number {
  return Math.max(0, ...replicaSets.map((replicaSet) => revisionOf(replicaSet, keys)))
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined
}

/** What the Deployment wanted, and could have had at most, when it last sized this set. */
export function recordedSizes(
  replicaSet: ReplicaSet,
  keys: RevisionKeys,
): { desired: number | undefined; max: number | undefined } {
  const { annotations } = replicaSet.metadata
  return {
    desired: numberOf(annotations?.[keys.desiredReplicas]),
    max: numberOf(annotations?.[keys.maxReplicas]),
  }
}

export function sizeAnnotations(
  deployment: Deployment,
  keys: RevisionKeys,
): Record<string, string> {
  const desired = desiredReplicas(deployment)
  return {
    [keys.desiredReplicas]: String(desired),
    [keys.maxReplicas]: String(desired + maxSurge(deployment)),
  }
}

/** The annotations of the set that is the newest now: the Deployment's, its revision, and the revisions it had before. */
export function revisedAnnotations(
  deployment: Deployment,
  replicaSet: ReplicaSet,
  options: { revision: number; keys: RevisionKeys },
): Record<string, string> {
  const { revision, keys } = options
  const own = replicaSet.metadata.annotations ?? {}
  const inherited = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([name]) => !keys.skipped.has(name),
  )
  const next: Record<string, string> = { ...own, ...Object.fromEntries(inherited) }
  const before = own[keys.revision]
  if ((numberOf(before) ?? 0) >= revision) return next
  next[keys.revision] = String(revision)
  if (before === undefined || before === '') return next
  const history = [...(own[keys.history]?.split(',').filter(Boolean) ?? []), before]
  while (history.length > 1 && history.join(',').length > maxHistoryLength) history.shift()
  next[keys.history] = history.join(',')
  return next
}

/** The template as one compares it: without the hash label and what the wire adds. */
function comparable(template: PodTemplateSpec | undefined, hashKey: string): unknown {
  const { labels = {}, annotations = {}, creationTimestamp: _, ...rest } = template?.metadata ?? {}
  const others = Object.entries(labels).filter(([name]) => name !== hashKey)
  return {
    metadata: { ...rest, labels: Object.fromEntries(others), annotations },
    spec: template?.spec,
  }
}

/** The oldest set that has the Deployment's template; undefined when it is still to be made. */
export function newestReplicaSet(
  deployment: Deployment,
  replicaSets: readonly ReplicaSet[],
  hashKey: string,
): ReplicaSet | undefined {
  return replicaSets
    .toSorted(byAge)
    .find((replicaSet) => hasTemplate(replicaSet, deployment, hashKey))
}

export function hasTemplate(
  replicaSet: ReplicaSet,
  deployment: Deployment,
  hashKey: string,
): boolean {
  const wanted = comparable(deployment.spec?.template, hashKey)
  return deepEqual(comparable(replicaSet.spec?.template, hashKey), wanted)
}

/** Old sets beyond the history limit that nothing holds any more, lowest revision first. */
export function outdated(
  deployment: Deployment,
  old: readonly ReplicaSet[],
  keys: RevisionKeys,
): ReplicaSet[] {
  const limit = deployment.spec?.revisionHistoryLimit
  if (limit === undefined) return []
  const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  return alive
    .toSorted((a, b) => revisionOf(a, keys) - revisionOf(b, keys) || byAge(a, b))
    .slice(0, Math.max(0, alive.length - limit))
    .filter(({ metadata, spec, status }) => {
      const isSeen = (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0)
      return (status?.replicas ?? 0) === 0 && (spec?.replicas ?? 0) === 0 && isSeen
    })
}
