/** Revisions: how ReplicaSets record what they were part of, in annotations that kubectl rollout reads. Pure. */
import type { Deployment, PodTemplateSpec, ReplicaSet } from '../../api/generated/types.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import { parseInt64 } from '../../machinery/values/int64.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
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

/** 0 without an annotation, undefined with one that is no 64-bit integer. */
function revisionOf({ metadata }: ReplicaSet, keys: RevisionKeys): bigint | undefined {
  const text = metadata.annotations?.[keys.revision]
  return text === undefined ? 0n : parseInt64(text)
}

/** The revision of a new ReplicaSet: above all others that have one. It wraps around like upstream's integer. */
export function nextRevision(replicaSets: readonly ReplicaSet[], keys: RevisionKeys): bigint {
  let highest = 0n
  for (const replicaSet of replicaSets) {
    const revision = revisionOf(replicaSet, keys) ?? 0n
    if (revision > highest) highest = revision
  }
  return BigInt.asIntN(64, highest + 1n)
}

/** A count of pods, which is 32-bit. */
function countOf(text: string | undefined): number | undefined {
  const count = text === undefined ? undefined : parseInt64(text)
  return count !== undefined && BigInt.asIntN(32, count) === count ? Number(count) : undefined
}

/** The Deployment's desired and maximum size when it last sized this set. */
export function recordedSizes(
  replicaSet: ReplicaSet,
  keys: RevisionKeys,
): { desired: number | undefined; max: number | undefined } {
  const { annotations } = replicaSet.metadata
  return {
    desired: countOf(annotations?.[keys.desiredReplicas]),
    max: countOf(annotations?.[keys.maxReplicas]),
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

/**
 * The annotations of the set that is the newest now: the Deployment's, its revision, and the revisions it had before
 * (upstream: SetNewReplicaSetAnnotations). A revision that is no integer stays as it is.
 */
export function revisedAnnotations(
  deployment: Deployment,
  replicaSet: ReplicaSet,
  options: { revision: bigint; keys: RevisionKeys },
): Record<string, string> {
  const { revision, keys } = options
  const own = replicaSet.metadata.annotations ?? {}
  const inherited = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([name]) => !keys.skipped.has(name),
  )
  const next: Record<string, string> = { ...own, ...Object.fromEntries(inherited) }
  const before = own[keys.revision] ?? ''
  const number = before === '' ? 0n : parseInt64(before)
  if (number === undefined || number >= revision) return next
  next[keys.revision] = String(revision)
  if (before === '') return next
  next[keys.history] = extendedHistory(own[keys.history] ?? '', before)
  return next
}

/** Drops the oldest revisions for which there is no room. */
function extendedHistory(history: string, revision: string): string {
  if (history === '' || history.startsWith(',')) return revision
  const before = history.split(',')
  let length = history.length + 1 + revision.length
  let start = 0
  while (length > maxHistoryLength && start < before.length) {
    length -= (before[start]?.length ?? 0) + 1
    start += 1
  }
  return [...before.slice(start), revision].join(',')
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

/** By age where the revisions do not decide. */
function byRevision(a: ReplicaSet, b: ReplicaSet, keys: RevisionKeys): number {
  const [first, second] = [revisionOf(a, keys), revisionOf(b, keys)]
  if (first === undefined || second === undefined || first === second) return byAge(a, b)
  return first < second ? -1 : 1
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
    .toSorted((a, b) => byRevision(a, b, keys))
    .slice(0, Math.max(0, alive.length - limit))
    .filter(({ metadata, spec, status }) => {
      const isSeen = (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0)
      return (status?.replicas ?? 0) === 0 && (spec?.replicas ?? 0) === 0 && isSeen
    })
}
