/**
 * Simulated probe: the result of a probe that no annotation sets. A command that the simulated shell fully supports runs; every
 * other probe passes.
 */
import type { Pod, Probe } from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { ProbeFinding } from './container-runtime.ts'
import { courseOfWords } from './simulated-command.ts'

const passes: ProbeFinding = { passes: true, output: '' }

/** Takes the command's time, but at most the probe's timeout (upstream: pkg/probe/exec/exec.go). */
export async function lookSimulated(
  probe: Probe | undefined,
  more: {
    readonly pod: Pod
    readonly variables: () => Promise<Readonly<Record<string, string>>>
    readonly clock: Pick<Clock, 'sleep'>
  },
): Promise<ProbeFinding> {
  const words = probe?.exec?.command ?? []
  const { pod, variables, clock } = more
  const course = await courseOfWords({ words, pod, variables })
  if (course === undefined) return passes
  const limitMs = (probe?.timeoutSeconds ?? 1) * 1000
  if (course.endsAfterMs > 0) await clock.sleep(Math.min(course.endsAfterMs, limitMs))
  if (course.endsAfterMs > limitMs) {
    return { passes: false, output: `command ${JSON.stringify(words.join(' '))} timed out` }
  }
  if (course.exitCode === 0) return passes
  const said = (course.output ?? []).map(({ text, isPartial }) => text + (isPartial ? '' : '\n'))
  return { passes: false, output: said.join('') }
}
