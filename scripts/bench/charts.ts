/**
 * The charts of docs/performance.md: which rows of a run they show, under the labels of the page's tables. `test/docs/charts.test.ts`
 * compares their figures with these tables.
 */
import { drawBarChart, type Bar, type BarChart } from './bar-chart.ts'
import type { Row } from './rows.ts'

interface Source {
  /** Names one row of a run. */
  readonly row: RegExp
  /** The first cell of the table's row. */
  readonly label: string
}

/** A figure of a row as a bar; undefined when the row has none. */
type BarOf = (row: Row, label: string) => Bar | undefined

const numberOf = (text: string): number | undefined => {
  const found = /^[\d.]+/.exec(text)?.[0]
  return found === undefined ? undefined : Number(found)
}

const ratio: BarOf = ({ ratio: text }, label) => {
  const value = numberOf(text)
  return value === undefined ? undefined : { label, value, text }
}

const megabytes: BarOf = ({ skiff }, label) => {
  const value = numberOf(skiff)
  return value === undefined ? undefined : { label, value, text: `${value} MB` }
}

const seconds: BarOf = ({ skiff }, label) => {
  const ms = numberOf(skiff)
  if (ms === undefined) return undefined
  const value = ms / 1000
  return { label, value, text: `${value.toFixed(2)} s` }
}

interface Chart {
  readonly title: string
  readonly sources: readonly Source[]
  readonly barOf: BarOf
  readonly mark?: BarChart['mark']
}

const bare = { at: 100, text: 'bare server: 100 %' }

/** File name in docs/charts -> chart. */
const charts: Readonly<Record<string, Chart>> = {
  'requests.svg': {
    title: 'Requests and watch events, as a share of what the bare server reaches',
    barOf: ratio,
    mark: bare,
    sources: [
      { row: /^get \d+ bytes, 8×8/, label: 'get, 64 in flight' },
      { row: /^get \d+ bytes, 1×1/, label: 'get, one at a time' },
      { row: /^durable create, 8×8/, label: 'durable create, 64 in flight' },
      { row: /^durable create, 1×1/, label: 'durable create, one at a time' },
      { row: /^list of 10000 pods/, label: 'list of 10,000 pods (65 MiB)' },
      { row: /^list of 100000 pods/, label: 'list of 100,000 pods' },
      { row: /^first page of 500 of 100000/, label: 'page of 500 of 100,000, first' },
      { row: /^middle page of 500 of 100000/, label: 'page of 500 of 100,000, middle' },
      {
        row: /^one event to 100\b/,
        label: 'one event to 100 watchers, from the start of the write',
      },
      {
        row: /^one event to 1000\b/,
        label: 'one event to 1,000 watchers, from the start of the write',
      },
      {
        row: /^delivery to 1000 watchers/,
        label: 'an event to each of 1,000 watchers, 50 a second',
      },
    ],
  },
  'memory.svg': {
    title: 'Resident memory of each process of an idle cluster, in MB',
    barOf: megabytes,
    sources: [
      { row: /^memory of api-server\.js/, label: 'API server' },
      { row: /^memory of controller-manager\.js/, label: 'controller manager' },
      { row: /^memory of scheduler\.js/, label: 'scheduler' },
      { row: /^memory of node-agent\.js/, label: 'node agent' },
      { row: /^memory of supervisor\.js/, label: 'supervisor' },
    ],
  },
  'start.svg': {
    title: 'Time to start, in seconds',
    barOf: seconds,
    sources: [
      { row: /^up of three nodes/, label: 'up of three nodes to all Ready' },
      { row: /^start on a store of 10000\b/, label: 'API server on a store of 10,000 pods' },
      { row: /^start on a store of 100000\b/, label: 'API server on a store of 100,000 pods' },
    ],
  },
}

/** The charts whose rows are all in the run: file name -> SVG. */
export function drawCharts(rows: readonly Row[]): ReadonlyMap<string, string> {
  const drawn = new Map<string, string>()
  for (const [name, { sources, barOf, ...chart }] of Object.entries(charts)) {
    const bars = sources.flatMap(({ row, label }) => {
      const found = rows.find((one) => row.test(one.name))
      const bar = found && barOf(found, label)
      return bar === undefined ? [] : [bar]
    })
    if (bars.length === sources.length) drawn.set(name, drawBarChart({ ...chart, bars }))
  }
  return drawn
}
