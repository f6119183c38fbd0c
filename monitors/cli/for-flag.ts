/** `--for`: how long a command follows a cluster. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { aborted } from '../../components/component-base/aborted.ts'
import type { Clock } from '../../components/component-base/clock.ts'

export const forFlag = defineFlags({
  for: flag.duration('End after this time; 0 is until Ctrl-C.', 0, { least: 0 }),
})

/** Resolves after the time, or when the signal aborts; with 0, only then. */
export async function forOrUntil(
  ms: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  if (ms === 0) await aborted(signal)
  // The signal ends it early.
  else await clock.sleep(ms, signal).catch(() => {})
}
