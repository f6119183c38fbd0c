/** judgeHistory: holds what clients saw against every rule. */
import type { History } from './history.ts'
import { linearize, type Interval } from './linearize.ts'
import { describeOperation, isWrite, type Operation } from './operation.ts'
import { brokenReadRules } from './read-rules.ts'
import { registerModel } from './register.ts'
import { brokenWatchRules } from './watch-rules.ts'
import { brokenWriteRules } from './write-rules.ts'

export interface Judgement {
  /** Empty: every rule holds. */
  readonly violations: readonly string[]
  /** Keys whose operations are too many to decide. */
  readonly undecided: readonly string[]
}

export function judgeHistory(history: History, limits: { mostSteps?: number } = {}): Judgement {
  const violations = [
    ...brokenWriteRules(history),
    ...brokenReadRules(history),
    ...brokenWatchRules(history),
  ]
  const undecided: string[] = []
  const byKey = Map.groupBy(history.operations, ({ key }) => key)
  for (const [key, operations] of byKey) {
    const verdict = linearize(registerModel, intervalsOf(operations, history), limits)
    if (verdict.result === 'gave-up') undecided.push(key)
    if (verdict.result !== 'violated') continue
    const { order, stuck } = verdict
    const lines = [
      `the operations on ${key} are not linearizable: after the first ${order.length}, of which the last are`,
      ...order.slice(-5).map((one) => `  ${describeOperation(one)}`),
      'none of these can follow:',
      ...stuck.map((one) => `  ${describeOperation(one)}`),
    ]
    violations.push(lines.join('\n'))
  }
  return { violations, undecided }
}

/**
 * A write of unknown outcome that the store has never committed did not happen; of one that it has, the revision is known. So
 * the search has less to guess.
 */
function intervalsOf(
  operations: readonly Operation[],
  { commits }: History,
): Interval<Operation>[] {
  const byValue = new Map(commits.all.map((commit) => [commit.value, commit]))
  return operations.flatMap((operation) => {
    const { request, outcome, callMs, returnMs } = operation
    if (request.verb === 'get' && request.isCached === true) return []
    if (outcome.result !== 'unknown') return [{ operation, callMs, returnMs }]
    if (!isWrite(operation)) return []
    if (!('value' in request)) return [{ operation, callMs, returnMs: Infinity }]
    const commit = byValue.get(request.value)
    if (commit === undefined) return []
    const found = { result: 'written', revision: commit.revision } as const
    return [{ operation: { ...operation, outcome: found }, callMs, returnMs: Infinity }]
  })
}
