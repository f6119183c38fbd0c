/** changed-fields: what one write changed in an object, as lines for people, and which field managers wrote it. */
import {
  brief,
  childPath,
  differences,
  type Difference,
  type ValuePath,
} from '../machinery/objects/differences.ts'
import { deepEqual, type KubeObject, type ManagedFieldsEntry } from '../machinery/objects/object.ts'
import { getOwn } from '../machinery/values/json-copy.ts'
import type { ChangedField } from './explanations.ts'

/** The most characters of a shown value. */
export const longestValue = 120
/** Fields that say nothing about what a client wanted: they change with others, or as a sign of life. */
const noise =
  /^metadata\.(?:resourceVersion|generation|managedFields|annotations\['kubectl\.[^']*\/last-applied-configuration'\])|^spec\.renewTime$/

/** `conditions[type=Ready]` where an item names itself, else `conditions[0]`. */
function readablePath(path: ValuePath, object: unknown): string {
  let [text, value] = ['', object]
  for (const step of path) {
    const inside = (value ?? {}) as Record<string, unknown>
    value = getOwn(inside, String(step))
    const { type, name } = (value ?? {}) as { type?: unknown; name?: unknown }
    const [field, own] = typeof type === 'string' ? ['type', type] : ['name', name]
    text =
      typeof step === 'number' && typeof own === 'string'
        ? `${text}[${field}=${own}]`
        : childPath(text, step)
  }
  return text
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
}

/** Type -> `True (MinimumReplicasAvailable)`: what of conditions is worth a line. */
function conditionsOf({ status }: KubeObject): Map<string, string> {
  const { conditions } = (status ?? {}) as { conditions?: readonly Condition[] | null }
  const texts = (conditions ?? []).map(({ type, status: is, reason = '' }) => {
    return [type, reason === '' ? is : `${is} (${reason})`] as const
  })
  return new Map(texts)
}

function changedConditions(before: KubeObject, after: KubeObject): ChangedField[] {
  const [old, now] = [conditionsOf(before), conditionsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((type) => {
    const [was = 'nothing', is = 'nothing'] = [old.get(type), now.get(type)]
    return was === is ? [] : [{ path: `status.conditions[type=${type}]`, before: was, after: is }]
  })
}

const isConditions = ([first, second]: ValuePath): boolean =>
  first === 'status' && second === 'conditions'

export interface Changed {
  readonly before: KubeObject
  readonly after: KubeObject
  /** Where they differ, but for conditions and what is noise. */
  readonly found: readonly (Difference & { readonly text: string })[]
}

/** Where the two differ; pass the states before and after a write. */
export function changed(before: KubeObject, after: KubeObject): Changed {
  const found = differences(before, after)
    .filter(({ path }) => !isConditions(path))
    .map((one) => ({ ...one, text: readablePath(one.path, after) }))
    .filter(({ text }) => !noise.test(text))
  return { before, after, found }
}

/** One line for each field; values of Secrets are hidden. */
export function fieldsOf({ before, after, found }: Changed): ChangedField[] {
  const isHidden = after.kind === 'Secret'
  const shownValue = (value: unknown): string =>
    isHidden && value !== undefined ? '(hidden)' : brief(value, longestValue)
  const fields = found.map((one) => ({
    path: one.text,
    before: shownValue(one.before),
    after: shownValue(one.after),
  }))
  return [...fields, ...changedConditions(before, after)]
}

const ownerOf = ({ manager, operation, subresource }: ManagedFieldsEntry): string =>
  `${manager ?? ''} ${operation ?? ''} ${subresource ?? ''}`

/** Whether the field, or something in it, belongs to the manager of that set of fields. */
function owns({ fieldsV1 }: ManagedFieldsEntry, path: ValuePath): boolean {
  let fields: unknown = fieldsV1
  for (const step of path) {
    // Items of lists have keys of their own: who owns the list is close enough.
    if (typeof step === 'number') break
    fields = getOwn((fields ?? {}) as Record<string, unknown>, `f:${step}`)
    if (fields === undefined) return false
    if (Object.keys(fields as object).length === 0) break
  }
  return true
}

/** Managers of the write: those whose entry has a new time or more fields. */
export function writers({ before, after, found }: Changed): string[] {
  const earlier = before.metadata.managedFields ?? []
  const entries = after.metadata.managedFields ?? []
  const isLater = (one: ManagedFieldsEntry): boolean =>
    !earlier.some((other) => ownerOf(other) === ownerOf(one) && other.time === one.time)
  const isOther = (one: ManagedFieldsEntry): boolean =>
    !earlier.some((other) => deepEqual(other, one))
  if (entries.some(isLater)) return managersOf(entries.filter(isLater))
  if (entries.some(isOther)) return managersOf(entries.filter(isOther))
  // A second write within a second that set no other fields: times have whole seconds.
  return managersOf(entries.filter((one) => found.some(({ path }) => owns(one, path))))
}

/** Each manager once. */
export const managersOf = (entries: readonly ManagedFieldsEntry[] = []): string[] => [
  ...new Set(entries.flatMap(({ manager }) => manager ?? [])),
]
