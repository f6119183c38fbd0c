/** What tests do to a store, and how they write down what they see. */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import type { KeyValue, Store, StoreEvent, TxnResult } from '../../components/store/store.ts'

export const bytes = (text: string): Buffer => Buffer.from(text)

/** Creates or replaces, whatever is there, and answers the revision. */
export async function put(store: Store, key: string, value: string): Promise<number> {
  const expectedRevision = (await store.get(key))?.modRevision ?? 0
  return committed(await store.txn({ key, expectedRevision, value: bytes(value) }))
}

export async function remove(store: Store, key: string): Promise<number> {
  const expectedRevision = (await store.get(key))?.modRevision ?? 0
  return committed(await store.txn({ key, expectedRevision, value: null }))
}

export function committed(result: TxnResult): number {
  if (!result.ok) throw new Error('the compare was lost')
  return result.revision
}

export const text = (kv: KeyValue | undefined): string | undefined => kv?.value.toString()

/** One line per event: `put a=1 was 0`, `delete a was 1`. */
export function line(event: StoreEvent): string {
  const was = event.previous === undefined ? '' : ` was ${event.previous.value.toString()}`
  if (event.type === 'delete') return `delete ${event.key}${was}`
  return `put ${event.kv.key}=${event.kv.value.toString()}${was}`
}

export const revisionOf = (event: StoreEvent): number =>
  event.type === 'put' ? event.kv.modRevision : event.revision

/** Collects the events of a watch that ends with the test. */
export function collect(store: Store, options: { prefix: string; fromRevision: number }) {
  const controller = new AbortController()
  const events: StoreEvent[] = []
  const done = store.watch({ ...options, signal: controller.signal }, (batch) => {
    events.push(...batch)
  })
  done.catch(() => {
    // Seen by the test that awaits `done`; the others only close the store.
  })
  return { events, done, stop: () => controller.abort() }
}

/** Turns of the loop in which a store within the process has done anything. */
const fewTurns = 10_000
const longestMs = 120_000

/** Waits for the loop to turn until the condition holds, and for other processes after that. */
export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + longestMs
  for (let turn = 0; !condition(); turn++) {
    if (performance.now() > end) throw new Error(`never true: ${condition.toString()}`)
    await (turn < fewTurns ? nextTurn() : delay(1))
  }
}
