/** What a bench tells: one row per figure, Skiff's beside the bare server's. */
import { performance } from 'node:perf_hooks'
import type { LoadResult } from './load.ts'

export interface Row {
  readonly name: string
  readonly skiff: string
  readonly bare: string
  /** Of the server that BENCH_PEER names. */
  readonly peer?: string
  readonly ratio: string
  readonly note: string
}

const percent = (part: number, whole: number): string => `${Math.round((part / whole) * 100)} %`

/** Requests per second; more is better. */
export function rateRow(name: string, ours: LoadResult, bare: LoadResult, note = ''): Row {
  return {
    name,
    skiff: `${Math.round(ours.perSecond)}/s`,
    bare: `${Math.round(bare.perSecond)}/s`,
    ratio: percent(ours.perSecond, bare.perSecond),
    note: note || `p50 ${ours.p50Ms.toFixed(1)} ms, p99 ${ours.p99Ms.toFixed(1)} ms`,
  }
}

const shownMs = (ms: number): string => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`

/** A time; less is better. */
export function timeRow(name: string, oursMs: number, bareMs: number, note = ''): Row {
  return {
    name,
    skiff: shownMs(oursMs),
    bare: shownMs(bareMs),
    ratio: percent(bareMs, oursMs),
    note,
  }
}

/** A figure that the bare server has no like of. */
export function plainRow(name: string, skiff: string, note = ''): Row {
  return { name, skiff, bare: '', ratio: '', note }
}

/** The value below which that share of the values lies; sorts them. */
export function quantile(values: number[], share: number): number {
  values.sort((a, b) => a - b)
  return values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
}

/** The median time in ms of some runs. */
export async function timed(work: () => Promise<unknown>, times = 5): Promise<number> {
  const taken: number[] = []
  for (let at = 0; at < times; at += 1) {
    const startedAt = performance.now()
    await work()
    taken.push(performance.now() - startedAt)
  }
  return quantile(taken, 0.5)
}

export function printRows(rows: readonly Row[]): void {
  const hasPeer = rows.some(({ peer }) => peer !== undefined)
  const head: Row = {
    ...{ name: 'what', skiff: 'skiff', bare: 'bare', ratio: 'ratio', note: '' },
    ...(hasPeer ? { peer: 'peer' } : {}),
  }
  const columns = [
    'name',
    'skiff',
    'bare',
    'ratio',
    ...(hasPeer ? ['peer'] : []),
    'note',
  ] as (keyof Row)[]
  const widths = columns.map((column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? '').length)),
  )
  for (const row of [head, ...rows]) {
    console.log(
      columns
        .map((column, at) => (row[column] ?? '').padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}
