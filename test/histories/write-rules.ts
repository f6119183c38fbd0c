/** Write rules: every acknowledged write is committed once, where its answer says; no failed one is; and revisions keep to real time. */
import type { Commit, Commits } from './commits.ts'
import { realTimeOf, type History } from './history.ts'
import { describeOperation, type Operation } from './operation.ts'
import type { RealTime } from './real-time.ts'

export function brokenWriteRules(history: History): string[] {
  const times = realTimeOf(history)
  return [
    ...acknowledgedWrites(history),
    ...committedValues(history),
    ...orderInRealTime(history, times),
    ...history.commits.keys.flatMap((key) => deletions(history, key, times)),
    ...keylessDeletions(history),
  ]
}

function acknowledgedWrites({ operations, commits }: History): string[] {
  return operations.flatMap((operation) => {
    const { key, request, outcome } = operation
    if (outcome.result !== 'written' || !('value' in request)) return []
    const commit = commits.at(outcome.revision)
    if (commit?.key === key && commit.value === request.value) return []
    return [
      `an acknowledged write is lost: ${describeOperation(operation)}; there is ${told(commit)}`,
    ]
  })
}

/** Each write has a value of its own. */
function committedValues({ operations, commits }: History): string[] {
  const writers = new Map<string, Operation>()
  for (const one of operations) if ('value' in one.request) writers.set(one.request.value, one)
  const seen = new Map<string, Commit>()
  return commits.all.flatMap((commit) => {
    if (commit.value === undefined) return []
    const earlier = seen.get(commit.value)
    seen.set(commit.value, commit)
    const writer = writers.get(commit.value)
    if (writer?.key !== commit.key) return [`nobody asked for the write ${told(commit)}`]
    if (earlier !== undefined)
      return [
        `a write was done twice: ${told(earlier)} and ${told(commit)}, ${describeOperation(writer)}`,
      ]
    if (writer.outcome.result === 'written' || writer.outcome.result === 'unknown') return []
    return [`a failed write was done: ${describeOperation(writer)}, ${told(commit)}`]
  })
}

/** A write that was asked for after another was answered has the higher revision. */
function orderInRealTime({ operations }: History, times: RealTime): string[] {
  return operations.flatMap((operation) => {
    const { outcome, callMs } = operation
    if (outcome.result !== 'written') return []
    const floor = times.floor(callMs)
    if (outcome.revision > floor) return []
    return [`revisions went back: ${floor} had been seen before ${describeOperation(operation)}`]
  })
}

/** Pairs the deletions of a key with those who asked for them: answers do not name their revision. */
function deletions({ operations, commits }: History, key: string, times: RealTime): string[] {
  const askers = operations
    .filter((one) => one.key === key && one.request.verb === 'delete')
    .filter(({ outcome: { result } }) => result === 'deleted' || result === 'unknown')
    .map((operation) => ({
      operation,
      after: times.floor(operation.callMs),
      before: operation.outcome.result === 'unknown' ? Infinity : times.ceiling(operation.returnMs),
    }))
  const broken: string[] = []
  const left = new Set(askers)
  for (const commit of commits.of(key).filter(({ value }) => value === undefined)) {
    // The one that can wait least.
    const [asker] = [...left]
      .filter(({ after, before, operation }) => {
        return (
          after < commit.revision && commit.revision < before && expects(operation, commit, commits)
        )
      })
      .sort((a, b) => rankOf(a) - rankOf(b))
    if (asker === undefined) broken.push(`nobody asked for the deletion ${told(commit)}`)
    else left.delete(asker)
  }
  for (const { operation } of left) {
    if (operation.outcome.result === 'deleted')
      broken.push(`an acknowledged deletion is lost: ${describeOperation(operation)}`)
  }
  return broken
}

function rankOf({ operation, before }: { operation: Operation; before: number }): number {
  if (operation.outcome.result === 'unknown') return Infinity
  return Math.min(before, Number.MAX_SAFE_INTEGER)
}

function expects({ request }: Operation, commit: Commit, commits: Commits): boolean {
  const expected = 'expected' in request ? request.expected : undefined
  return (
    expected === undefined || commits.heldAt(commit.key, commit.revision - 1)?.revision === expected
  )
}

function keylessDeletions({ operations, commits }: History): string[] {
  const known = new Set(commits.keys)
  return operations
    .filter(({ key, outcome }) => outcome.result === 'deleted' && !known.has(key))
    .map((operation) => `an acknowledged deletion is lost: ${describeOperation(operation)}`)
}

export function told(commit: Commit | undefined): string {
  if (commit === undefined) return 'no such commit'
  const { revision, key, value } = commit
  return value === undefined ? `${key} deleted at ${revision}` : `${key}=${value} at ${revision}`
}
