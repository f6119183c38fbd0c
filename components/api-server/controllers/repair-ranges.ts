/**
 * Repairs the ranges that servers on a store share: takes what Services use, clears what an interrupted write left, and reports values
 * that two Services use (upstream: registry/core/service/{ipallocator,portallocator}/controller/repair.go).
 */
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import { isRefusal } from '../../store/store.ts'
import type { Bits } from '../kinds/core/range-allocation.ts'
import type { SharedRange } from '../kinds/core/shared-ranges.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import { keyOf, type KubeObject } from '../../machinery/objects/object.ts'
import { createOwnRecorder, type OwnRecorderOptions } from './own-recorder.ts'

export interface RepairRangesOptions extends OwnRecorderOptions {
  readonly reader: ObjectReader
  readonly ranges: readonly SharedRange[]
  readonly clock: Clock
}

const everyMs = 3 * 60_000
/** A value that is in use by a Service that is still to be written looks like one that was left over. */
const passesBeforeClearing = 3

interface Repair extends RepairRangesOptions {
  readonly recorder: EventRecorder
}

/** How often each bit was seen set without a Service, in a row. */
type Leaks = Map<number, number>

function warn({ recorder, log }: Repair, about: KubeObject, reason: string, message: string): void {
  log.warn(message, { reason })
  recorder.record(about, { type: 'Warning', reason, message })
}

/** The Service of each bit in use; reports bits of several. */
function usersOf(repair: Repair, range: SharedRange): ReadonlyMap<number, KubeObject> {
  const { reader, resources } = repair
  const users = new Map<number, KubeObject>()
  for (const service of reader.list(resources.services)) {
    for (const bit of new Set(range.bitsOf(service))) {
      if (users.has(bit)) {
        const message = `${range.name} ${range.textOf(bit)} was assigned to multiple services; please recreate service`
        warn(repair, service, `${range.name}AlreadyAllocated`, message)
      } else users.set(bit, service)
    }
  }
  return users
}

/** Clears bits that were left over for some passes. */
function clearLeaks(bits: Bits, users: ReadonlyMap<number, KubeObject>, leaks: Leaks): Leaks {
  const seen: Leaks = new Map()
  for (const bit of bits.values()) {
    if (users.has(bit)) continue
    const passes = (leaks.get(bit) ?? 0) + 1
    if (passes >= passesBeforeClearing) bits.set(bit, false)
    else seen.set(bit, passes)
  }
  return seen
}

async function repairRange(repair: Repair, range: SharedRange, leaks: Leaks): Promise<Leaks> {
  await repair.reader.refresh?.()
  const users = usersOf(repair, range)
  let left: Leaks = new Map()
  let missing: readonly number[] = []
  await range.allocation.change((bits) => {
    missing = [...users.keys()].filter((bit) => !bits.has(bit))
    for (const bit of missing) bits.set(bit, true)
    left = clearLeaks(bits, users, leaks)
  })
  for (const bit of missing) {
    const service = users.get(bit)
    if (service === undefined) continue
    const message = `${range.name} ${range.textOf(bit)} of Service ${keyOf(service)} is not allocated; repairing`
    warn(repair, service, `${range.name}NotAllocated`, message)
  }
  return left
}

/** At once and then every three minutes, until `signal` aborts. */
export async function repairRanges(
  options: RepairRangesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { ranges, clock, log } = options
  const recorder = createOwnRecorder(options, 'service-range-repair-controller')
  const repair = { ...options, recorder }
  const run = async (range: SharedRange): Promise<void> => {
    let leaks: Leaks = new Map()
    for (; !signal.aborted; await upkeepOf(clock).sleep(everyMs, signal)) {
      try {
        leaks = await repairRange(repair, range, leaks)
      } catch (error) {
        if (!isRefusal(error)) throw error
        log.warn('the values of Services could not be repaired', { range: range.name, error })
      }
    }
  }
  try {
    await Promise.all([recorder.run(signal), ...ranges.map(run)])
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
