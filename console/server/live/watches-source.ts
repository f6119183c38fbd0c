/** Fills the channel of open watches: asks every API server once a second while a page looks. */
import {
  apiServerClients,
  type ApiServerClients,
} from '../../../cluster/history/api-server-clients.ts'
import type { OpenWatch, OpenWatches } from '../../../components/api/request-record.ts'
import type { Client } from '../../../components/client/client.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import type { LiveTable } from './table.ts'

const everyMs = 1000
/** Questions until the servers are looked up again. */
const mostRounds = 5

/** Throws what asking again does not change. */
function passing(error: unknown): void {
  if (isStatusError(error) && error.code < 500 && error.code !== 429) throw error
  if (!isStatusError(error) && !(error instanceof ConnectionError)) throw error
}

/** The watches of each server that answers; undefined when none does. */
async function readAll(
  { servers }: ApiServerClients,
  signal: AbortSignal,
): Promise<OpenWatch[] | undefined> {
  const answers = await Promise.allSettled(
    servers.map(async (rest) => {
      const answer = await rest.json({ method: 'GET', path: '/explain/watches', signal })
      const { items } = answer as OpenWatches
      return servers.length === 1
        ? items
        : items.map((watch) => ({ ...watch, id: `${rest.server} ${watch.id}` }))
    }),
  )
  for (const answer of answers) if (answer.status === 'rejected') passing(answer.reason)
  const read = answers.filter((answer) => answer.status === 'fulfilled')
  return read.length === 0 ? undefined : read.flatMap(({ value }) => value)
}

/** Rejects when the viewer may not read them, or the server does not tell. */
export async function followWatches(
  client: Client,
  table: LiveTable<OpenWatch>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const clients = await apiServerClients(client)
      try {
        for (let round = 0; round < mostRounds && !signal.aborted; round += 1) {
          const watches = await readAll(clients, signal)
          if (watches === undefined) break
          table.replace(watches)
          await client.clock.sleep(everyMs, signal)
        }
      } finally {
        clients.close()
      }
    } catch (error) {
      passing(error)
      await client.clock.sleep(everyMs, signal)
    }
  }
}
