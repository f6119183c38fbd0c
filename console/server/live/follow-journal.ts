/** followJournal: the request journal of one API server, over restarts of that server. */
import type { RequestRecord } from '../../../components/api/request-record.ts'
import { createBackoff } from '../../../components/component-base/backoff.ts'
import type { Clock } from '../../../components/component-base/clock.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import type { RestClient } from '../../../components/client/rest-client.ts'
import { jsonLines } from '../../../components/client/watch-stream.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'

export const journalPath = '/explain/requests'

export interface FollowJournal {
  readonly clock: Clock
  /** Position of the last record that is known; 0 for none. */
  readonly since: number
  /** For each attempt; `close` is called after it. */
  readonly connect: () => Promise<{ readonly rest: Pick<RestClient, 'stream'>; close(): void }>
  readonly onRecord: (record: RequestRecord) => void
  readonly onRead: () => void
  /** It does not answer, and is tried again. */
  readonly onMissing: (why: string) => void
}

function isRecord(value: unknown): value is RequestRecord {
  return typeof value === 'object' && value !== null && 'seq' in value
}

/** Ends with the signal. Rejects when the viewer may not read the journal, or the server has none. */
export async function followJournal(options: FollowJournal, signal: AbortSignal): Promise<void> {
  const { clock, connect, onRecord, onRead, onMissing } = options
  const backoff = createBackoff({ initialMs: 200, maxMs: 5000, jitter: 0.5 }, () => clock.random())
  let newest = options.since
  while (!signal.aborted) {
    const { rest, close } = await connect()
    try {
      // Positions grow over restarts of the server, so what was seen does not come again.
      const path = `${journalPath}?follow=true&since=${newest}`
      const { chunks } = await rest.stream({ method: 'GET', path, signal })
      onRead()
      for await (const value of jsonLines(chunks)) {
        backoff.reset()
        if (!isRecord(value)) continue
        newest = Math.max(newest, value.seq)
        onRecord(value)
      }
    } catch (error) {
      if (signal.aborted) return
      if (isStatusError(error) && error.code < 500 && error.code !== 429) throw error
      if (!isStatusError(error) && !(error instanceof ConnectionError)) throw error
      onMissing(messageOf(error))
    } finally {
      close()
    }
    await clock.sleep(backoff.next(), signal).catch(() => {})
  }
}
