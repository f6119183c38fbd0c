/** Audit webhook: records as EventLists to a remote service (upstream: plugin/audit/webhook). */
import { createBackoff } from '../../component-base/backoff.ts'
import type { Clock } from '../../component-base/clock.ts'
import { createHttpsCaller } from '../egress/https-call.ts'
import type { WebhookConnection } from '../egress/webhook-client.ts'
import type { AuditOutput } from './log-file.ts'

const mostAttempts = 5
const timeoutMs = 30_000
const maxAnswerBytes = 1024 * 1024

/** Statuses after which a retry may succeed. */
function isPassing(status: number): boolean {
  return status === 429 || status >= 500
}

export function openAuditWebhook(
  connection: WebhookConnection,
  options: {
    /** The version of the lists and their events: `audit.k8s.io/v1`. */
    apiVersion: string
    /** The most records of one list. */
    batchSize: number
    /** The wait before the first retry. */
    initialBackoffMs: number
    clock: Clock
  },
): AuditOutput {
  const { apiVersion, batchSize, initialBackoffMs, clock } = options
  const { url, token, ...tls } = connection
  const caller = createHttpsCaller({ clock, timeoutMs, maxBytes: maxAnswerBytes, ...tls })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const ending = new AbortController()

  const post = async (lines: readonly string[]): Promise<void> => {
    const items = lines.map((line) => line.trimEnd()).join(',')
    const body = `{"kind":"EventList","apiVersion":"${apiVersion}","metadata":{},"items":[${items}]}`
    const { status } = await caller.call({ url, method: 'POST', headers, body })
    if (status >= 200 && status < 300) return
    const error = new Error(`POST ${new URL(url).origin}: answered ${status}`)
    throw Object.assign(error, { isFinal: !isPassing(status) })
  }
  const deliver = async (lines: readonly string[]): Promise<void> => {
    const waits = createBackoff(
      { initialMs: initialBackoffMs, maxMs: 60_000, factor: 1.5, jitter: 0.2 },
      () => clock.random(),
    )
    for (let attempt = 1; ; attempt += 1) {
      try {
        await post(lines)
        return
      } catch (error) {
        const isFinal = (error as { isFinal?: boolean }).isFinal === true
        if (isFinal || attempt >= mostAttempts || ending.signal.aborted) throw error
        await clock.sleep(waits.next(), ending.signal).catch(() => {}) // when the server stops, try once more at once
      }
    }
  }
  return {
    write: async (lines) => {
      for (let at = 0; at < lines.length; at += batchSize) {
        await deliver(lines.slice(at, at + batchSize))
      }
    },
    hurry: () => ending.abort(new Error('the server ends')),
    close: async () => caller.close(),
  }
}
