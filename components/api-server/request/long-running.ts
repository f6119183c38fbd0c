/** long-running: which requests last as long as their client wants (upstream: apiserver pkg/server/config.go LongRunningFunc). */
import { queryFlag } from './request-info.ts'
import type { RequestContext, RequestInfo } from './request.ts'

const streams = new Set(['proxy', 'attach', 'exec', 'log', 'portforward'])

export const journalPath = '/explain/requests'

/** Whether the request follows the request journal. */
export function followsJournal({ isResourceRequest, path, query }: RequestInfo): boolean {
  return !isResourceRequest && path === journalPath && queryFlag(query, 'follow')
}

/** Whether the request goes on to show the cluster: it ends when the rights to it are gone. */
export function isFollowing(info: RequestInfo): boolean {
  return info.verb === 'watch' || followsJournal(info)
}

/** Whether the request connects to a node or another server, and changes nothing stored here by itself. */
export function isStream({ verb, subresource }: RequestInfo): boolean {
  return verb === 'proxy' || streams.has(subresource)
}

/** Watches, connections to nodes and followers of the request journal last as long as their client wants. */
export function isLongRunning({ info }: Pick<RequestContext, 'info'>): boolean {
  return isFollowing(info) || isStream(info)
}
