/** explain-requests: the request journal as one answer, or as a stream of lines until the client leaves. */
import type { JournalLine, MissedRequests, RequestRecords } from '../../api/request-record.ts'
import type { JournalFollower, Taken } from '../filters/journal-follower.ts'
import { recordOf, type KeptRequest } from '../filters/kept-request.ts'
import type { RequestJournal } from '../filters/request-journal.ts'
import type { OpenWatches } from '../handlers/open-watches.ts'
import type { Answer, RequestContext, ResponseSink } from '../request/request.ts'
import { answerJson } from '../codec/respond.ts'
import { journalQueryOf, type JournalQuery } from './journal-query.ts'

export interface JournalParts {
  readonly journal: RequestJournal
  readonly openWatches: OpenWatches
}

/** Lines are written together up to about this many records. */
const recordsPerChunk = 100

function selected(journal: RequestJournal, { since, limit, matches }: JournalQuery): KeptRequest[] {
  // A position that is still to come is of another server, or of this one with another clock.
  const after = since > journal.newest ? 0 : since
  return journal
    .kept()
    .filter((record) => record.seq > after && matches(record))
    .slice(-limit)
}

function chunkOf(taken: readonly (Taken | MissedRequests)[]): Buffer {
  const lines = taken.map((one): JournalLine => ('missed' in one ? one : recordOf(one)))
  return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

async function send(sink: ResponseSink, taken: readonly (Taken | MissedRequests)[]): Promise<void> {
  for (let at = 0; at < taken.length; at += recordsPerChunk) {
    const isTaken = sink.write(chunkOf(taken.slice(at, at + recordsPerChunk)))
    if (!isTaken) await sink.drained()
  }
}

async function pump(
  sink: ResponseSink,
  follower: JournalFollower,
  first: readonly (Taken | MissedRequests)[],
): Promise<void> {
  await send(sink, first)
  while (!follower.isClosed) {
    await send(sink, follower.take())
    await follower.ready()
  }
}

/** Ends with the client, the server, or the rights of the caller. */
async function follow(
  sink: ResponseSink,
  context: RequestContext,
  { query, parts }: { query: JournalQuery; parts: JournalParts },
): Promise<void> {
  const { journal, openWatches } = parts
  if (sink.signal.aborted || context.lost?.aborted === true || !openWatches.mayBegin) return
  const { since } = query
  const isCut = since > 0 && since < journal.lastDropped
  const follower = journal.follow(query.matches)
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const end = (): void => resolve()
  const removeWatch = openWatches.add(end)
  sink.signal.addEventListener('abort', end, { once: true })
  context.lost?.addEventListener('abort', end, { once: true })
  const cut: readonly MissedRequests[] = isCut ? [{ missed: null }] : []
  const sent = pump(sink, follower, [...cut, ...selected(journal, query)])
  // After the end, a failure to send the last bytes does not matter.
  sent.catch(() => {})
  try {
    await Promise.race([ended, sent])
  } finally {
    follower.close()
    removeWatch()
    sink.signal.removeEventListener('abort', end)
    context.lost?.removeEventListener('abort', end)
  }
}

/** GET /explain/requests. Throws 400 for an invalid query. */
export function explainRequests(context: RequestContext, parts: JournalParts): Answer {
  const query = journalQueryOf(context.info.query)
  if (query.follow) {
    return {
      status: 200,
      headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-cache, private' },
      body: (sink) => follow(sink, context, { query, parts }),
    }
  }
  const items = selected(parts.journal, query).map(recordOf)
  return answerJson(200, { items } satisfies RequestRecords)
}
