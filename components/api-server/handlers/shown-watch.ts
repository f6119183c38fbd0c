/** shown-watch: a running watch as `/explain/watches` lists it. */
import type { OpenWatch } from '../../api/request-record.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { cutText, selectorsOf } from '../request/recorded.ts'
import type { RequestContext, ResponseSink } from '../request/request.ts'
import type { Watcher } from '../watch-cache/watcher.ts'

/** How the watch stands now; `sent` is how many events have been sent. */
export function shownWatch(
  { context, resource, sent }: { context: RequestContext; resource: Resource; sent: number },
  sink: Pick<ResponseSink, 'buffered'>,
  watcher: Pick<Watcher, 'queuedBytes' | 'waitingEvents'>,
): OpenWatch {
  const { id, info, user, http, receivedAtMs } = context
  return {
    id,
    user: user.name,
    userAgent: cutText([http.headers['user-agent'] ?? ''].flat().join()),
    group: resource.group,
    resource: resource.plural,
    namespace: info.namespace,
    ...selectorsOf(info),
    sinceMs: receivedAtMs,
    events: sent,
    waitingBytes: watcher.queuedBytes + sink.buffered,
    behind: watcher.waitingEvents,
  }
}
