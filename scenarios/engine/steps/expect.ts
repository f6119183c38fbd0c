/** expect: watches objects until an expectation holds; with `stays`, until it has held for that long. */
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import { describeExpectation, pathShape } from '../expectation.ts'
import { expectationOf, expectedObjectFields } from '../expected-objects.ts'
import { describeSelection } from '../selection.ts'
import { described, duration, object, optional, record } from '../../../cluster/shape.ts'
import type { ShapeType } from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'
import { waitForExpectation } from '../wait-for-expectation.ts'
import { parsePath, valuesAt } from '../where.ts'

const shape = object({
  ...expectedObjectFields,
  within: described('Deadline. Default: 30s.', optional(duration)),
  stays: described('How long the objects must match from then on.', optional(duration)),
  save: described(
    'Variables to set, each with a path in the first object.',
    optional(record(pathShape)),
  ),
})
type Params = ShapeType<typeof shape>

const defaultWithinMs = 30_000

/** Watches until the expectation holds, and for `stays` after that. Rejects with a report at the deadline. */
async function waitFor(params: Params, context: StepContext): Promise<readonly KubeObject[]> {
  const { client, clock, signal } = context
  const resource = await context.findResource(params)
  return await waitForExpectation(
    {
      client: client.resource(resource),
      selection: params,
      namespace: context.namespace,
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
