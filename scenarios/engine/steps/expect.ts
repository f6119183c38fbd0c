/** expect: waits until objects are as they should be, by watching them; with `stays`, until they have been so for a while. */
import { observe } from '../../../cluster/observe.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import {
  conditionShape,
  countShape,
  createJudge,
  describeExpectation,
  pathShape,
} from '../expectation.ts'
import type { Verdict } from '../expectation.ts'
import { findResource } from '../find-resource.ts'
import { createObjectHistory } from '../object-history.ts'
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
import { AssertionFailure, defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'
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

function selectionOf(params: Params, isNamespaced: boolean) {
  const byName = params.name === undefined ? [] : [`metadata.name=${params.name}`]
  const fields = [...byName, ...(params.fieldSelector === undefined ? [] : [params.fieldSelector])]
  const { namespace = 'default' } = params
  return {
    namespace: isNamespaced && namespace !== '*' ? namespace : undefined,
    labelSelector: params.labelSelector,
    fieldSelector: fields.length === 0 ? undefined : fields.join(','),
  }
}

function describeSelection(params: Params): string {
  const { kind, name, namespace, labelSelector, fieldSelector } = params
  const filters = [labelSelector, fieldSelector].filter((one) => one !== undefined)
  const place =
    namespace === undefined ? '' : ` in ${namespace === '*' ? 'all namespaces' : namespace}`
  return `${kind}${name === undefined ? '' : ` ${name}`}${place}${filters.length === 0 ? '' : ` (${filters.join(', ')})`}`
}

/** Watches until the verdict holds, and for `stays` after that. Fails with a report at the deadline. */
async function waitFor(params: Params, context: StepContext): Promise<readonly KubeObject[]> {
  const { client, resources, clock } = context
  const resource = findResource(resources, params)
  const { where = [], match, count, absent = false, within = defaultWithinMs, stays = 0 } = params
  const expectation = { where, match, count, absent }
  const judge = createJudge(expectation)
  const history = createObjectHistory(() => clock.now())
  let verdict: Verdict | undefined
  let heldSinceMs: number | undefined
  let cancelHold = (): void => {}

  const failure = (message: string): AssertionFailure =>
    new AssertionFailure({
      message,
      expected: [describeSelection(params), ...describeExpectation(expectation)],
      actual: verdict?.report() ?? ['the server did not answer'],
      history: history.lines(),
    })
  const end = new AbortController()
  const cancelDeadline = clock.after(within, () => {
    if (heldSinceMs === undefined) end.abort(failure(`not so after ${within / 1000} s`))
  })
  const held = Promise.withResolvers<readonly KubeObject[]>()
  const onState = (state: ReadonlyMap<string, KubeObject>): readonly KubeObject[] | undefined => {
    const objects = [...state.values()].map((one) => ({ ...one, kind: resource.kind }))
    verdict = judge(objects)
    if (!verdict.holds && heldSinceMs !== undefined) {
      const heldMs = clock.now() - heldSinceMs
      throw failure(`it was so, but only for ${(heldMs / 1000).toFixed(1)} s of ${stays / 1000} s`)
    }
    if (!verdict.holds) return undefined
    if (stays === 0) return objects
    if (heldSinceMs === undefined) {
      heldSinceMs = clock.now()
      cancelHold = clock.after(stays, () => held.resolve(objects))
    }
    return undefined
  }
  try {
    const watching = observe(
      {
        client: client.resource(resource),
        clock,
        ...selectionOf(params, resource.namespaced),
        signal: AbortSignal.any([context.signal, end.signal]),
        onTrouble: (error) => history.trouble(error),
      },
      (state, change) => {
        if (change === undefined) history.listed(state.values())
        else history.seen(change)
        return onState(state)
      },
    )
    return await Promise.race([watching, held.promise])
  } catch (error) {
    // The step's own deadline came first: the report is worth more than the word "timeout".
    if (context.signal.aborted && !(error instanceof AssertionFailure)) {
      throw failure(`not so when the time of the step or scenario was over`)
    }
    throw error
  } finally {
    cancelDeadline()
    cancelHold()
    end.abort(new Error('seen enough'))
  }
}

export const expect = defineStep({
  name: 'expect',
  summary: 'Watch until the selected objects match, within a deadline.',
  shape,
  title: (params) =>
    `expect ${describeSelection(params)}: ${describeExpectation({
      where: params.where ?? [],
      match: params.match,
      count: params.count,
      absent: params.absent ?? false,
    }).join(', ')}`,
  run: async (params, context) => {
    const [first] = await waitFor(params, context)
    for (const [variable, path] of Object.entries(params.save ?? {})) {
      const [value] = valuesAt(first, parsePath(path))
      if (value === undefined) throw new Error(`there is no ${path} to save as ${variable}`)
      context.variables.set(variable, value)
    }
  },
})
