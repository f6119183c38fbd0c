/** sendSaved: the cluster as a file for `skiff up --from`, with the viewer's rights. */
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { readClusterConfig } from '../../../cluster/plan/cluster-config.ts'
import { readRunning } from '../../../cluster/saved/read-running.ts'
import { statePaths } from '../../../cluster/state/state-dir.ts'
import type { Client } from '../../../components/client/client.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { savedRevisionHeader } from '../../protocol/lab.ts'

interface SaveRequest {
  readonly client: Client
  readonly name: string
  readonly stateRoot: string
  readonly query: URLSearchParams
}

/** A page that leaves ends it. Rejects before the answer begins; after that, an answer that is cut off says that it failed. */
export async function sendSaved(
  { client, name, stateRoot, query }: SaveRequest,
  response: ServerResponse,
): Promise<void> {
  const left = new AbortController()
  response.on('close', () => left.abort(new Error('the page has gone')))
  const config = readClusterConfig(statePaths(stateRoot, name))
  if (config === undefined) throw new StatusError('NotFound', `there is no cluster "${name}"`)
  const { revision, lines } = await readRunning(client, {
    form: query.get('secrets') === 'false' ? 'without-secrets' : 'whole',
    nodes: config.nodes,
    flags: config.extraFlags,
    signal: left.signal,
  })
  response.writeHead(200, {
    'content-type': 'application/gzip',
    [savedRevisionHeader]: String(revision),
  })
  await pipeline(lines, createGzip(), response).catch(() => response.destroy())
}
