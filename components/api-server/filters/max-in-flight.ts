/** max-in-flight: rejects short requests beyond a limit with 429 (upstream: maxinflight.go). */
import { tooManyRequests } from '../../machinery/objects/status-error.ts'
import { privilegedGroup } from '../authz/union.ts'
import type { Filter } from '../request/request.ts'
import { isLongRunning } from '../request/long-running.ts'

const readVerbs = new Set(['get', 'list', 'watch', 'head', 'options'])
/** 0 means no limit. Long-running requests do not count. Members of system:masters are never rejected. */
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
