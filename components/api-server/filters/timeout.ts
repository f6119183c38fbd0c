/**
 * timeout: answers a short request within its time (upstream: --request-timeout). The work goes on, so a write that got 504
 * may still be committed.
 */
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'
import { isLongRunning } from '../request/long-running.ts'
import type { Filter } from '../request/request.ts'

export function timeout(clock: Clock, timeoutMs: number): Filter {
  return (context, next) => {
    if (isLongRunning(context)) return next(context)
    return new Promise((resolve, reject) => {
      const cancel = backgroundOf(clock).after(timeoutMs, () => {
        const seconds = Math.ceil(timeoutMs / 1000)
        reject(
          new StatusError(
            'Timeout',
            `Timeout: request did not complete within the allotted timeout (${seconds}s)`,
            { details: {} },
          ),
        )
      })
      const refuse = (error: unknown): void => {
        cancel()
        reject(error)
      }
      try {
        next(context).then((answer) => {
          cancel()
          resolve(answer)
        }, refuse)
      } catch (error) {
        // A filter may throw before it returns a promise. The timer would keep the request and its connection until it fires.
        refuse(error)
      }
    })
  }
}
