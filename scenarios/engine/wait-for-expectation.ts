/** Waiting for an expectation: watches the selected objects until it holds, and for as long as it has to stay so. */
import { observe } from '../../cluster/observe.ts'
import type { Change } from '../../cluster/observe.ts'
import type { ResourceClient } from '../../components/client/resource-client.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { AssertionFailure } from './assertion-failure.ts'
import type { CheckedObject } from './assertion-failure.ts'
import { createJudge, describeExpectation } from './expectation.ts'
import type { Expectation, Verdict } from './expectation.ts'
import { createObjectHistory } from './object-history.ts'
import type { ObjectHistory } from './object-history.ts'
import { describeSelection, listOptions } from './selection.ts'
import type { Selection } from './selection.ts'

export interface ExpectationWait {
  readonly client: ResourceClient
  readonly selection: Selection
  /** Of selections that name none. */
  readonly namespace: string
  readonly expectation: Expectation
  readonly withinMs: number
  /** How long it must hold from then on. */
  readonly staysMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** The server has at least so long to say how things are: only then is it known what did not hold. */
const firstAnswerMs = 5000

/** Judges every state: since when the expectation holds, and the report of a failure. */
class Watched {
  readonly #wait: ExpectationWait
  readonly #judge: ReturnType<typeof createJudge>
  readonly #held = Promise.withResolvers<readonly KubeObject[]>()
  readonly #history: ObjectHistory
  #verdict: Verdict | undefined
  #heldSinceMs: number | undefined
  #isLate = false
  #cancel = (): void => {}

  constructor(wait: ExpectationWait) {
    this.#wait = wait
    this.#judge = createJudge(wait.expectation)
    this.#history = createObjectHistory(() => wait.clock.now())
  }

  /** Resolves with the matching objects once the expectation has held for `staysMs`. */
  get held(): Promise<readonly KubeObject[]> {
    return this.#held.promise
  }

  get holds(): boolean {
    return this.#heldSinceMs !== undefined
  }

  /** There was a state to judge. */
  get isJudged(): boolean {
    return this.#verdict !== undefined
  }

  /** Its time is over: the next state that does not hold is one too many. */
  beLate(): void {
    this.#isLate = true
  }

  late(): AssertionFailure {
    return this.failure(`it did not hold within ${this.#wait.withinMs / 1000} s`)
  }

  /** Judges the next state. Returns the matching objects when the expectation holds and need not stay so; throws when it stops holding. */
  onState(
    state: ReadonlyMap<string, KubeObject>,
    change: Change<KubeObject> | undefined,
  ): readonly KubeObject[] | undefined {
    if (change === undefined) this.#history.listed(state.values())
    else this.#history.seen(change)
    const { client, clock, staysMs } = this.#wait
    const { kind } = client.resource
    const verdict = this.#judge([...state.values()].map((one) => ({ ...one, kind })))
    this.#verdict = verdict
    const nowMs = clock.now()
    if (!verdict.holds) {
      if (this.#heldSinceMs === undefined) {
        if (this.#isLate) throw this.late()
        return undefined
      }
      const heldS = ((nowMs - this.#heldSinceMs) / 1000).toFixed(1)
      throw this.failure(`it held for only ${heldS} s of ${staysMs / 1000} s`)
    }
    if (staysMs === 0) return verdict.matching
    if (this.#heldSinceMs === undefined) {
      this.#heldSinceMs = nowMs
      const resolve = (): void => this.#held.resolve(this.#verdict?.matching ?? [])
      this.#cancel = clock.after(staysMs, resolve)
    }
    return undefined
  }

  onTrouble(error: Error): void {
    this.#history.trouble(error)
  }

  failure(message: string): AssertionFailure {
    const { selection, expectation } = this.#wait
    return new AssertionFailure({
      message,
      expected: [describeSelection(selection), ...describeExpectation(expectation)],
      actual: this.#verdict?.report() ?? ['the server did not answer'],
      history: this.#history.lines(),
      about: this.#about(),
    })
  }

  /** The object of that name, or the first that do not meet it. */
  #about(): CheckedObject[] {
    const { selection, client, namespace: fallback } = this.#wait
    const { resource } = client
    const { name, namespace = fallback } = selection
    if (name !== undefined) {
      const place = resource.namespaced && namespace !== '*' ? namespace : ''
      return resource.namespaced && place === '' ? [] : [{ resource, namespace: place, name }]
    }
    return (this.#verdict?.others ?? [])
      .slice(0, 2)
      .map(({ metadata: { namespace: place = '', name: own = '' } }) => ({
        resource,
        namespace: place,
        name: own,
      }))
  }

  end(): void {
    this.#cancel()
  }
}

/**
 * Resolves with the matching objects once the expectation holds, and has held for `staysMs`. Rejects with an AssertionFailure
 * when it does not within `withinMs`, or holds for too short; with `whenAborted(failure)` when the signal aborts.
 */
export async function waitForExpectation(
  wait: ExpectationWait,
  whenAborted: (failure: (message: string) => AssertionFailure) => unknown,
): Promise<readonly KubeObject[]> {
  const { client, clock, withinMs, signal, selection, namespace } = wait
  const watched = new Watched(wait)
  const end = new AbortController()
  const giveUp = (): void => {
    if (!watched.holds) end.abort(watched.late())
  }
  let cancelDeadline = clock.after(withinMs, () => {
    watched.beLate()
    if (watched.isJudged || withinMs >= firstAnswerMs) giveUp()
    else cancelDeadline = clock.after(firstAnswerMs - withinMs, giveUp)
  })
  const isNamespaced = client.resource.namespaced
  try {
    const watching = observe(
      {
        client,
        clock,
        ...listOptions(selection, { isNamespaced, fallback: namespace }),
        signal: AbortSignal.any([signal, end.signal]),
        onTrouble: (error) => watched.onTrouble(error),
      },
      (state, change) => watched.onState(state, change),
    )
    return await Promise.race([watching, watched.held])
  } catch (error) {
    if (signal.aborted && !(error instanceof AssertionFailure))
      throw whenAborted((message) => watched.failure(message))
    throw error
  } finally {
    cancelDeadline()
    watched.end()
    end.abort(new Error('seen enough'))
  }
}
