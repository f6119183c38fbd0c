/** EventRecorder: records core/v1 Events about objects, counted and combined. It never makes the caller wait. */
import { timestamp } from '../component-base/clock.ts'
import type { Clock } from '../component-base/clock.ts'
import { createEventQueue } from '../component-base/event-queue.ts'
import { messageOf } from '../component-base/log.ts'
import type { Log } from '../component-base/log.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import { isStatusError, StatusError } from '../machinery/objects/status-error.ts'
import { currentCause, withCause, type Cause } from './cause.ts'
import { createEventCorrelator } from './event-correlator.ts'
import type { Correlation, EventCorrelator } from './event-correlator.ts'
import type { ObjectRef } from './resource-client.ts'

export interface RecordedEvent {
  readonly type: 'Normal' | 'Warning'
  /** Short, in camel case: `FailedScheduling`. */
  readonly reason: string
  readonly message: string
}

export interface EventRecorder {
  /**
   * Records an event about an object, which must have its apiVersion and kind. Returns at once; the event may be combined with
   * others, or dropped when too many wait or the server refuses it.
   */
  record(about: KubeObject, event: RecordedEvent): void
  /** Sends what was recorded until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** The writes of the core group's Event resource. */
export interface EventWriter {
  create(event: KubeObject): Promise<unknown>
  patch(ref: ObjectRef, changed: object, options: { readonly type: 'merge' }): Promise<unknown>
}

export interface EventRecorderOptions {
  readonly events: EventWriter
  /** The reporting component: `default-scheduler`, `kubelet`. */
  readonly component: string
  /** The node the reporter is on. */
  readonly host?: string
  /** The name of an event about that object; default: another one each time. */
  readonly nameOf?: (about: Readonly<Record<string, string>>) => string
  readonly clock: Clock
  readonly log: Log
}

interface Waiting {
  readonly about: Readonly<Record<string, string>>
  readonly event: RecordedEvent
  readonly atMs: number
  readonly cause: Cause | undefined
}

type SentCorrelation = Exclude<Correlation, { kind: 'drop' }>

const maxWaiting = 1000
/** Upstream's retries while the server is away. */
const maxTries = 12
const retryMs = 10_000

function referenceTo(object: KubeObject): Record<string, string> {
  const { apiVersion = '', kind = '' } = object
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = object.metadata
  const fields = { kind, namespace, name, uid, apiVersion, resourceVersion }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''))
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  const { clock, log } = options
  const correlator = createEventCorrelator()
  const send = createSender(options, correlator)
  const waiting = createEventQueue<Waiting>(maxWaiting)
  const deliver = async (item: Waiting, signal: AbortSignal): Promise<void> => {
    const correlation = correlator.correlate(factsOf(item, options), item.atMs)
    if (correlation.kind === 'drop') return
    for (let tries = 1; ; tries += 1) {
      try {
        await withCause(item.cause, () => send(item, correlation))
        return
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof StatusError || tries === maxTries) {
          const fields = { reason: item.event.reason, about: item.about, why: messageOf(error) }
          log.warn('event not recorded', fields)
          return
        }
        await clock.sleep(retryMs, signal)
      }
    }
  }

  return {
    record: (about, event) => {
      // A full queue drops this event and stays open: events are worth less than the work they are about.
      if (waiting.size < maxWaiting)
        waiting.push({
          about: referenceTo(about),
          event,
          atMs: clock.now(),
          cause: currentCause(),
        })
    },
    run: async (signal) => {
      const stop = (): void => waiting.end()
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      try {
        for await (const item of waiting) await deliver(item, signal)
      } catch (error) {
        if (!signal.aborted) throw error
      }
    },
  }
}

/** Names of events, unique and in order. */
function createEventNames(clock: Clock): (about: string) => string {
  let last = 0n
  return (about) => {
    // Upstream's names end in the nanosecond. The clock counts milliseconds: a random part keeps this recorder's events apart
    // from those of other processes about the same object, counting on keeps them in order.
    const millisecond = BigInt(Math.floor(clock.now()))
    last =
      millisecond > last / 1_000_000n
        ? millisecond * 1_000_000n + BigInt(Math.floor(clock.random() * 900_000))
        : last + 1n
    return `${about}.${last.toString(16)}`
  }
}

/** The keys by which the correlator counts and groups events. */
function factsOf({ about, event }: Waiting, { component, host = '' }: EventRecorderOptions) {
  const origin = [component, host, about['kind'], about['namespace'], about['name'], about['uid']]
  return {
    origin: origin.join('|'),
    group: [...origin, about['apiVersion'], event.type, event.reason].join('|'),
    message: event.message,
  }
}

/** Writes one event: a higher count of an earlier one, or a new one. */
function createSender(options: EventRecorderOptions, correlator: EventCorrelator) {
  const { events, component, host = '', clock } = options
  const nameFor = createEventNames(clock)
  const { nameOf = ({ name = 'unknown' }) => nameFor(name) } = options
  const create = async ({ about, event, atMs }: Waiting, to: SentCorrelation): Promise<void> => {
    const at = timestamp(atMs)
    const count = to.kind === 'count' ? to.earlier.count + 1 : 1
    const firstTimestamp = to.kind === 'count' ? to.earlier.firstTimestamp : at
    const name = nameOf(about)
    await events.create({
      metadata: { name, namespace: about['namespace'] ?? 'default' },
      involvedObject: about,
      reason: event.reason,
      message: to.message,
      type: event.type,
      source: { component, ...(host === '' ? {} : { host }) },
      firstTimestamp,
      lastTimestamp: at,
      count,
      reportingComponent: component,
      reportingInstance: host,
    })
    correlator.remember(to.key, { name, count, firstTimestamp, message: to.message })
  }
  return async (item: Waiting, to: SentCorrelation): Promise<void> => {
    if (to.kind === 'count') {
      const { name, count, firstTimestamp } = to.earlier
      const namespace = item.about['namespace'] ?? 'default'
      const changed = { count: count + 1, lastTimestamp: timestamp(item.atMs), message: to.message }
      try {
        await events.patch({ namespace, name }, changed, { type: 'merge' })
        correlator.remember(to.key, { name, count: count + 1, firstTimestamp, message: to.message })
        return
      } catch (error) {
        // Events expire; a count that has no event any more starts a new one.
        if (!isStatusError(error, 'NotFound')) throw error
      }
    }
    await create(item, to)
  }
}
