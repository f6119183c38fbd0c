/** Members: an etcd cluster of three, each on a host of its own. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../support/eventually.ts'
import { disturbFlushes, type Flush } from './disk.ts'
import type { Host, Network } from './network.ts'

export const etcdProgram = '/usr/bin/etcd'
const exec = promisify(execFile)
/** Others may be away until their faults end. */
const replacedMs = 60_000
/** A member that has just been started answers by then. */
const awaitedMs = 30_000

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
  /** The one that has lost its disk and is no member again yet. */
  #lost: string | undefined
  /** Names whose member has replaced one. */
  readonly #joined = new Set<string>()
  /** How many members have been replaced. */
  replacements = 0

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

  /** With what it has stored. One that has stored nothing yet begins a cluster with the others, or joins them where it replaces one. */
  #run(name: string): void {
    const host = this.#host(name)
    const folder = this.#folderOf(name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const client = `http://${host.address}:2379`
    const peer = this.#peerUrl(name)
    const all = this.names.map((one) => `${one}=${this.#peerUrl(one)}`).join(',')
    const state = this.#joined.has(name) ? 'existing' : 'new'
    const [program = '', ...words] = [
      ...[...host.enter, etcdProgram, `--name=${name}`, `--data-dir=${folder}`],
      ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
      ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
      ...[`--initial-cluster=${all}`, `--initial-cluster-state=${state}`],
      ...['--logger=zap', '--log-level=fatal'],
    ]
    this.#children.set(name, spawn(program, words, { stdio: 'ignore' }))
  }

  #running(name: string): ChildProcess | undefined {
    const child = this.#children.get(name)
    return child?.exitCode === null && child.signalCode === null ? child : undefined
  }

  /** Starts the member if it does not run and has a disk. */
  ensure(name: string): void {
    if (this.#running(name) === undefined && this.#lost !== name) this.#run(name)
  }

  async kill(name: string): Promise<void> {
    const child = this.#running(name)
    if (child === undefined) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** What the member's flushes meet, until the returned function is called; then it runs. */
  async disturbDisk(name: string, flush: Flush): Promise<() => Promise<void>> {
    const pid = this.#running(name)?.pid
    const undisturb = pid === undefined ? undefined : await disturbFlushes(pid, flush)
    return async () => {
      await undisturb?.()
      this.ensure(name)
    }
  }

  /**
   * Kills the member and takes its disk away, until the returned function is called. That replaces it, as an administrator would: the
   * old member is removed, and a new one with nothing stored is added in its place. Nothing happens while another is being replaced, or
   * one does not answer for a while: a removal takes the consent of two others.
   */
  async loseDisk(name: string): Promise<() => Promise<void>> {
    const ids = async (): Promise<readonly (string | undefined)[]> =>
      await this.#idsOf(name, this.names)
    const [old] = await eventually(ids, awaitedMs).catch(() => [])
    if (old === undefined || this.#lost !== undefined) return async () => {}
    this.#lost = name
    await this.kill(name)
    rmSync(this.#folderOf(name), { recursive: true })
    return async () => {
      // Whatever became of an attempt shows in the next one.
      await eventually(async () => await this.#replace(name, old), replacedMs)
      this.#joined.add(name)
      this.#run(name)
      this.#lost = undefined
      this.replacements += 1
    }
  }

  async #replace(name: string, old: string): Promise<void> {
    const others = this.names.filter((one) => one !== name)
    const [id, ...rest] = await this.#idsOf(name, others)
    if (id === old) await this.ctl(['member', 'remove', old], others)
    if (id === undefined)
      await this.ctl(['member', 'add', name, `--peer-urls=${this.#peerUrl(name)}`], others)
    // A member that has not heard of the new one would turn it away.
    if (id === undefined || id === old || rest.some((one) => one !== id))
      throw new Error(`${name} is not replaced`)
  }

  /** Its identity, as each of some members knows it; undefined where it is no member. */
  async #idsOf(
    name: string,
    witnesses: readonly string[],
  ): Promise<readonly (string | undefined)[]> {
    const lists = witnesses.map(async (one) => await this.ctl(['member', 'list'], [one]))
    return (await Promise.all(lists)).map((list) => {
      const line = list.split('\n').find((one) => one.includes(this.#peerUrl(name)))
      return line?.split(',')[0]
    })
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

  #folderOf(name: string): string {
    return join(this.#folder, name)
  }

  #peerUrl(name: string): string {
    return `http://${this.#host(name).address}:2380`
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
