/**
 * flow-dumps: the state of priority and fairness as text, for `/debug/api_priority_and_fairness/` (upstream:
 * flowcontrol/apf_controller_debug.go).
 */
import type { Clock } from '../../component-base/clock.ts'
import { durationText } from '../../machinery/values/go-duration.ts'
import type { FairRequest } from './fair-request.ts'
import type { FlowControl } from './flow-control.ts'
import type { PriorityLevel } from './priority-level.ts'
import { seatSecondsText } from './seat-seconds.ts'

type Row = readonly (string | number | boolean)[]

const root = '/debug/api_priority_and_fairness/'
const narrowest = 8
const never = '0001-01-01T00:00:00Z'

const levelColumns = [
  'PriorityLevelName',
  'ActiveQueues',
  'IsIdle',
  'IsQuiescing',
  'WaitingRequests',
  'ExecutingRequests',
  'DispatchedRequests',
  'RejectedRequests',
  'TimedoutRequests',
  'CancelledRequests',
]

const queueColumns = [
  'PriorityLevelName',
  'Index',
  'PendingRequests',
  'ExecutingRequests',
  'SeatsInUse',
  'NextDispatchR',
  'InitialSeatsSum',
  'MaxSeatsSum',
  'TotalWorkSum',
]

/** One is misspelt, as upstream. */
const requestColumns = [
  'PriorityLevelName',
  'FlowSchemaName',
  'QueueIndex',
  'RequestIndexInQueue',
  'FlowDistingsher',
  'ArriveTime',
  'InitialSeats',
  'FinalSeats',
  'AdditionalLatency',
  'StartTime',
]

const detailColumns = [
  'UserName',
  'Verb',
  'APIPath',
  'Namespace',
  'Name',
  'APIVersion',
  'Resource',
  'SubResource',
]

/** In characters, as Go counts them. */
const lengthOf = (text: string): number => Array.from(text).length

/** Columns of one width, as Go's text/tabwriter makes them. Every cell but a row's last ends with a comma. */
function table(rows: readonly Row[]): string {
  const cells = rows.map((row) =>
    row.map((cell, at) => (at === row.length - 1 ? String(cell) : `${cell},`)),
  )
  const widths: number[] = []
  for (const row of cells) {
    for (const [at, cell] of row.slice(0, -1).entries()) {
      widths[at] = Math.max(widths[at] ?? narrowest, lengthOf(cell) + 1)
    }
  }
  const padded = (cell: string, at: number, row: readonly string[]): string =>
    at === row.length - 1 ? cell : cell + ' '.repeat((widths[at] ?? 0) - lengthOf(cell))
  return cells.map((row) => `${row.map(padded).join('')}\n`).join('')
}

function levelRow({ name, isQuiescing, queueSet }: PriorityLevel): Row {
  const active = queueSet.queues.filter(({ waiting }) => waiting.length > 0).length
  const { isIdle, waiting, executing, dispatched, rejected, timedOut, cancelled } = queueSet
  const counts = [waiting, executing, dispatched, rejected, timedOut, cancelled]
  return [name, active, isIdle, isQuiescing, ...counts]
}

function queueRows({ name, queueSet }: PriorityLevel): Row[] {
  return queueSet.queues.map((queue, index) => {
    const { waiting, executing, seatsInUse, nextDispatchR, waitingSeats, waitingWork } = queue
    let initialSeats = 0
    for (const { arriving } of waiting) initialSeats += arriving.work.initialSeats
    return [
      name,
      index,
      waiting.length,
      executing.length,
      seatsInUse,
      seatSecondsText(Math.max(nextDispatchR, 0)),
      initialSeats,
      waitingSeats,
      seatSecondsText(waitingWork),
    ]
  })
}

interface RequestDump {
  readonly withDetails: boolean
  /** RFC 3339 of a time of `Clock.elapsed`. */
  readonly timeOf: (elapsedMs: number) => string
}

function requestRow(
  request: FairRequest,
  at: { level: PriorityLevel; queue: number; index: number; dump: RequestDump },
): Row {
  const { level, queue, index, dump } = at
  const { arriving, arrivedMs, startedMs, additionalLatencyMs } = request
  const { schema, distinguisher, work, from } = arriving
  const row = [
    level.name,
    schema,
    queue,
    index,
    distinguisher,
    dump.timeOf(arrivedMs),
    work.initialSeats,
    // No more than it takes.
    Math.min(work.finalSeats, request.width),
    durationText(Math.round(additionalLatencyMs * 1e6)),
    request.isExecuting ? dump.timeOf(startedMs) : never,
  ]
  if (!dump.withDetails) return row
  const { user, info } = from
  const { verb, path, namespace, name, group, version, plural, subresource } = info
  const apiVersion = group === '' ? version : `${group}/${version}`
  return [...row, user.name, verb, path, namespace, name, apiVersion, plural, subresource]
}

function requestRows(level: PriorityLevel, dump: RequestDump): Row[] {
  const { queueSet } = level
  const rows: Row[] = []
  for (const [queue, { waiting, executing }] of queueSet.queues.entries()) {
    let index = 0
    for (const one of waiting) {
      rows.push(requestRow(one, { level, queue, index, dump }))
      index += 1
    }
    for (const one of executing) rows.push(requestRow(one, { level, queue, index: -1, dump }))
  }
  for (const one of queueSet.queueless) {
    rows.push(requestRow(one, { level, queue: -1, index: -1, dump }))
  }
  return rows
}

/** The text at a path; undefined for other paths. */
export function flowDump(
  at: { path: string; query: URLSearchParams },
  { control, clock }: { control: FlowControl; clock: Pick<Clock, 'now' | 'elapsed'> },
): string | undefined {
  if (!at.path.startsWith(root)) return undefined
  switch (at.path.slice(root.length)) {
    case 'dump_priority_levels':
      return table([levelColumns, ...control.levels.map(levelRow)])
    case 'dump_queues':
      return table([queueColumns, ...control.levels.flatMap(queueRows)])
    case 'dump_requests': {
      const offsetMs = clock.now() - clock.elapsed()
      const withDetails = (at.query.get('includeRequestDetails') ?? '') !== ''
      const dump = {
        withDetails,
        timeOf: (elapsedMs: number) => new Date(offsetMs + elapsedMs).toISOString(),
      }
      const columns = withDetails ? [...requestColumns, ...detailColumns] : requestColumns
      return table([columns, ...control.levels.flatMap((level) => requestRows(level, dump))])
    }
    default:
      return undefined
  }
}
