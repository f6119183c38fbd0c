/**
 * faulty-store: a store that is full, slow or failing while the lab says so. What it refuses is not committed, what it acknowledges is as
 * durable as the store under it. Without faults a write costs one comparison.
 */
import type { Clock } from '../../component-base/clock.ts'
import { forwardingStore } from '../../store/forwarding-store.ts'
import { StoreError, type Store, type Txn } from '../../store/store.ts'
import type { Faults, StoreRule } from './faults.ts'

/** What SQLite says (sqlite.org/rescode.html: SQLITE_FULL, SQLITE_IOERR). */
const full = (): StoreError => new StoreError('no-space', 'database or disk is full')
const failing = (): StoreError => new StoreError('unavailable', 'disk I/O error')

const isFull = ({ action }: StoreRule): boolean => 'full' in action
const isFailing = ({ action }: StoreRule): boolean => 'fail' in action

/** The refusal of a write, if a fault fires. A full store takes deletions. */
function refusalOf(rules: readonly StoreRule[], { value }: Txn): StoreError | undefined {
  for (const rule of rules) {
    if (isFailing(rule) && rule.fault.fires()) return failing()
    if (isFull(rule) && value !== null && rule.fault.fires()) return full()
  }
  return undefined
}

function delayOf(rules: readonly StoreRule[]): number | undefined {
  for (const { fault, action } of rules)
    if ('delayMs' in action && fault.fires()) return action.delayMs
  return undefined
}

/** The same store. Delayed writes keep their order among themselves and with those after them. */
export function faultyStore(store: Store, faults: Faults, clock: Pick<Clock, 'sleep'>): Store {
  /** Resolves when the last delayed write has begun. */
  let begun: Promise<unknown> | undefined
  const write = async (txn: Txn, rules: readonly StoreRule[]) => {
    const refusal = refusalOf(rules, txn)
    const delayMs = delayOf(rules)
    const earlier = begun
    if (delayMs !== undefined || earlier !== undefined) {
      const turn = Promise.all([earlier, delayMs === undefined ? undefined : clock.sleep(delayMs)])
      begun = turn
      await turn
      if (begun === turn) begun = undefined
    }
    if (refusal !== undefined) throw refusal
    return await store.txn(txn)
  }
  return {
    ...forwardingStore(store),
    txn: (txn) =>
      faults.store === undefined && begun === undefined
        ? store.txn(txn)
        : write(txn, faults.store ?? []),
    check: async () => {
      const certain = faults.store?.filter(({ fault }) => fault.isCertain) ?? []
      if (certain.some(isFailing)) throw failing()
      const refusal = await store.check()
      return certain.some(isFull) ? full() : refusal
    },
  }
}
