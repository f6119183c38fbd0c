/** Etcd: the process that envtest starts as etcd. It is cheap, since the API server has a store of its own. */
import { mkdir } from 'node:fs/promises'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { resolve } from 'node:path'
import { aborted } from '../components/component-base/aborted.ts'
import { StartError } from '../components/component-base/component.ts'
import type { ComponentContext } from '../components/component-base/component.ts'
import { createServer } from '../components/component-base/node-http.ts'
import { healthBody } from './etcd-health.ts'
import type { DataPlace } from './etcd-health.ts'
import { idleEtcdFlags } from './etcd-flags.ts'
import type { etcdFlags } from './etcd-flags.ts'
import { removeFrameworkFolder } from './framework-folder.ts'
import { reportIdleFlags } from './idle-flags.ts'
import { endWithParent } from './parent.ts'

interface Address {
  readonly host: string
  readonly port: number
}

function addressOf(text: string): Address {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:') {
    throw new StartError(
      `invalid value "${text}" for --listen-client-urls: must be http://HOST:PORT`,
    )
  }
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 80) }
}

function answer(
  place: DataPlace,
  { method, url }: IncomingMessage,
  response: ServerResponse,
): void {
  const isHealth = url?.split('?')[0] === '/health' && (method === 'GET' || method === 'HEAD')
  const status = isHealth ? 200 : 501
  const type = isHealth ? 'application/json' : 'text/plain; charset=utf-8'
  response.writeHead(status, { 'content-type': type })
  response.end(
    isHealth
      ? healthBody(place)
      : 'This etcd serves /health alone: the API server beside it keeps its data in a store of its own.\n',
  )
}

async function listen(address: Address, place: DataPlace): Promise<Server> {
  const server = createServer((request, response) => answer(place, request, response))
  await new Promise<void>((done, reject) => {
    server.once('error', reject).listen(address, done)
  })
  return server
}

/** Serves until `signal` aborts or the parent is gone. */
export async function runEtcd(context: ComponentContext<typeof etcdFlags>): Promise<void> {
  const { options, log, ready } = context
  const addresses = options['listen-client-urls'].map(addressOf)
  reportIdleFlags(idleEtcdFlags, options, log)
  const dataDir = resolve(options['data-dir'])
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const place = { dataDir, isSynced: !options['unsafe-no-fsync'] }
  const ending = endWithParent(context)
  const servers: Server[] = []
  try {
    for (const address of addresses) servers.push(await listen(address, place))
    ready(place)
    await aborted(ending.signal)
  } finally {
    for (const server of servers) server.close().closeAllConnections()
    if (ending.isOrphaned()) await removeFrameworkFolder(dataDir)
  }
}
