/** Servers: API servers on the same etcd, each on a host of its own. One that ends is started again, as a supervisor would. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Socket } from 'node:net'
import { createPki, type Pki } from '../../certs/pki.ts'
import { writePki } from '../../certs/pki-files.ts'
import { readStatusLines } from '../../cluster/lines.ts'
import { apiServerNodeOptions } from '../../cluster/plan/plan-api-servers.ts'
import { allocatorSettings } from '../../cluster/plan/plan.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { TimeSetting } from '../../components/component-base/time-setting.ts'
import type { Host, Network } from './network.ts'

export const serverPort = 6443
/** How far a server's clock jumps. */
export const clockJumpMs = 3_600_000

export interface Server {
  readonly host: Host
  /** Names the process that runs now: `a1.3` is the third on its host. */
  readonly incarnation: string
}

interface Running {
  readonly host: Host
  count: number
  child: ChildProcess | undefined
  isReady: boolean
  /** SIGKILL is under way or done. */
  isKilled: boolean
  errors: string
}

export class Servers {
  /** Certificates begin so early that they are valid for servers whose clock is behind, too. */
  readonly issuedAtMs = Date.now() - 2 * clockJumpMs
  readonly pki: Pki
  /** What ended or failed though nobody killed it. */
  readonly faults: string[] = []
  readonly #options: {
    readonly program: string
    readonly folder: string
    readonly urls: readonly string[]
  }
  readonly #all = new Map<string, Running>()
  #isStopping = false

  constructor(options: {
    readonly network: Network
    readonly names: readonly string[]
    /** The built program. */
    readonly program: string
    readonly folder: string
    /** Of etcd. */
    readonly urls: readonly string[]
  }) {
    const { network, names } = options
    this.#options = options
    for (const name of names) {
      const host = network.addHost(name)
      const blank = { count: 0, child: undefined, isReady: false, isKilled: false, errors: '' }
      this.#all.set(name, { host, ...blank })
    }
    const ipAddresses = [...this.#all.values()].map(({ host }) => host.address)
    const { apiServerService: serviceName } = dialects.kubernetes
    this.pki = createPki({ apiServer: { serviceName, ipAddresses }, nowMs: this.issuedAtMs })
  }

  get names(): readonly string[] {
    return [...this.#all.keys()]
  }

  get(name: string): Server {
    const { host, count } = this.#running(name)
    return { host, incarnation: `${name}.${count}` }
  }

  /** Resolves when the first is ready, and then the others, one after the other. */
  async start(): Promise<void> {
    mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 })
    await writePki(this.#options.folder, this.pki)
    for (const name of this.names) await this.#run(name)
  }

  /** Starts a process; resolves when it is ready, or has ended before and another one has been started. */
  async #run(name: string): Promise<void> {
    const running = this.#running(name)
    const [program = '', ...words] = [
      ...running.host.enter,
      process.execPath,
      ...this.#words(running),
    ]
    const child = spawn(program, words, {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...allocatorSettings },
    })
    Object.assign(running, {
      child,
      count: running.count + 1,
      isReady: false,
      isKilled: false,
      errors: '',
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      running.errors = (running.errors + chunk.toString()).slice(-4000)
    })
    const ready = new Promise<void>((resolve) => {
      void readStatusLines(child.stdio[3] as Socket, (status) => {
        if (status['ready'] !== true) return
        running.isReady = true
        resolve()
      })
    })
    const ended = once(child, 'exit').then(([code]) => this.#ended(name, child, Number(code)))
    await Promise.race([ready, ended])
  }

  /** Without etcd a start fails after a while; once it is ready, a server must not end by itself. */
  #ended(name: string, child: ChildProcess, code: number): void {
    const running = this.#running(name)
    if (running.child !== child || running.isKilled || this.#isStopping) return
    if (running.isReady)
      this.faults.push(`${this.get(name).incarnation} ended with ${code}: ${running.errors}`)
    void this.#run(name)
  }

  /** Starts the server again if it was killed. */
  async ensure(name: string): Promise<void> {
    if (this.#running(name).isKilled) await this.#run(name)
  }

  async kill(name: string): Promise<void> {
    const running = this.#running(name)
    const { child } = running
    running.isKilled = true
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  signal(name: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#running(name).child?.kill(signal)
  }

  /** Lets the clock of the process that runs now jump to so far ahead of the others'; negative: behind. */
  setClock(name: string, skewMs: number): void {
    const nowMs = Date.now()
    const params: TimeSetting = { nowMs, atMs: nowMs, speed: 1, skewMs }
    const line = JSON.stringify({ command: 'time', id: 1, params })
    const channel = this.#running(name).child?.stdio[3] as Socket | undefined
    if (channel?.writable === true) channel.write(`${line}\n`)
  }

  /** What each has written to standard error since its start. */
  get errors(): readonly string[] {
    return [...this.#all.values()].flatMap(({ host, errors }) =>
      errors === '' ? [] : [`${host.name}: ${errors}`],
    )
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    for (const name of this.names) this.signal(name, 'SIGCONT')
    await Promise.all(this.names.map(async (name) => await this.kill(name)))
  }

  #words({ host }: Running): readonly string[] {
    const { folder, program, urls } = this.#options
    const file = (name: string): string => join(folder, name)
    return [
      ...[...apiServerNodeOptions, program],
      ...[`--bind-address=${host.address}`, `--advertise-address=${host.address}`],
      ...[`--secure-port=${serverPort}`, '--log-level=error', `--etcd-servers=${urls.join(',')}`],
      ...['--authorization-mode=Node,RBAC', `--client-ca-file=${file('ca.crt')}`],
      `--tls-cert-file=${file('apiserver.crt')}`,
      `--tls-private-key-file=${file('apiserver.key')}`,
      `--service-account-key-file=${file('sa.pub')}`,
      `--service-account-signing-key-file=${file('sa.key')}`,
    ]
  }

  #running(name: string): Running {
    const running = this.#all.get(name)
    if (running === undefined) throw new Error(`there is no API server ${name}`)
    return running
  }
}
