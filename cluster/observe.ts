/** Observing a collection: its whole state now and after every change, over restarts of the server. By watching, never by polling. */
import type { ResourceClient, WatchEvent } from '../components/client/resource-client.ts'
import { ConnectionError } from '../components/client/connection-error.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { keyOf } from '../components/machinery/objects/object.ts'
import type { KubeObject } from '../components/machinery/objects/object.ts'
import { StatusError } from '../components/machinery/objects/status-error.ts'

export interface ObserveOptions<T extends KubeObject> {
  readonly client: ResourceClient<T>
  readonly clock: Clock
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly signal: AbortSignal
  /** Told about a lost server, once per loss. */
  readonly onTrouble?: ((error: Error) => void) | undefined
}

/** What the state was changed by; absent for the state of a list. */
export type Change<T extends KubeObject> = WatchEvent<T>

const retryMs = 50

/** Errors after which looking again makes sense: a server that restarts, an expired revision, too much to do. */
export function isPassing(error: unknown): error is Error {
  if (error instanceof ConnectionError) return error.code !== 'closed' && error.code !== 'untrusted'
  if (!(error instanceof StatusError)) return false
  return error.code >= 500 || error.code === 410 || error.code === 429
}

/** All objects by key, and what they were changed by. The map goes on changing: read it before the next state. */
export interface ObservedState<T extends KubeObject> {
  readonly objects: ReadonlyMap<string, T>
  readonly change: Change<T> | undefined
}

/**
 * The state of a list, and then the state after each event, as fast as they are read. It ends only when its reader leaves;
 * throws `signal.reason` when aborted, and errors that time does not mend.
 */
export async function* observedStates<T extends KubeObject>(
  options: ObserveOptions<T>,
): AsyncGenerator<ObservedState<T>, never> {
  const { client, clock, signal } = options
  const selection = {
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    ...(options.labelSelector === undefined ? {} : { labelSelector: options.labelSelector }),
    ...(options.fieldSelector === undefined ? {} : { fieldSelector: options.fieldSelector }),
  }
  let inTrouble = false
  for (;;) {
    // Leaving the loop in the middle of a watch has to end that watch too.
    const round = new AbortController()
    const roundSignal = AbortSignal.any([signal, round.signal])
    try {
      const list = await client.list(selection, roundSignal)
      inTrouble = false
      const objects = new Map(list.items.map((item) => [keyOf(item), item]))
      yield { objects, change: undefined }
      let resourceVersion = list.metadata.resourceVersion ?? ''
      for (;;) {
        const events = client.watch({ ...selection, resourceVersion }, roundSignal)
        for await (const event of events) {
          resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion
          if (event.type === 'BOOKMARK') continue
          const key = keyOf(event.object)
          if (event.type === 'DELETED') objects.delete(key)
          else objects.set(key, event.object)
          yield { objects, change: event }
        }
        signal.throwIfAborted()
      }
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) throw error
      if (!inTrouble) options.onTrouble?.(error)
      inTrouble = true
      await clock.sleep(retryMs, signal)
    } finally {
      round.abort(new Error('seen enough'))
    }
  }
}

/**
 * Calls `onState` with all objects by key, first with a list, then after each event; ends with its result as soon as it
 * returns one that is not undefined. Rejects with `signal.reason` when aborted, and with errors that time does not mend.
 */
export async function observe<T extends KubeObject, R>(
  options: ObserveOptions<T>,
  onState: (objects: ReadonlyMap<string, T>, change: Change<T> | undefined) => R | undefined,
): Promise<R> {
  for await (const { objects, change } of observedStates(options)) {
    const result = onState(objects, change)
    if (result !== undefined) return result
  }
  throw new Error('an observation ends only when its reader leaves')
}
