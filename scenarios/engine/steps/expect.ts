/** expect: watches objects until an expectation holds; with `stays`, until it has held for that long. */
import { observe } from '../../../cluster/observe.ts'
import type { Change } from '../../../cluster/observe.ts'
import type { Clock } from '../../../components/component-base/clock.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import {
  conditionShape,
  countShape,
  createJudge,
  describeExpectation,
  pathShape,
} from '../expectation.ts'
import type { Expectation, Verdict } from '../expectation.ts'
import { createObjectHistory } from '../object-history.ts'
import type { ObjectHistory } from '../object-history.ts'
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

function expectationOf({ where = [], match, count, absent = false }: Params): Expectation {
  return { where, match, count, absent }
}

function describeSelection(params: Params): string {
  const { kind, name, namespace, labelSelector, fieldSelector } = params
  const filters = [labelSelector, fieldSelector].filter((one) => one !== undefined)
  const place =
    namespace === undefined ? '' : ` in ${namespace === '*' ? 'all namespaces' : namespace}`
  return `${kind}${name === undefined ? '' : ` ${name}`}${place}${filters.length === 0 ? '' : ` (${filters.join(', ')})`}`
}

/** Evaluates a step's expectation for every state: since when it holds, and the report of a failure. */
class Watched {
  readonly #params: Params
  readonly #kind: string
  readonly #clock: Clock
  readonly #expectation: Expectation
  readonly #judge: ReturnType<typeof createJudge>
  readonly #held = Promise.withResolvers<readonly KubeObject[]>()
  readonly #history: ObjectHistory
  #verdict: Verdict | undefined
  #heldSinceMs: number | undefined
  #cancel = (): void => {}

  constructor(params: Params, { kind, clock }: { readonly kind: string; readonly clock: Clock }) {
    this.#params = params
    this.#kind = kind
    this.#clock = clock
    this.#expectation = expectationOf(params)
    this.#judge = createJudge(this.#expectation)
    this.#history = createObjectHistory(() => clock.now())
  }

  /** Resolves with the objects once the expectation has held for `stays`. */
  get held(): Promise<readonly KubeObject[]> {
    return this.#held.promise
  }

  get holds(): boolean {
    return this.#heldSinceMs !== undefined
  }

  /** Evaluates the next state. Returns the objects when the expectation holds and has no `stays`; throws when it stops holding. */
  onState(
    state: ReadonlyMap<string, KubeObject>,
    change: Change<KubeObject> | undefined,
  ): readonly KubeObject[] | undefined {
    if (change === undefined) this.#history.listed(state.values())
    else this.#history.seen(change)
    const { stays = 0 } = this.#params
    const objects = [...state.values()].map((one) => ({ ...one, kind: this.#kind }))
    this.#verdict = this.#judge(objects)
    const nowMs = this.#clock.now()
    if (!this.#verdict.holds) {
      if (this.#heldSinceMs === undefined) return undefined
      const heldS = ((nowMs - this.#heldSinceMs) / 1000).toFixed(1)
      throw this.failure(`it held for only ${heldS} s of ${stays / 1000} s`)
    }
    if (stays === 0) return objects
    if (this.#heldSinceMs === undefined) {
      this.#heldSinceMs = nowMs
      this.#cancel = this.#clock.after(stays, () => this.#held.resolve(objects))
    }
    return undefined
  }

  onTrouble(error: Error): void {
    this.#history.trouble(error)
  }

  failure(message: string): AssertionFailure {
    return new AssertionFailure({
      message,
      expected: [describeSelection(this.#params), ...describeExpectation(this.#expectation)],
      actual: this.#verdict?.report() ?? ['the server did not answer'],
      history: this.#history.lines(),
    })
  }

  end(): void {
    this.#cancel()
  }
}

/** Watches until the expectation holds, and for `stays` after that. Rejects with a report at the deadline. */
async function waitFor(params: Params, context: StepContext): Promise<readonly KubeObject[]> {
  const { client, clock } = context
  const resource = await context.findResource(params)
  const { within = defaultWithinMs } = params
  const watched = new Watched(params, { kind: resource.kind, clock })
  const end = new AbortController()
  const cancelDeadline = clock.after(within, () => {
    if (!watched.holds) end.abort(watched.failure(`it did not hold within ${within / 1000} s`))
  })
  try {
    const watching = observe(
      {
        client: client.resource(resource),
        clock,
        ...selectionOf(params, resource.namespaced),
        signal: AbortSignal.any([context.signal, end.signal]),
        onTrouble: (error) => watched.onTrouble(error),
      },
      (state, change) => watched.onState(state, change),
    )
    return await Promise.race([watching, watched.held])
  } catch (error) {
    // The scenario was aborted: report the state, which says more than the reason.
    if (context.signal.aborted && !(error instanceof AssertionFailure)) {
      throw watched.failure('it did not hold when the time of the scenario was over')
    }
    throw error
  } finally {
    cancelDeadline()
    watched.end()
    end.abort(new Error('seen enough'))
  }
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
