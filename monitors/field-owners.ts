/** field-owners: which field managers own which fields, as `managedFields` say. */
import type { KubeObject, ManagedFieldsEntry } from '../components/machinery/objects/object.ts'

export interface FieldOwner {
  readonly manager: string
  readonly operation: string
  readonly subresource: string
}

/** By the path of a field, such as `f:spec/f:replicas`: its owners. */
type Owners = Map<string, FieldOwner[]>

/** The paths of the fields themselves: maps and lists that hold fields are no fields of their own. */
function* leavesOf(fields: unknown, path = ''): Generator<string> {
  for (const [step, inside] of Object.entries((fields ?? {}) as Record<string, unknown>)) {
    if (step === '.') continue
    const at = path === '' ? step : `${path}/${step}`
    const isLeaf = Object.keys((inside ?? {}) as object).every((one) => one === '.')
    if (isLeaf) yield at
    else yield* leavesOf(inside, at)
  }
}

const ownerOf = ({ manager, operation, subresource }: ManagedFieldsEntry): FieldOwner => ({
  manager: manager ?? '',
  operation: operation ?? '',
  subresource: subresource ?? '',
})

export function ownersOf({ metadata }: KubeObject): Owners {
  const owners: Owners = new Map()
  for (const entry of metadata.managedFields ?? []) {
    const owner = ownerOf(entry)
    for (const leaf of leavesOf(entry.fieldsV1))
      owners.set(leaf, [...(owners.get(leaf) ?? []), owner])
  }
  return owners
}

const isSame = (one: FieldOwner, other: FieldOwner): boolean => one.manager === other.manager

export interface TakenField {
  /** `spec.replicas`, `status.conditions[type=Ready].status`. */
  readonly path: string
  readonly isStatus: boolean
  readonly from: FieldOwner
  readonly to: FieldOwner
}

/** Fields that belonged to one manager before a write and to another since. */
export function takenFields(before: KubeObject, after: KubeObject): TakenField[] {
  const [earlier, later] = [ownersOf(before), ownersOf(after)]
  return [...later].flatMap(([leaf, owners]): TakenField[] => {
    const had = earlier.get(leaf) ?? []
    const to = owners.find((one) => !had.some((other) => isSame(one, other)))
    const from = had.find((one) => !owners.some((other) => isSame(one, other)))
    if (to === undefined || from === undefined) return []
    return [{ path: fieldPath(leaf), isStatus: leaf.startsWith('f:status'), from, to }]
  })
}

/** `f:status/f:conditions/k:{"type":"Ready"}/f:status` as people write it. */
function fieldPath(leaf: string): string {
  const steps = leaf.match(/[fkvi]:(?:\{[^}]*\}|.*?)(?=\/[fkvi]:|$)/g) ?? [leaf]
  return steps
    .map((step) => {
      const [kind, text] = [step[0], step.slice(2)]
      if (kind === 'f') return `.${text}`
      const key = text.replaceAll(/[{}"]/g, '').replaceAll(':', '=')
      return `[${kind === 'k' ? key : text}]`
    })
    .join('')
    .replace(/^\./, '')
}
