/**
 * goaway: ends the connection of a share of requests, so that clients spread over several servers again (upstream: goaway.go). What is
 * open on it goes on.
 */
import type { Filter } from '../request/request.ts'

/** `chance` of each request, from 0 to 1. HTTP/1.1 clients keep their connections, as upstream. */
export function goaway(chance: number, random: () => number): Filter {
  return async (context, next) => {
    const answer = await next(context)
    // Only HTTP/2 requests have pseudo headers.
    if (context.http.headers[':method'] === undefined || random() >= chance) return answer
    return { ...answer, headers: { ...answer.headers, connection: 'close' } }
  }
}
