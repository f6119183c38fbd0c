/** A whole API server in this process: real listener, real certificates, its own store; gone without a trace when disposed. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPki, type Pki } from '../../certs/pki.ts'
import { apiGroup, dialects, type Dialect } from '../../components/api/dialect.ts'
import { runApiServer } from '../../components/api-server/start/api-server.ts'
import { apiServerFlags } from '../../components/api-server/configuration/options.ts'
import { systemClock, type Clock } from '../../components/component-base/clock.ts'
import { Commands } from '../../components/component-base/commands.ts'
import { commonFlags } from '../../components/component-base/component.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { createLog } from '../../components/component-base/log.ts'
import { openStore } from '../../components/store/open-store.ts'
import type { Store } from '../../components/store/store.ts'
import { createApiClient, type ApiClient, type Identity, type Reply } from './api-client.ts'
import { placeInEtcd } from './run-etcd.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './temporary-folder.ts'

export { admin, type Identity, type Reply, type TestWatch, type WatchEvent } from './api-client.ts'

export interface ApiServerSetup {
  /** Default `kubernetes`. */
  readonly dialect?: 'kubernetes' | 'svc'
  /** `sqlite` is a file that outlives a restart; default `memory`. */
  readonly store?: 'memory' | 'sqlite'
  /** Makes the store of each start in the place of `store`, which the server closes. */
  readonly openStore?: () => Store
  readonly clock?: Clock
  /** Told every line of the log of level info and above. */
  readonly onLog?: (line: string) => void
  /** More flags, as on the command line: `--anonymous-auth=false`. They win over the harness's own. */
  readonly flags?: readonly string[]
  /** Names of the harness's own flags that are left out. */
  readonly without?: readonly string[]
}

/** One line of the audit log, as far as tests look. */
export interface AuditRecord {
  readonly auditID: string
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string; readonly groups: readonly string[] }
  readonly objectRef?: Readonly<Record<string, string>>
  readonly responseStatus: { readonly code: number }
  readonly annotations: Readonly<Record<string, string>>
}

export interface TestApiServer extends ApiClient, AsyncDisposable {
  readonly dialect: Dialect
  readonly port: number
  readonly pki: Pki
  /** `group('rbac.authorization')` -> `rbac.authorization.k8s.io`, by the server's dialect. */
  group(stem: string): string
  /** Makes a namespace with its default service account, as a cluster's controllers would; the name is unique unless given. */
  namespace(name?: string): Promise<string>
  /** A 2xx answer's body; anything else is an error that shows the answer. */
  ok(
    method: string,
    path: string,
    ask?: Parameters<ApiClient['request']>[2],
  ): Promise<Reply['body']>
  /** Every audit record so far. */
  audit(): AuditRecord[]
  /** The audit record of an answered request. */
  auditOf(reply: Reply): Promise<AuditRecord>
  /** Log lines of level error: bugs of the server. */
  readonly faults: readonly string[]
  /** Stops the server as TERM would and starts it again on the same store (`memory` is empty then). */
  restart(setup?: Pick<ApiServerSetup, 'flags' | 'clock'>): Promise<void>
  /** The same, with the store of a stopped server (`sqlite` only) in the hands of the test before the next start. */
  restartWith(change: (store: Store) => Promise<void>, flags?: readonly string[]): Promise<void>
  /** Calls a command of the server, as the supervisor does. */
  command(name: string, params?: unknown): Promise<unknown>
  /** What TERM does; the promise settles when the server has stopped. Clients stay connected as long as it lets them. */
  terminate(): Promise<void>
  /** Cuts all clients off and stops the server. */
  stop(): Promise<void>
}

let sharedPki: Pki | undefined

function writeFiles(folder: string, pki: Pki): string[] {
  const { apiserver } = pki.credentials
  const files = {
    'ca.crt': pki.authority.certificatePem,
    'apiserver.crt': apiserver.certificatePem,
    'apiserver.key': apiserver.privateKeyPem,
    'sa.key': pki.serviceAccountKey.privateKeyPem,
    'sa.pub': pki.serviceAccountKey.publicKeyPem,
  }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text, { mode: 0o600 })
  }
  return [
    `--client-ca-file=${join(folder, 'ca.crt')}`,
    `--tls-cert-file=${join(folder, 'apiserver.crt')}`,
    `--tls-private-key-file=${join(folder, 'apiserver.key')}`,
    `--service-account-key-file=${join(folder, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'sa.key')}`,
  ]
}

/** Where the run has an etcd, that takes any store's place; but its answers take real time, whatever a test's clock says. */
function storeFlags({ store = 'memory', clock }: ApiServerSetup, folder: string): string[] {
  const place = clock === undefined ? placeInEtcd() : undefined
  if (place !== undefined) return [`--store=etcd:${place.url}`, `--etcd-prefix=${place.prefix}`]
  return [`--store=${store === 'sqlite' ? `sqlite:${join(folder, 'state.db')}` : 'memory:'}`]
}

interface Running {
  readonly port: number
  readonly done: Promise<void>
  readonly commands: Commands
  stop(): void
}

async function launch(
  args: readonly string[],
  more: {
    clock: Clock
    faults: string[]
    onLog?: ApiServerSetup['onLog'] | undefined
    store?: Store | undefined
  },
): Promise<Running> {
  const { clock, faults, onLog } = more
  const write = (line: string): void => {
    onLog?.(line)
    if (onLog === undefined || line.includes('"level":"error"')) faults.push(line)
  }
  const stopping = new AbortController()
  const { promise: isReady, resolve: nowReady } = Promise.withResolvers<number>()
  const commands = new Commands()
  const context = {
    commands,
    options: parseFlags({ ...apiServerFlags, ...commonFlags }, args),
    signal: stopping.signal,
    clock,
    log: createLog({ clock, level: onLog === undefined ? 'error' : 'info', write }),
    ready: (info?: Readonly<Record<string, unknown>>) => nowReady(Number(info?.['port'])),
  }
  const given = more.store === undefined ? undefined : { store: more.store, isProven: false }
  const done = runApiServer(context, given)
  const port = await Promise.race([isReady, done.then(() => 0)])
  if (port === 0) throw new Error('the API server ended before it was ready')
  return { port, done, commands, stop: () => stopping.abort(new Error('stopped by a test')) }
}

function readAudit(path: string): AuditRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  lines.pop()
  return lines.map((line) => JSON.parse(line) as AuditRecord)
}

/** Starts a server; `await using` it, or dispose of it in afterAll. Rejects when it does not start. */
export async function startApiServer(setup: ApiServerSetup = {}): Promise<TestApiServer> {
  const dialect = dialects[setup.dialect ?? 'kubernetes']
  // Made once per test process, by the real clock: TLS compares it with real time.
  sharedPki ??= createPki({ apiServer: { serviceName: 'kubernetes' }, nowMs: Date.now() })
  const pki = sharedPki
  const folder = temporaryFolder('api-server-test')
  const auditPath = join(folder, 'audit.log')
  const args = [
    '--secure-port=0',
    `--dialect=${dialect.name}`,
    '--authorization-mode=Node,RBAC',
    // Nothing changes in the store that a test has not asked for.
    '--feature-gates=APIServerIdentity=false',
    `--audit-log-path=${auditPath}`,
    ...storeFlags(setup, folder),
    ...writeFiles(folder, pki),
  ].filter((flag) => !setup.without?.some((name) => flag.startsWith(`--${name}=`)))
  const faults: string[] = []
  let running = await launch([...args, ...(setup.flags ?? [])], {
    clock: setup.clock ?? systemClock,
    faults,
    onLog: setup.onLog,
    store: setup.openStore?.(),
  })
  const client = createApiClient({ pki, port: () => running.port })
  let namespaces = 0

  const start = async (changed: Pick<ApiServerSetup, 'flags' | 'clock'> = {}): Promise<void> => {
    running = await launch([...args, ...(changed.flags ?? setup.flags ?? [])], {
      clock: changed.clock ?? setup.clock ?? systemClock,
      faults,
      onLog: setup.onLog,
      store: setup.openStore?.(),
    })
  }
  const ok: TestApiServer['ok'] = async (method, path, ask) => {
    const reply = await client.request(method, path, ask)
    if (reply.status >= 200 && reply.status < 300) return reply.body as unknown
    throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
  }
  const stop = async (): Promise<void> => {
    client.close()
    running.stop()
    await running.done
  }
  return {
    ...client,
    dialect,
    pki,
    faults,
    ok,
    command: (name, params) => running.commands.call(name, params),
    terminate: async () => {
      running.stop()
      await running.done
    },
    stop,
    get port() {
      return running.port
    },
    group: (stem) => apiGroup(dialect, stem),
    namespace: async (name) => {
      namespaces += 1
      const given = name ?? `test-${namespaces}`
      await ok('POST', '/api/v1/namespaces', { body: { metadata: { name: given } } })
      const accounts = `/api/v1/namespaces/${given}/serviceaccounts`
      await ok('POST', accounts, { body: { metadata: { name: 'default' } } })
      return given
    },
    audit: () => readAudit(auditPath),
    auditOf: (reply) =>
      eventually(() => {
        const found = readAudit(auditPath).find(
          ({ auditID }) => auditID === reply.headers['audit-id'],
        )
        if (found === undefined)
          throw new Error(`no audit record ${String(reply.headers['audit-id'])}`)
        return found
      }),
    restart: async (changed) => {
      await stop()
      await start(changed)
    },
    restartWith: async (change, flags) => {
      await stop()
      const store = await openStore(`sqlite:${join(folder, 'state.db')}`)
      await change(store)
      await store.close()
      await start(flags === undefined ? {} : { flags })
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await stop()
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
  }
}

/** A user whose certificate the server takes, in no group but `system:authenticated`. */
export function user(name: string, ...groups: string[]): Identity {
  return { user: name, groups }
}
