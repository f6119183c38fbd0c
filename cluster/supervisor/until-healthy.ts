/** Waiting for a program that says by HTTP alone that it is ready. */
import { get } from 'node:http'
import type { Clock } from '../../components/component-base/clock.ts'

const askEveryMs = 20
const answerWithinMs = 2000

/** Resolves with false when nothing answers, or anything but 200. */
function isHealthy(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = get(url, { agent: false, timeout: answerWithinMs }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    call.on('timeout', () => call.destroy()).on('error', () => resolve(false))
  })
}

/** Resolves once the URL answers with 200; rejects with `signal.reason` when aborted. */
export async function untilHealthy(url: string, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!(await isHealthy(url))) await clock.sleep(askEveryMs, signal)
  signal.throwIfAborted()
}
