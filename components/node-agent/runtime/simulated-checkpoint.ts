/** What becomes of the checkpoint of a simulated container, as an annotation asks (simulation.ts). */
import type { PodWishes } from '../../api/simulation.ts'
import type { Clock } from '../../component-base/clock.ts'
import { RuntimeFault } from './container-runtime.ts'

/** The default timeout of a checkpoint. */
const defaultSeconds = 120

/** Takes the time that the checkpoint takes; `timeoutSeconds` of 0 is the default. Rejects with a RuntimeFault when it fails. */
export async function waitForCheckpoint(
  wish: PodWishes['checkpoint'] | undefined,
  timeoutSeconds: number,
  clock: Clock,
): Promise<void> {
  if (wish === 'unsupported') {
    throw new RuntimeFault('Unimplemented', 'the runtime does not support checkpoints')
  }
  if (wish === 'fail') throw new RuntimeFault('Unknown', 'simulated failure of the checkpoint')
  const needs = wish ?? 0
  const limit = (timeoutSeconds === 0 ? defaultSeconds : timeoutSeconds) * 1000
  if (needs > 0) await clock.sleep(Math.min(needs, limit))
  if (needs > limit) {
    throw new RuntimeFault('DeadlineExceeded', `the checkpoint took longer than ${limit / 1000}s`)
  }
}
