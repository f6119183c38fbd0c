/** long-running: which requests last as long as their client wants (upstream: apiserver pkg/server/config.go LongRunningFunc). */
import type { RequestContext } from './request.ts'

const streams = new Set(['proxy', 'attach', 'exec', 'log', 'portforward'])

/** Watches and connections to nodes last as long as their client wants. */
export function isLongRunning(context: RequestContext): boolean {
  const { verb, subresource } = context.info
  return verb === 'watch' || verb === 'proxy' || streams.has(subresource)
}
