/** Fills the channel of requests from the request journals of all API servers, with the viewer's identity. */
import { apiServerClient, findApiServers } from '../../../cluster/history/api-server-clients.ts'
import type { RequestRecord } from '../../../components/api/request-record.ts'
import type { Client } from '../../../components/client/client.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import type { RequestRow } from '../../protocol/live.ts'
import { followJournal, type FollowJournal } from './follow-journal.ts'
import type { JournalStates } from './journal-states.ts'
import type { LiveTable } from './table.ts'

/** How soon a server that was added is seen. */
const lookMs = 5000

interface RequestsSource {
  readonly client: Client
  readonly table: LiveTable<RequestRow>
  readonly states: JournalStates
}

/** Of all API servers; undefined while none can be asked. */
async function lookUp(
  client: Client,
): Promise<Awaited<ReturnType<typeof findApiServers>> | undefined> {
  try {
    return await findApiServers(client)
  } catch (error) {
    if (isStatusError(error) || error instanceof ConnectionError) return undefined
    throw error
  }
}

interface RunningJournal {
  readonly ended: AbortController
  isRead: boolean
}

/** The journals that are read; each until its own signal aborts. */
class Journals {
  readonly #source: RequestsSource
  readonly #running = new Map<string, RunningJournal>()
  #mayLook = true
  /** The last position of each journal; a server that comes back has its journal, unless it was restarted. */
  readonly #newest = new Map<string, number>()
  readonly #failed = Promise.withResolvers<never>()
  /** As positions of a journal: it goes on growing when the source begins again. */
  #seq: number

  constructor(source: RequestsSource) {
    this.#source = source
    this.#seq = source.client.clock.now() * 1000
    this.#failed.promise.catch(() => {})
  }

  /** Rejects with the first journal that the viewer may not read. */
  get failed(): Promise<never> {
    return this.#failed.promise
  }

  get servers(): readonly string[] {
    return [...this.#running.keys()]
  }

  /** Whether the viewer sees which servers there are. */
  set mayLook(mayLook: boolean) {
    this.#mayLook = mayLook
    for (const [server, { isRead }] of this.#running) if (isRead) this.#noteRead(server)
  }

  #noteRead(server: string): void {
    const { states, client } = this.#source
    states.note({ server, state: this.#mayLook ? 'read' : 'alone' }, client.clock.now())
  }

  /** `connect` undefined: by the client itself, which reaches the only server. */
  follow(server: string, connect?: FollowJournal['connect']): void {
    const { client, table, states } = this.#source
    const { clock } = client
    const ended = new AbortController()
    const mine: RunningJournal = { ended, isRead: false }
    this.#running.set(server, mine)
    const onRecord = (record: RequestRecord): void => {
      this.#seq += 1
      this.#newest.set(server, record.seq)
      table.set({ ...record, seq: this.#seq, ...(connect === undefined ? {} : { server }) })
    }
    const own = (): ReturnType<FollowJournal['connect']> =>
      Promise.resolve({ rest: client.rest, close: () => {} })
    followJournal(
      {
        clock,
        since: this.#newest.get(server) ?? 0,
        connect: connect ?? own,
        onRecord,
        onRead: () => {
          mine.isRead = true
          if (!ended.signal.aborted) this.#noteRead(server)
        },
        onMissing: (why) => {
          mine.isRead = false
          if (!ended.signal.aborted) states.note({ server, state: 'missing', why }, clock.now())
        },
      },
      ended.signal,
    ).catch(this.#failed.reject)
  }

  /** The server has left the cluster. What was read of it stays. */
  leave(server: string): void {
    const { client, states } = this.#source
    this.#running.get(server)?.ended.abort()
    this.#running.delete(server)
    states.note({ server, state: 'gone' }, client.clock.now())
  }

  close(): void {
    for (const { ended } of this.#running.values()) ended.abort()
    this.#running.clear()
    this.#newest.clear()
    this.#source.states.clear()
  }
}

/** Follows those that are new, and leaves those that are gone. */
function adjust(journals: Journals, addresses: readonly string[], client: Client): void {
  const known = new Set(journals.servers)
  for (const server of known) if (!addresses.includes(server)) journals.leave(server)
  for (const server of addresses) {
    if (known.has(server)) continue
    journals.follow(server, async () => {
      const rest = await apiServerClient(client, server)
      return { rest, close: rest.close }
    })
  }
}

/** Until several API servers are seen, the client's own journal is that of the only one. */
async function followAll(
  { client, table }: RequestsSource,
  journals: Journals,
  signal: AbortSignal,
): Promise<void> {
  let several = false
  while (!signal.aborted) {
    const found = await lookUp(client)
    const addresses = found?.addresses
    if (found !== undefined) journals.mayLook = found.mayList
    if (addresses !== undefined && addresses.length > 1 && !several) {
      several = true
      journals.close()
      table.replace([])
    }
    if (several && addresses !== undefined && addresses.length > 0)
      adjust(journals, addresses, client)
    else if (!several && journals.servers.length === 0) journals.follow(client.rest.server)
    await client.clock.sleep(lookMs, signal).catch(() => {})
  }
}

/** Rejects when the viewer may not read the journals, or a server has none. */
export async function followRequests(source: RequestsSource, signal: AbortSignal): Promise<void> {
  const journals = new Journals(source)
  source.table.replace([])
  const ended = new AbortController()
  try {
    await Promise.race([
      followAll(source, journals, AbortSignal.any([signal, ended.signal])),
      journals.failed,
    ])
  } finally {
    ended.abort()
    journals.close()
  }
}
