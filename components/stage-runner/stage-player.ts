/** StagePlayer: takes the objects of one kind from stage to stage. A reconciler: it gets keys, and plays what is due. */
import type { EventRecorder } from '../client/event-recorder.ts'
import { ConnectionError } from '../client/connection-error.ts'
import type { Result } from '../client/controller.ts'
import { backoffDelay } from '../component-base/backoff.ts'
import type { Clock } from '../component-base/clock.ts'
import { messageOf } from '../component-base/log.ts'
import type { Log } from '../component-base/log.ts'
import { revisionOf } from '../machinery/objects/object.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import { nextStage } from './lifecycle.ts'
import type { CompiledStage } from './lifecycle.ts'
import { StageError } from './stage-error.ts'
import { finalizersPatch } from './stage-steps.ts'
import type { CompiledStep } from './stage-steps.ts'
import type { StageWriter } from './stage-writer.ts'
import type { TemplateFunctions } from './template/template-functions.ts'

/** What a step that failed is worth trying again for, as kwok has it. */
const passing = ['ServerTimeout', 'Timeout', 'ServiceUnavailable', 'TooManyRequests'] as const
const backoff = { initialMs: 1000, maxMs: 32 * 60_000 }
/** Stages that an object may go through within a second: more are a circle without a delay. */
const mostPlays = 100
const circleMs = 1000

/** What an object comes to next. */
interface Plan {
  readonly object: KubeObject
  /** Undefined: nothing until it changes. */
  readonly stage: CompiledStage | undefined
  readonly dueMs: number
  /** The first step that is still to do, and how often it was tried. */
  readonly step: number
  readonly retries: number
}

interface Plays {
  readonly sinceMs: number
  count: number
}

export interface StagePlayerOptions {
  readonly stages: readonly CompiledStage[]
  readonly get: (key: string) => KubeObject | undefined
  /** Whether the stages are for this object. */
  readonly isOurs: (object: KubeObject) => boolean
  readonly functionsFor: (object: KubeObject) => TemplateFunctions
  readonly writer: StageWriter
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly clock: Pick<Clock, 'now' | 'random'>
  readonly log: Log
}

export class StagePlayer {
  readonly #options: StagePlayerOptions
  readonly #plans = new Map<string, Plan>()
  readonly #plays = new Map<string, Plays>()

  constructor(options: StagePlayerOptions) {
    this.#options = options
  }

  async reconcile(key: string): Promise<Result | void> {
    const { get, isOurs, clock } = this.#options
    const object = get(key)
    if (object === undefined || !isOurs(object)) {
      this.#plans.delete(key)
      this.#plays.delete(key)
      return undefined
    }
    const plan = this.#planFor(key, object)
    if (plan.stage === undefined) return undefined
    const leftMs = plan.dueMs - clock.now()
    if (leftMs > 0) return { requeueAfterMs: leftMs }
    if (this.#goesInCircles(key, plan)) return { requeueAfterMs: circleMs }
    await this.#play(key, plan, plan.stage)
    const next = this.#plans.get(key)
    if (next?.stage === undefined) return undefined
    return { requeueAfterMs: Math.max(0, next.dueMs - clock.now()) }
  }

  /** The plan that there is, unless the object has changed since. */
  #planFor(key: string, object: KubeObject): Plan {
    const known = this.#plans.get(key)
    const isSame = known?.object.metadata.uid === object.metadata.uid
    // The cache may not have what was written here.
    if (known !== undefined && isSame && revisionOf(known.object) >= revisionOf(object))
      return known
    return this.#plan(key, object)
  }

  #plan(key: string, object: KubeObject): Plan {
    const { stages, clock, log } = this.#options
    let stage: CompiledStage | undefined
    let delayMs = 0
    try {
      stage = nextStage(stages, object, () => clock.random())
      delayMs = stage?.delayMs(object, clock.now(), () => clock.random()) ?? 0
    } catch (error) {
      if (!(error instanceof StageError)) throw error
      log.error('stages do not apply to the object', { key, why: messageOf(error) })
    }
    return this.#keep(key, { object, stage, dueMs: clock.now() + delayMs, step: 0, retries: 0 })
  }

  #keep(key: string, plan: Plan): Plan {
    this.#plans.set(key, plan)
    return plan
  }

  #goesInCircles(key: string, plan: Plan): boolean {
    const { clock, log } = this.#options
    const nowMs = clock.now()
    const known = this.#plays.get(key)
    const plays =
      known !== undefined && Math.abs(nowMs - known.sinceMs) < circleMs
        ? known
        : { sinceMs: nowMs, count: 0 }
    this.#plays.set(key, plays)
    plays.count += 1
    if (plays.count <= mostPlays) return false
    const stage = plan.stage?.stage.name
    log.warn('stages go in circles without a delay: the next one waits', { key, stage })
    this.#plays.delete(key)
    this.#keep(key, { ...plan, dueMs: nowMs + circleMs })
    return true
  }

  async #play(key: string, plan: Plan, stage: CompiledStage): Promise<void> {
    const { log } = this.#options
    const { name, immediateNextStage } = stage.stage
    let last: KubeObject | undefined
    let isDeleted = false
    for (let step = plan.step; step < stage.steps.length; step += 1) {
      const now = stage.steps[step]
      if (now === undefined || (isDeleted && now.kind !== 'event')) continue
      try {
        last = (await this.#do(now, plan.object)) ?? last
        isDeleted ||= now.kind === 'delete'
      } catch (error) {
        if (isStatusError(error, 'NotFound')) log.debug('the object is gone', { key, stage: name })
        else if (isPassing(error)) return this.#putOff(key, { ...plan, step }, error)
        else log.error('a stage failed', { key, stage: name, why: messageOf(error) })
        this.#keep(key, { ...plan, stage: undefined })
        return
      }
    }
    log.debug('stage played', { key, stage: name })
    const written = last ?? plan.object
    const hasChanged = !isDeleted && revisionOf(written) > revisionOf(plan.object)
    if (hasChanged && immediateNextStage) this.#plan(key, written)
    // What it wrote comes as an event; states before that are not looked at.
    else
      this.#keep(key, {
        ...plan,
        object: hasChanged ? before(written) : plan.object,
        stage: undefined,
      })
  }

  #putOff(key: string, plan: Plan, error: unknown): void {
    const { clock, log } = this.#options
    const { retries } = plan
    log.warn('a stage failed; trying again', { key, retries, why: messageOf(error) })
    const dueMs = clock.now() + backoffDelay(backoff, retries)
    this.#keep(key, { ...plan, dueMs, retries: retries + 1 })
  }

  /** The object as it was written; undefined where nothing of it was. */
  async #do(step: CompiledStep, object: KubeObject): Promise<KubeObject | undefined> {
    const { writer, recorder, functionsFor } = this.#options
    switch (step.kind) {
      case 'event': {
        const { type, reason, message } = step
        recorder.record(object, { type, reason, message })
        return undefined
      }
      case 'delete':
        await writer.delete(object)
        return undefined
      case 'finalizers': {
        const patch = finalizersPatch(step, object.metadata.finalizers)
        return patch.length === 0 ? undefined : await writer.patch(object, patch, { type: 'json' })
      }
      case 'patch':
      case 'apply': {
        const body = step.body(object, functionsFor(object))
        if (step.step.kind === 'patch') return await writer.patch(object, body, step.step)
        await writer.apply(object, body, step.step)
        return undefined
      }
    }
  }
}

/** The same object, one revision earlier: what is newer counts as a change. */
function before(object: KubeObject): KubeObject {
  const resourceVersion = String(revisionOf(object) - 1n)
  return { ...object, metadata: { ...object.metadata, resourceVersion } }
}

function isPassing(error: unknown): boolean {
  return error instanceof ConnectionError || passing.some((reason) => isStatusError(error, reason))
}
