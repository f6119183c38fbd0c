/** Prober: looks at a container again and again and says when its probe's verdict turns. */
import type { Probe } from '../../api/generated/types.ts'
import { backgroundOf, upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { ProbeFinding } from '../runtime/container-runtime.ts'

export interface ProberOptions {
  readonly probe: Probe
  readonly clock: Clock
  /** One look. */
  readonly look: () => Promise<ProbeFinding>
  /** Called when the verdict is first reached and whenever it turns; a failed look that turns nothing calls `onMiss`. */
  readonly onVerdict: (passes: boolean) => void
  readonly onMiss: (output: string) => void
}

/** Probes until the signal aborts. A verdict needs as many equal looks in a row as the probe's thresholds say. */
export async function runProber(options: ProberOptions, signal: AbortSignal): Promise<void> {
  const { probe, clock, look, onVerdict, onMiss } = options
  const periodMs = (probe.periodSeconds ?? 10) * 1000
  const successThreshold = probe.successThreshold ?? 1
  const failureThreshold = probe.failureThreshold ?? 3
  let verdict: boolean | undefined
  let last: boolean | undefined
  let inARow = 0
  try {
    await clock.sleep((probe.initialDelaySeconds ?? 0) * 1000, signal)
    for (;;) {
      const { passes: result, output, turnsInMs } = await look()
      signal.throwIfAborted()
      inARow = result === last ? inARow + 1 : 1
      last = result
      if (!result) onMiss(output)
      if (result !== verdict && inARow >= (result ? successThreshold : failureThreshold)) {
        verdict = result
        onVerdict(result)
      }
      if (result && verdict === true) await restful(clock, { periodMs, turnsInMs }, signal)
      else await backgroundOf(clock).sleep(periodMs, signal)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Waits for the next look, which finds the same unless that turns by itself: until then a cluster may rest. */
async function restful(
  clock: Clock,
  { periodMs, turnsInMs }: { readonly periodMs: number; readonly turnsInMs: number | undefined },
  signal: AbortSignal,
): Promise<void> {
  const cancel =
    turnsInMs === undefined ? undefined : backgroundOf(clock).after(turnsInMs, () => {})
  try {
    await upkeepOf(clock).sleep(periodMs, signal)
  } finally {
    cancel?.()
  }
}
