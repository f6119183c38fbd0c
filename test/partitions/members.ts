/** Members: an etcd cluster of three, each on a host of its own. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import type { Host, Network } from './network.ts'

export const etcdProgram = '/usr/bin/etcd'
const exec = promisify(execFile)

interface MemberStatus {
  readonly name: string
  readonly isLeader: boolean
  readonly term: number
  readonly id: string
}

export class Members {
  readonly hosts: readonly Host[]
  readonly #folder: string
  readonly #children = new Map<string, ChildProcess>()

  constructor(network: Network, folder: string) {
    this.hosts = ['m1', 'm2', 'm3'].map((name) => network.addHost(name))
    this.#folder = folder
  }

  get names(): readonly string[] {
    return this.hosts.map(({ name }) => name)
  }

  get urls(): readonly string[] {
    return this.hosts.map(({ address }) => `http://${address}:2379`)
  }

  /** Resolves when the cluster commits. */
  async start(): Promise<void> {
    for (const name of this.names) this.#run(name)
    await eventually(async () => await this.ctl(['put', '/begin', '']))
  }

  /** With what it has stored. */
  #run(name: string): void {
    const host = this.#host(name)
    const folder = join(this.#folder, name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const client = `http://${host.address}:2379`
    const peer = `http://${host.address}:2380`
    const all = this.hosts.map((one) => `${one.name}=http://${one.address}:2380`).join(',')
    const [program = '', ...words] = [
      ...[...host.enter, etcdProgram, `--name=${name}`, `--data-dir=${folder}`],
      ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
      ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
      ...[`--initial-cluster=${all}`, '--logger=zap', '--log-level=fatal'],
    ]
    this.#children.set(name, spawn(program, words, { stdio: 'ignore' }))
  }

  /** Starts the member if it does not run. */
  ensure(name: string): void {
    const child = this.#children.get(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) this.#run(name)
  }

  async kill(name: string): Promise<void> {
    const child = this.#children.get(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  signal(name: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#children.get(name)?.kill(signal)
  }

  /** etcdctl on the members of those names, all by default, for two seconds at most. */
  async ctl(words: readonly string[], names = this.names): Promise<string> {
    const urls = names.map((name) => `http://${this.#host(name).address}:2379`)
    const limits = ['--dial-timeout=1s', '--command-timeout=2s']
    const { stdout } = await exec(
      'etcdctl',
      [`--endpoints=${urls.join(',')}`, ...limits, ...words],
      { env: { ...process.env, ETCDCTL_API: '3' } },
    )
    return stdout
  }

  /** Of those that answer. */
  async status(): Promise<readonly MemberStatus[]> {
    const answers = await Promise.allSettled(
      this.names.map(async (name) => {
        const text = await this.ctl(['endpoint', 'status', '-w', 'json'], [name])
        return { name, ...statusIn(text) }
      }),
    )
    return answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }

  /** The hash of all keys up to a revision, from each member. */
  async hashes(revision: number): Promise<readonly number[]> {
    const words = ['endpoint', 'hashkv', `--rev=${revision}`, '-w', 'json']
    const parsed = JSON.parse(await this.ctl(words)) as { HashKV: { hash: number } }[]
    return parsed.map(({ HashKV }) => HashKV.hash)
  }

  async stop(): Promise<void> {
    for (const name of this.names) this.signal(name, 'SIGCONT')
    await Promise.all(this.names.map(async (name) => await this.kill(name)))
  }

  #host(name: string): Host {
    const host = this.hosts.find((one) => one.name === name)
    if (host === undefined) throw new Error(`there is no member ${name}`)
    return host
  }
}

/** Identities have 64 bits: they are compared as text. */
function statusIn(text: string): Omit<MemberStatus, 'name'> {
  const number = (field: string): string => new RegExp(`"${field}":(\\d+)`).exec(text)?.[1] ?? ''
  const id = number('member_id')
  return { id, isLeader: number('leader') === id, term: Number(number('raft_term')) }
}
