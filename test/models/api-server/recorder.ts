/** Writes down every request of a story: what was asked, what was answered, and what had been answered to anybody before. */
import type { Identity, Reply } from '../../support/api-client.ts'
import { revisionOf, type History, type Shown } from './history.ts'
import type { Request } from './steps.ts'
import type { Subject } from './subject.ts'

export interface Recorded {
  readonly request: Request
  readonly method: string
  readonly path: string
  /** Written into the object by the request; '' for those that write none. */
  readonly id: string
  /** The state the client believed in when it made a demand. */
  readonly known: Shown | undefined
  /** How many requests had been answered when this one was sent. */
  readonly acksBefore: number
  /** How many requests had been sent when this one was answered. */
  startsAtEnd: number
  killsAtEnd: number
  endedAtMs: number
  /** Undefined when the connection broke: nobody knows what became of it. */
  reply: Reply | undefined
}

export interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly as: Identity
  readonly id?: string
  readonly known?: Shown | undefined
}

export class Recorder {
  readonly records: Recorded[] = []
  readonly #acked: Recorded[] = []
  readonly #subject: Subject
  /** How often the server was killed so far, counted when the kill begins. */
  kills = 0
  /** After each kill, a revision that the new server had reached by then. */
  readonly floors: number[] = []

  constructor(subject: Subject) {
    this.#subject = subject
  }

  /** Where a read that begins now stands in the order of answers. */
  get acks(): number {
    return this.#acked.length
  }

  get starts(): number {
    return this.records.length
  }

  async send(request: Request, sent: Sent): Promise<Recorded> {
    const record: Recorded = {
      request,
      method: sent.method,
      path: sent.path,
      id: sent.id ?? '',
      known: sent.known,
      acksBefore: this.#acked.length,
      startsAtEnd: Infinity,
      killsAtEnd: Infinity,
      endedAtMs: Infinity,
      reply: undefined,
    }
    this.records.push(record)
    try {
      const { body, headers, as } = sent
      const reply = await this.#subject.request(sent.method, sent.path, {
        as,
        body,
        ...(headers === undefined ? {} : { headers }),
      })
      // A stream that was cut off has no status, or not all of its body.
      if (reply.status !== 0 && typeof reply.body === 'object') record.reply = reply
    } catch {
      // The connection is gone: the outcome is unknown, as in life.
    }
    record.startsAtEnd = this.records.length
    record.killsAtEnd = this.kills
    record.endedAtMs = this.#subject.nowMs()
    if (record.reply !== undefined) this.#acked.push(record)
    return record
  }

  /** The newest revision that any answer told of. */
  newestTold(): number {
    const told = this.#acked.map(({ reply }) =>
      reply !== undefined && reply.status < 300 && reply.body.kind !== 'Status'
        ? revisionOf(reply.body as Shown)
        : 0,
    )
    return Math.max(0, ...told)
  }

  /** Objects whose deletion was acknowledged. */
  deletedUids(): Set<string> {
    const uids = new Set<string>()
    for (const { reply } of this.#acked) {
      if (reply?.status === 200 && reply.body.kind === 'Status') uids.add(reply.body.details.uid)
    }
    return uids
  }

  /** The newest revision that anybody had been told of before the request was sent. */
  low(record: Pick<Recorded, 'acksBefore'>, history: History): number {
    let low = 0
    for (const acked of this.#acked.slice(0, record.acksBefore)) {
      low = Math.max(low, revisionTold(acked, history) ?? 0)
    }
    return low
  }

  /** The newest revision that requests sent before this one's answer can have made. */
  high(record: Pick<Recorded, 'startsAtEnd'>, history: History): number {
    let high = 0
    for (const sent of this.records.slice(0, record.startsAtEnd)) {
      if (sent.reply === undefined || sent.request.kind === 'deletecollection') return Infinity
      high = Math.max(high, revisionTold(sent, history) ?? 0)
    }
    return high
  }

  window(record: Recorded, history: History): { low: number; high: number } {
    return { low: this.low(record, history), high: this.high(record, history) }
  }

  /** True when the server may have forgotten a revision, known since `sinceMs`, when it gave that answer. */
  mayBeGone(
    at: { revision: number; sinceMs: number },
    record: Pick<Recorded, 'killsAtEnd' | 'endedAtMs'>,
  ): boolean {
    const floors = this.floors.slice(0, record.killsAtEnd)
    return floors.some((floor) => at.revision < floor) || record.endedAtMs - at.sinceMs >= historyMs
  }
}

/** The specification's five minutes. */
const historyMs = 5 * 60_000

/** The revision an answer tells of; a deletion that is answered with a Status is looked up. */
export function revisionTold(record: Recorded, history: History): number | undefined {
  const { reply } = record
  if (reply === undefined || reply.status >= 300) return undefined
  if (reply.body.kind !== 'Status') return revisionOf(reply.body as Shown)
  const found = deletionOf(reply.body.details.uid as string, history)
  return found === undefined || history.isInGap(found) ? undefined : found
}

/** The revision at which the object with that uid went. */
export function deletionOf(uid: string, history: History): number | undefined {
  let name: string | undefined
  for (const { revision, name: changed, object } of history.commits) {
    if (object?.metadata.uid === uid) name = changed
    else if (name !== undefined && changed === name) return revision
  }
  return undefined
}
