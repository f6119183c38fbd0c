/** max-in-flight: more short requests at once than the server was told to take are refused with 429 (upstream: maxinflight.go). */
import { StatusError } from '../../machinery/status-error.ts'
import { privilegedGroup } from '../authz/union.ts'
import type { Filter } from '../request.ts'
import { isLongRunning } from './timeout.ts'

const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options'])
const retryAfterSeconds = 1

/** What a refused request is told. */
export function tooManyRequests(): StatusError {
  return new StatusError('TooManyRequests', 'Too many requests, please try again later.', {
    details: { retryAfterSeconds },
  })
}

/** 0 means no limit. Long-running requests do not count. Whoever is to mend a flooded server is never refused. */
export function maxInFlight(limits: { reading: number; mutating: number }): Filter {
  let reading = 0
  let mutating = 0
  return async (context, next) => {
    if (isLongRunning(context)) return await next(context)
    const reads = readVerbs.has(context.info.verb)
    const [limit, taken] = reads ? [limits.reading, reading] : [limits.mutating, mutating]
    if (limit > 0 && taken >= limit) {
      if (!context.user.groups.includes(privilegedGroup)) throw tooManyRequests()
      return await next(context)
    }
    if (reads) reading += 1
    else mutating += 1
    try {
      return await next(context)
    } finally {
      if (reads) reading -= 1
      else mutating -= 1
    }
  }
}
