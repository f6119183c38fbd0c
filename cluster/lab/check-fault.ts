/** check-fault: a FaultSpec from a value of unknown origin: a file, flags, code. */
import { ClusterError } from '../cluster-error.ts'
import { pathText } from '../path.ts'
import type { Path } from '../path.ts'
import { object } from '../shape.ts'
import type { Issue, JsonSchema, Shape } from '../shape.ts'
import { faultFields, faultKinds, faultShapes } from './fault-shape.ts'
import type { FaultKind, FaultSpec } from './fault-spec.ts'
import { happensAtOnce } from './happens-at-once.ts'

const common = object(faultFields)

/** Kinds whose faults fire again and again. */
const countable: readonly FaultKind[] = ['requests', 'store', 'network']
const drawn: readonly FaultKind[] = ['requests', 'store']
/** Names stand in commands and as keys. */
const namePattern = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/i

function checkEnds(spec: FaultSpec, path: Path, issues: Issue[]): void {
  const { kind, times, chance, seed, name, forMs } = spec
  const refuse = (field: string, message: string): void =>
    void issues.push({ path: [...path, field], message })
  if (times !== undefined && !countable.includes(kind))
    refuse('times', `goes with faults of kind ${countable.join(', ')} only; use forMs`)
  if (chance !== undefined && !drawn.includes(kind))
    refuse('chance', `goes with faults of kind ${drawn.join(', ')} only`)
  if (seed !== undefined && chance === undefined) refuse('seed', 'goes with chance only')
  if (name !== undefined && !namePattern.test(name))
    refuse('name', `must be letters, digits, - and . only, not ${JSON.stringify(name)}`)
  if (happensAtOnce(spec) && forMs !== undefined)
    refuse('forMs', 'this happens at once and has no end')
  if (spec.kind === 'network' && spec.fault.from === spec.fault.to)
    issues.push({ path: [...path, 'fault', 'to'], message: 'must be another part than from' })
}

/** The kind of the fault, if it is one. */
function kindOf(value: unknown): FaultKind | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return faultKinds.find((kind) => kind === (value as { kind?: unknown }).kind)
}

/** Beside the fields of each kind: one schema that editors offer completions from. */
const schema: JsonSchema = {
  oneOf: faultKinds.map((kind) => {
    const { schema: base } = common
    const properties = base['properties'] as Record<string, JsonSchema>
    return {
      ...base,
      properties: { ...properties, kind: { const: kind }, fault: faultShapes[kind].schema },
    }
  }),
}

/** A fault, as `skiff fault add -f`, a scenario's step `fault` and code take it. */
export const faultShape: Shape<FaultSpec> = {
  what: 'a fault: a mapping with kind and fault',
  schema,
  ...(common.fields === undefined ? {} : { fields: common.fields }),
  check: (value, path, issues) => {
    const before = issues.length
    const checked = common.check(value, path, issues)
    const kind = kindOf(value)
    if (kind === undefined || checked.fault === undefined) return checked as FaultSpec
    const fault = faultShapes[kind].check(checked.fault, [...path, 'fault'], issues)
    const spec = { ...checked, fault } as FaultSpec
    if (issues.length === before) checkEnds(spec, path, issues)
    return spec
  },
}

/** The checked fault. Throws a ClusterError of kind `usage` with a line for each problem. `where` is the file or the command, for the message. */
export function checkFault(value: unknown, where = 'the fault'): FaultSpec {
  const issues: Issue[] = []
  const spec = faultShape.check(value, [], issues)
  if (issues.length === 0) return spec
  const lines = issues.map(({ path, message }) => {
    const at = pathText(path)
    return at === '' ? message : `${at}: ${message}`
  })
  const [first = '', ...details] = lines
  throw new ClusterError('usage', `invalid fault in ${where}: ${first}`, { details })
}
