/**
 * Read rules: each answer shows what the store held at some revision. For a consistent read that is one between call and
 * return. Reads from a cache may be of any age, but no process answers with an older state than it has answered with before.
 */
import { told } from './write-rules.ts'
import { realTimeOf, type History } from './history.ts'
import { describeOperation, type ListOperation, type Operation } from './operation.ts'
import type { RealTime } from './real-time.ts'

export function brokenReadRules(history: History): string[] {
  const times = realTimeOf(history)
  return [
    ...history.operations.flatMap((operation) => brokenGet(operation, history, times)),
    ...history.lists.flatMap((list) => brokenList(list, history, times)),
    ...olderReads(history),
  ]
}

function brokenGet(operation: Operation, { commits }: History, times: RealTime): string[] {
  const { key, request, outcome, callMs, returnMs } = operation
  if (request.verb !== 'get') return []
  const isCached = request.isCached === true
  const floor = isCached ? 0 : times.floor(callMs)
  if (outcome.result === 'absent') {
    if (commits.heldAt(key, floor) === undefined) return []
    const deleted = commits.of(key).find((one) => one.revision > floor && one.value === undefined)
    if (deleted !== undefined && deleted.revision < times.ceiling(returnMs)) return []
    return [`an object was there: ${describeOperation(operation)}, after revision ${floor}`]
  }
  if (outcome.result !== 'found') return []
  const { revision, value } = outcome
  const commit = commits.at(revision)
  if (commit?.key !== key || commit.value !== value)
    return [
      `what was never stored was read: ${describeOperation(operation)}; there is ${told(commit)}`,
    ]
  const next = commits.after(key, revision)
  if (next !== undefined && next.revision <= floor)
    return [
      `a stale read: ${describeOperation(operation)}, after ${told(next)} and revision ${floor} were seen`,
    ]
  return revision < times.ceiling(returnMs)
    ? []
    : [`a read of the future: ${describeOperation(operation)}`]
}

function brokenList(list: ListOperation, { commits }: History, times: RealTime): string[] {
  const { isCached, exactly, revision, items, callMs, returnMs } = list
  const broken: string[] = []
  if (exactly !== undefined && exactly !== revision)
    broken.push(`${describeList(list)} was asked for exactly ${exactly}`)
  const floor = times.floor(callMs)
  if (!isCached && exactly === undefined && revision < floor)
    broken.push(`a stale list: ${describeList(list)}, after revision ${floor} was seen`)
  if (revision >= times.ceiling(returnMs))
    broken.push(`a list of the future: ${describeList(list)}`)
  const shown = textOf(items.map(({ key, ...held }) => [key, held]))
  const wanted = textOf([...commits.stateAt(revision)])
  if (shown !== wanted)
    broken.push(`${describeList(list)} shows ${shown}, and ${wanted} was stored`)
  return broken
}

function textOf(state: [string, { revision: number; value: string }][]): string {
  const items = state.map(([key, { revision, value }]) => `${key}=${value}@${revision}`)
  return items.toSorted().join(' ')
}

function describeList({
  client,
  server,
  revision,
  callMs,
  returnMs,
  isCached,
}: ListOperation): string {
  const age = isCached ? 'cached ' : ''
  return `the ${age}list of ${client} on ${server} at revision ${revision}, ${callMs.toFixed(1)}-${returnMs.toFixed(1)} ms,`
}

interface Seen {
  readonly callMs: number
  readonly returnMs: number
  /** The answer is at least as new. */
  readonly revision: number
  /** The object had not changed again by then; Infinity if it has not since. */
  readonly until: number
  readonly text: string
}

/** Of two answers of one process, one after the other, the second is not older. */
function olderReads(history: History): string[] {
  const byServer = new Map<string, Seen[]>()
  const add = (server: string, seen: Seen): void => {
    byServer.set(server, [...(byServer.get(server) ?? []), seen])
  }
  for (const operation of history.operations) {
    const { server, key, outcome, callMs, returnMs } = operation
    if (outcome.result !== 'found' && outcome.result !== 'written') continue
    const { revision } = outcome
    const isRead = outcome.result === 'found'
    const until = isRead ? (history.commits.after(key, revision)?.revision ?? Infinity) : Infinity
    add(server, { callMs, returnMs, revision, until, text: describeOperation(operation) })
  }
  for (const list of history.lists) {
    const { server, revision, callMs, returnMs, exactly } = list
    if (exactly !== undefined) continue
    const until = revision + 1
    add(server, { callMs, returnMs, revision, until, text: describeList(list) })
  }
  return [...byServer.values()].flatMap((all) => olderOf(all))
}

function olderOf(all: readonly Seen[]): string[] {
  const broken: string[] = []
  for (const later of all) {
    const earlier = all.find(({ returnMs, revision }) => {
      return returnMs < later.callMs && revision >= later.until
    })
    if (earlier !== undefined) broken.push(`reads went back: ${earlier.text}, then ${later.text}`)
  }
  return broken
}
