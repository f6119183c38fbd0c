/** An API server as a process of its own, on a store that outlives it: for tests that kill it without warning. */
import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createPki } from '../../certs/pki.ts'
import { writePki } from '../../certs/pki-files.ts'
import { allocatorSettings } from '../../cluster/plan/plan.ts'
import { apiServerNodeOptions } from '../../cluster/plan/plan-api-servers.ts'
import { dialects, type Dialect } from '../../components/api/dialect.ts'
import { createApiClient, type ApiClient } from './api-client.ts'
import { temporaryFolder } from './temporary-folder.ts'
import type { Readable } from 'node:stream'
import { readStatusLines } from '../../cluster/lines.ts'

export interface ChildApiServer extends ApiClient, AsyncDisposable {
  readonly dialect: Dialect
  readonly port: number
  readonly pid: number
  readonly authorityPem: string
  /** SIGKILL, and a new process on the same store; resolves when that one is ready. */
  kill(): Promise<void>
  /** Processor time that the process has taken so far, in milliseconds; exact to 10. */
  processorMs(): number
  /** Resident memory in MB. */
  residentMb(): number
  /** Size in MB of the store's file and of the log beside it. */
  storedMb(): number
  /** The last of what it wrote to standard error. */
  readonly errors: string
}

/** Linux counts in hundredths of a second, for programs of any kind (proc(5)). */
function processorMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(')'))
    .split(' ')
    .slice(12, 14)
    .map(Number)
  return (user + system) * 10
}

const program = join(import.meta.dirname, '../../components/api-server/main.ts')

/** Starts one; it writes to a temporary folder that goes when it is disposed of. */
export async function startChildApiServer(
  options: {
    dialect?: 'kubernetes' | 'svc'
    flags?: readonly string[]
    /** Flags that name its store; default: a file in its folder. */
    store?: readonly string[]
    /** Words put before the command; they must become the server themselves. */
    wrapper?: readonly string[]
    environment?: Readonly<Record<string, string>>
  } = {},
): Promise<ChildApiServer> {
  const dialect = dialects[options.dialect ?? 'kubernetes']
  const pki = createPki({
    apiServer: { serviceName: dialect.apiServerService },
    nowMs: Date.now(),
  })
  const folder = temporaryFolder('child-api-server')
  await writePki(folder, pki)
  const file = (name: string): string => join(folder, name)
  const args = [
    ...apiServerNodeOptions,
    program,
    '--secure-port=0',
    '--log-level=error',
    `--dialect=${dialect.name}`,
    '--authorization-mode=Node,RBAC',
    ...(options.store ?? [`--store=sqlite:${file('state.db')}`]),
    `--client-ca-file=${file('ca.crt')}`,
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--service-account-key-file=${file('sa.pub')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
    ...(options.flags ?? []),
  ]
  let child: ChildProcess
  let port = 0
  let errors = ''

  const start = async (): Promise<void> => {
    const [file = '', ...rest] = [...(options.wrapper ?? []), process.execPath, ...args]
    child = spawn(file, rest, {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...allocatorSettings, ...options.environment },
    })
    child.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-8000)))
    port = await new Promise<number>((resolve, reject) => {
      void readStatusLines(child.stdio[3] as Readable, (status) => {
        if (status['ready'] === true) resolve(Number(status['port']))
      })
      child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${errors}`)))
    })
  }
  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await exited
  }
  await start()
  const client = createApiClient({ pki, port: () => port })
  return {
    ...client,
    dialect,
    authorityPem: pki.authority.certificatePem,
    get port() {
      return port
    },
    get pid() {
      return child.pid ?? 0
    },
    get errors() {
      return errors
    },
    kill: async () => {
      await end('SIGKILL')
      await start()
    },
    processorMs: () => processorMsOf(child.pid ?? 0),
    residentMb: () => {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024
    },
    storedMb: () => {
      const sizes = ['state.db', 'state.db-wal'].map((name) => statSync(file(name)).size)
      return sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20
    },
    [Symbol.asyncDispose]: async () => {
      client.close()
      await end('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
