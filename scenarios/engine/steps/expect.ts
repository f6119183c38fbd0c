/** expect: watches objects until an expectation holds; with `stays`, until it has held for that long. */
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { conditionShape, countShape, describeExpectation, pathShape } from '../expectation.ts'
import type { Expectation } from '../expectation.ts'
import { describeSelection } from '../selection.ts'
import {
  anything,
  boolean,
  described,
  duration,
  object,
  oneOrMore,
  optional,
  record,
  string,
} from '../shape.ts'
import type { ShapeType } from '../shape.ts'
import { defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'
import { waitForExpectation } from '../wait-for-expectation.ts'
import { parsePath, valuesAt } from '../where.ts'

const shape = object({
  kind: described('The kind, its plural or a short name.', string),
  apiVersion: described('Only needed for a kind of several groups.', optional(string)),
  name: described('Select the object of this name.', optional(string)),
  namespace: described('Default: `default`; `*` selects all namespaces.', optional(string)),
  labelSelector: described('Select objects by label.', optional(string)),
  fieldSelector: described('Select objects by field.', optional(string)),
  where: described(
    'Conditions that each object must meet: `PATH OPERATOR VALUE`.',
    optional(oneOrMore(conditionShape)),
  ),
  match: described(
    'Content that each object must have; lists item by item, `null` means absent.',
    optional(anything),
  ),
  count: described(
    'How many objects must match. Default: every selected object, and at least one.',
    optional(countShape),
  ),
  absent: described('`true`: no object may match.', optional(boolean)),
  within: described('Deadline. Default: 30s.', optional(duration)),
  stays: described('How long the objects must match from then on.', optional(duration)),
  save: described(
    'Variables to set, each with a path in the first object.',
    optional(record(pathShape)),
  ),
})
type Params = ShapeType<typeof shape>

const defaultWithinMs = 30_000

function expectationOf({ where = [], match, count, absent = false }: Params): Expectation {
  return { where, match, count, absent }
}

/** Watches until the expectation holds, and for `stays` after that. Rejects with a report at the deadline. */
async function waitFor(params: Params, context: StepContext): Promise<readonly KubeObject[]> {
  const { client, clock, signal } = context
  const resource = await context.findResource(params)
  return await waitForExpectation(
    {
      client: client.resource(resource),
      selection: params,
      namespace: 'default',
      expectation: expectationOf(params),
      withinMs: params.within ?? defaultWithinMs,
      staysMs: params.stays ?? 0,
      clock,
      signal,
    },
    // The state says more than the reason.
    (failure) => failure('it did not hold when the time of the scenario was over'),
  )
}

export const expect = defineStep({
  name: 'expect',
  summary: 'Watch until the selected objects match, within a deadline.',
  shape,
  title: (params) =>
    `expect ${describeSelection(params)}: ${describeExpectation(expectationOf(params)).join(', ')}`,
  run: async (params, context) => {
    const [first] = await waitFor(params, context)
    for (const [variable, path] of Object.entries(params.save ?? {})) {
      const [value] = valuesAt(first, parsePath(path))
      if (value === undefined) throw new Error(`cannot save ${variable}: the object has no ${path}`)
      context.variables.set(variable, value)
    }
  },
})
