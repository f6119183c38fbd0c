/** Recorded objects: as a user would write them, patches between two of them, and what a settled one looks like. PURE. */
import { isRecord } from '../../components/machinery/apply/apply-shape.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

/** What the server sets. */
const ownedByServer = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
])

const isLastApplied = (key: string): boolean =>
  /^kubectl\..*\/last-applied-configuration$/.test(key)

function writtenMetadata(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept = Object.entries(metadata).filter(
    ([field, value]) =>
      !ownedByServer.has(field) && !(field === 'namespace' && value === 'default'),
  )
  return Object.fromEntries(
    kept.flatMap(([field, value]) => {
      if (field !== 'annotations' || !isRecord(value)) return [[field, value]]
      const rest = Object.entries(value).filter(([key]) => !isLastApplied(key))
      return rest.length === 0 ? [] : [[field, Object.fromEntries(rest)]]
    }),
  )
}

/** Without status and what the server sets. */
export function asWritten(object: KubeObject): Record<string, unknown> {
  const { status: _, apiVersion, kind, metadata, ...rest } = object
  return { apiVersion, kind, metadata: writtenMetadata({ ...metadata }), ...rest }
}

/** What `kubectl apply` has sent, from its annotation. */
export function lastApplied({ metadata }: KubeObject): Record<string, unknown> | undefined {
  const [, text] =
    Object.entries(metadata.annotations ?? {}).find(([key]) => isLastApplied(key)) ?? []
  if (text === undefined) return undefined
  const applied = JSON.parse(text) as Record<string, unknown>
  const { metadata: own, ...rest } = applied
  return { ...rest, metadata: writtenMetadata({ ...(own as object), annotations: undefined }) }
}

/** RFC 7396; undefined: they are the same. */
function mergePatch(before: unknown, after: unknown): unknown {
  if (!isRecord(before) || !isRecord(after))
    return JSON.stringify(before) === JSON.stringify(after) ? undefined : after
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const changed = names.flatMap((name) => {
    if (after[name] === undefined) return before[name] === undefined ? [] : [[name, null]]
    const patch = mergePatch(before[name], after[name])
    return patch === undefined ? [] : [[name, patch]]
  })
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

/** The merge patch of a write; of one of status, of the status alone. */
export function mergePatchBetween(
  before: KubeObject,
  after: KubeObject,
  what: 'main' | 'status',
): unknown {
  if (what === 'status')
    return mergePatch({ status: before['status'] }, { status: after['status'] })
  const [{ apiVersion: _a, kind: _k, ...old }, { apiVersion: _b, kind: _l, ...now }] = [
    asWritten(before),
    asWritten(after),
  ]
  return mergePatch(old, now)
}

const counts = [
  'replicas',
  'updatedReplicas',
  'readyReplicas',
  'availableReplicas',
  'desiredNumberScheduled',
  'numberReady',
  'succeeded',
]

function isSettled({ metadata, spec, status }: KubeObject): boolean {
  const [wanted, is] = [spec, status].map((one) => (isRecord(one) ? one : {})) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ]
  if (metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null) return false
  const { observedGeneration: seen } = is
  if (seen !== undefined && seen !== metadata.generation) return false
  const { replicas } = wanted
  if (replicas !== undefined && (is['readyReplicas'] ?? 0) !== replicas) return false
  return is['phase'] !== 'Pending'
}

/** Conditions of `where` that a settled object meets; none for one on its way, or without a status. */
export function settledConditions(object: KubeObject): string[] {
  const { status } = object
  if (!isRecord(status) || !isSettled(object)) return []
  const { phase, conditions } = status
  const numbers = counts.flatMap((name) => {
    const value = status[name]
    return typeof value === 'number' ? [`status.${name} == ${value}`] : []
  })
  const types = (Array.isArray(conditions) ? conditions : []).flatMap((one: unknown) =>
    isRecord(one) && typeof one['type'] === 'string' && typeof one['status'] === 'string'
      ? [`status.conditions[type=${one['type']}].status == ${one['status']}`]
      : [],
  )
  return [...(typeof phase === 'string' ? [`status.phase == ${phase}`] : []), ...numbers, ...types]
}
