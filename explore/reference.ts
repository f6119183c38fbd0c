/** Reference: what the story leads to without faults, and what says nothing because it differs between two such runs. */
import { compareStates } from './end-state.ts'
import type { EndState, IgnoredField, StateDifference } from './end-state.ts'
import type { Finding } from './finding.ts'
import type { Traffic } from './gate/traffic.ts'
import type { StoryRunResult } from './run-story.ts'

export interface Reference {
  readonly traffic: Traffic
  /** After each step; the first is that before the first step. */
  readonly states: readonly EndState[]
  /** What is read: the kinds of the story, and those that the controller wrote. */
  readonly resources: ReadonlySet<string>
  readonly ignored: readonly IgnoredField[]
}

/** The reference, or what is wrong without any fault. */
export function referenceOf(
  first: StoryRunResult,
  second: StoryRunResult,
  ignore: readonly string[],
): { readonly reference: Reference } | { readonly findings: readonly Finding[] } {
  const fields = ignore.map((path): IgnoredField => ({ path }))
  const findings: Finding[] = []
  const unsteady: IgnoredField[] = []
  for (const [step, state] of second.states.entries()) {
    if (step < first.completeFrom) continue
    const before = first.states[step] ?? new Map<string, unknown>()
    for (const one of compareStates(before, state, fields)) {
      if (one.path === undefined) findings.push({ ...one, step })
      else unsteady.push(ignoredOf(one))
    }
  }
  if (findings.length > 0) return { findings }
  const { traffic, states, resources } = second
  return { reference: { traffic, states, resources, ignored: [...fields, ...unsteady] } }
}

function ignoredOf({ object, path = '' }: StateDifference): IgnoredField {
  return { id: object, path }
}
