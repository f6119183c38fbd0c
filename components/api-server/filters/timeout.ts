/**
 * timeout: a request that is not long-running is answered within its time (upstream: --request-timeout). Its work goes on, so
 * a write that was answered 504 may still be committed.
 */
import type { Clock } from '../../component-base/clock.ts'
import { StatusError } from '../../machinery/status-error.ts'
import type { Filter, RequestContext } from '../request.ts'

const streams = new Set(['proxy', 'attach', 'exec', 'log', 'portforward'])

/** Watches and connections to nodes last as long as their client wants. */
export function isLongRunning(context: RequestContext): boolean {
  const { verb, subresource } = context.info
  return verb === 'watch' || verb === 'proxy' || streams.has(subresource)
}

export function timeout(clock: Clock, timeoutMs: number): Filter {
  return (context, next) => {
    if (isLongRunning(context)) return next(context)
    return new Promise((resolve, reject) => {
      const cancel = clock.after(timeoutMs, () => {
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
