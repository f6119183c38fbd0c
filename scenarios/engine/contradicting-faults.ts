/** Contradicting faults: steps `fault` of a file that cannot begin because another one holds. Only what is certain is told. Pure. */
import { contradictionLine } from '../../cluster/lab/placed-faults.ts'
import type { PlacedFault } from '../../cluster/lab/placed-faults.ts'
import { happensAtOnce } from '../../cluster/lab/happens-at-once.ts'
import type { FaultSpec } from '../../cluster/lab/fault-spec.ts'
import type { Path } from '../../cluster/path.ts'
import { ScenarioStep } from './step.ts'

const hasVariable = (value: unknown): boolean => JSON.stringify(value).includes('${')

/** The lists of steps within the parameters of a step. */
function listsIn(params: unknown): ScenarioStep[][] {
  if (typeof params !== 'object' || params === null) return []
  const values: unknown[] = Object.values(params)
  if (values.length > 0 && values.every((one) => one instanceof ScenarioStep)) return [values]
  return values.flatMap(listsIn)
}

/** Those that still hold after a heal: without a name a fault gets its kind and a number. */
function leftBy(heal: unknown, held: readonly PlacedFault[]): PlacedFault[] {
  if (typeof heal !== 'string' || hasVariable(heal)) return []
  return held.filter(({ spec: { name, kind } }) =>
    name === undefined ? !heal.startsWith(`${kind}-`) : name !== heal,
  )
}

/** Whether a step that holds further steps may heal a fault that began before it. */
const mayHeal = ({ kind: { name }, params }: ScenarioStep): boolean =>
  name === 'heal' || name === 'include' || listsIn(params).flat().some(mayHeal)

/** Lines such as `a.yaml:12 contradicts a.yaml:4: ...`. `placeOf`: file and line. */
export function contradictingFaults(
  steps: readonly ScenarioStep[],
  placeOf: (path: Path) => string,
  before: readonly PlacedFault[] = [],
): string[] {
  let held = [...before]
  const lines: string[] = []
  for (const step of steps) {
    const { kind, params, path, fails } = step
    if (kind.name === 'heal') held = leftBy(params, held)
    // One that must be refused says so.
    else if (kind.name === 'fault' && fails === undefined && !hasVariable(params)) {
      const spec = params as FaultSpec
      const placed = { spec, place: placeOf([...path, 'fault']) }
      const line = contradictionLine(placed, held)
      if (line !== undefined) lines.push(line)
      // One with an end of its own may be over by the next step.
      if (spec.forMs === undefined && spec.times === undefined && !happensAtOnce(spec))
        held.push(placed)
    } else {
      for (const inner of listsIn(params)) lines.push(...contradictingFaults(inner, placeOf, held))
      if (mayHeal(step)) held = []
    }
  }
  return lines
}
