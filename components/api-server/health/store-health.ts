/** store-health: whether stored data can be read back and objects can be written, for the checks named after etcd. */
import { backgroundOf, upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import { untilSharedMoment } from '../../component-base/shared-moment.ts'
import type { Store, StoreError } from '../../store/store.ts'
import { storeErrorText } from '../codec/respond.ts'

/** A result is reused for this long, as upstream's for half its time limit. */
const goodForMs = 1000
/** The store is checked this often even when no client asks for the server's health. */
const lookEveryMs = 5000

interface Condition {
  /** Why stored data cannot be read back. */
  readonly failure?: StoreError
  /** Why objects cannot be written. */
  readonly refusal?: StoreError | undefined
}

export class StoreHealth {
  readonly #store: Pick<Store, 'check'>
  readonly #clock: Clock
  readonly #log: Log
  #asking: Promise<Condition> | undefined
  #goodAtMs = -Infinity
  #reported: string | undefined

  constructor(options: { store: Pick<Store, 'check'>; clock: Clock; log: Log }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#log = options.log
  }

  /** Undefined when stored data can be read back within the time, else the reason. */
  async live(timeoutMs: number): Promise<string | undefined> {
    const condition = await this.#within(timeoutMs)
    if (condition === undefined) return 'error getting data from etcd: context deadline exceeded'
    const { failure } = condition
    return failure && `error getting data from etcd: ${storeErrorText(failure)}`
  }

  /** The same; also gives the reason when objects cannot be written. */
  async ready(timeoutMs: number): Promise<string | undefined> {
    const why = await this.live(timeoutMs)
    if (why !== undefined) return why
    const refusal = (await this.#within(timeoutMs))?.refusal
    return refusal && storeErrorText(refusal)
  }

  /** Checks periodically until `signal` aborts, so that damage is logged even without health requests. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (
        ;
        !signal.aborted;
        await upkeepOf(this.#clock).sleep(untilSharedMoment(this.#clock, lookEveryMs), signal)
      )
        await this.#condition()
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #within(timeoutMs: number): Promise<Condition | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const cancel = backgroundOf(this.#clock).after(timeoutMs, () => resolve(undefined))
    try {
      return await Promise.race([this.#condition(), late])
    } finally {
      cancel()
    }
  }

  /** Callers share a check that is under way. */
  #condition(): Promise<Condition> {
    const age = this.#clock.now() - this.#goodAtMs
    if (age >= 0 && age < goodForMs) return Promise.resolve({})
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))
    return this.#asking
  }

  async #ask(): Promise<Condition> {
    const condition = await this.#store.check().then(
      (refusal): Condition => ({ refusal }),
      (error: unknown): Condition => ({ failure: error as StoreError }),
    )
    const fault = condition.failure ?? condition.refusal
    if (fault === undefined) this.#goodAtMs = this.#clock.now()
    this.#report(fault)
    return condition
  }

  /** Logs each change once. */
  #report(fault: StoreError | undefined): void {
    if (fault?.code === this.#reported || fault?.code === 'closed') return
    this.#reported = fault?.code
    if (fault === undefined) this.#log.info('the store takes objects again')
    else if (fault.code === 'no-space')
      this.#log.warn('the store is full: objects are refused until there is room', { error: fault })
    else this.#log.error('the store fails its check', { error: fault })
  }
}
