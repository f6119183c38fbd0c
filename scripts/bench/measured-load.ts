/** A load, and what it cost the server: how many requests a second, how long they took, processor time and allocation of each. */
import { load, type Endpoint, type LoadOptions, type LoadResult } from './load.ts'
import { processorUs } from './process.ts'
import { plainRow, rateRow, type Row } from './rows.ts'

/** A server that is measured: one of ours, the bare one or the peer. */
export interface Subject {
  readonly endpoint: Endpoint
  readonly pid: number
  /** What it has allocated on the JavaScript heap until its last collection; a peer does not tell. */
  allocatedBytes?(): number
}

export interface MeasuredLoad extends LoadResult {
  /** Processor time of all threads for each request. */
  readonly processorUs: number
  readonly allocatedKb: number | undefined
}

export async function measuredLoad(subject: Subject, options: LoadOptions): Promise<MeasuredLoad> {
  const { endpoint, pid } = subject
  const usedBefore = processorUs(pid)
  const allocatedBefore = subject.allocatedBytes?.() ?? 0
  const result = await load(endpoint, options)
  const each = (sum: number): number => sum / result.requests
  const allocated = subject.allocatedBytes?.()
  return {
    ...result,
    processorUs: each(processorUs(pid) - usedBefore),
    allocatedKb: allocated === undefined ? undefined : each(allocated - allocatedBefore) / 1024,
  }
}

/** The same load on each of the servers; there is seldom a peer. */
export interface Compared {
  readonly ours: MeasuredLoad
  readonly bare: MeasuredLoad
  readonly peer: MeasuredLoad | undefined
}

const shownTimes = ({ p50Ms, p99Ms, p999Ms }: LoadResult): string =>
  [p50Ms, p99Ms, p999Ms].map((ms) => ms.toFixed(ms < 10 ? 2 : 0)).join(' / ')

function shownCost({ processorUs: us, allocatedKb }: MeasuredLoad): string {
  const allocated = allocatedKb === undefined ? '' : `, ${allocatedKb.toFixed(0)} KB`
  return `${Math.round(us)} µs${allocated}`
}

/** Three rows: requests a second, times, and what a request costs. */
export function comparedRows(name: string, { ours, bare, peer }: Compared): Row[] {
  const rate = { ...rateRow(name, ours, bare), note: '' }
  const columns = (shown: (load: MeasuredLoad) => string) => ({
    skiff: shown(ours),
    bare: shown(bare),
    ...(peer === undefined ? {} : { peer: shown(peer) }),
  })
  const tail = `p99 is ${(ours.p99Ms / ours.p50Ms).toFixed(1)} times the median`
  const times = { ...plainRow('  p50 / p99 / p99.9 in ms', '', tail), ...columns(shownTimes) }
  const costs = { ...plainRow('  processor time, allocation', ''), ...columns(shownCost) }
  if (peer === undefined) return [rate, times, costs]
  const faster = `${(ours.perSecond / peer.perSecond).toFixed(1)} times the peer's rate`
  const cheaper = `${(ours.processorUs / peer.processorUs).toFixed(2)} of the peer's processor time`
  const peerRate = `${Math.round(peer.perSecond)}/s`
  return [{ ...rate, peer: peerRate, note: faster }, times, { ...costs, note: cheaper }]
}
