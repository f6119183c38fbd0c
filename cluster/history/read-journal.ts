/** read-journal: the requests that wrote objects of one kind, by the revisions that they made, from the journals of all API servers. */
import type { RequestRecord, RequestRecords } from '../../components/api/request-record.ts'
import type { Client } from '../../components/client/client.ts'
import type { RestClient } from '../../components/client/rest-client.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { apiServerClients, type ApiServerClients } from './api-server-clients.ts'

/** More than a server keeps. */
const mostRecords = 20_000

export interface Journal {
  /** By resourceVersion. */
  readonly byRevision: ReadonlyMap<string, RequestRecord>
  /** Why the journal, or a part of it, is missing. */
  readonly missing?: string
}

const whyMissing: Readonly<Record<number, string>> = {
  403: 'your user may not get /explain/requests',
  404: 'the API server keeps no request journal',
}

type Answer = { readonly items: readonly RequestRecord[] } | { readonly missing: string }

/** Only what the server itself refuses is no error: the history has field managers then. */
async function readOne(rest: Pick<RestClient, 'json'>, path: string): Promise<Answer> {
  try {
    return (await rest.json({ method: 'GET', path })) as RequestRecords
  } catch (error) {
    const missing = isStatusError(error) ? whyMissing[error.code] : undefined
    if (missing === undefined) throw error
    return { missing }
  }
}

async function readAll(servers: ApiServerClients['servers'], path: string): Promise<Answer[]> {
  return await Promise.all(
    servers.map(async (rest): Promise<Answer> => {
      try {
        return await readOne(rest, path)
      } catch (error) {
        if (servers.length === 1) throw error
        return { missing: `the API server at ${rest.server} did not answer: ${messageOf(error)}` }
      }
    }),
  )
}

/** The journals of all API servers. One of several that cannot be reached is named, and the others count. */
export async function readJournal(
  client: Client,
  { group, plural }: Resource,
  namespace: string,
): Promise<Journal> {
  const resource = group === '' ? plural : `${plural}.${group}`
  const query = new URLSearchParams({
    writes: 'true',
    limit: String(mostRecords),
    resource,
    namespace,
  })
  const path = `/explain/requests?${query.toString()}`
  const clients = await apiServerClients(client)
  const answers = await readAll(clients.servers, path).finally(clients.close)
  const records = answers.flatMap((answer) => ('items' in answer ? answer.items : []))
  const byRevision = records.flatMap((record) =>
    (record.revisions ?? [record.revision ?? '']).map((revision) => [revision, record] as const),
  )
  const missing = new Set(answers.flatMap((answer) => ('missing' in answer ? answer.missing : [])))
  return {
    byRevision: new Map(byRevision),
    ...(missing.size === 0 ? {} : { missing: [...missing].join('; ') }),
  }
}
