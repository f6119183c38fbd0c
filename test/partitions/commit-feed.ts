/** CommitFeed: what etcd itself says was committed, as etcdctl follows it from the first revision on. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { readLines } from '../../cluster/lines.ts'
import { eventually } from '../support/eventually.ts'
import type { Commit } from '../histories/commits.ts'

interface WatchLine {
  readonly Events?:
    | readonly {
        readonly type?: number | string
        readonly kv: {
          readonly key: string
          readonly value?: string
          readonly mod_revision: number
        }
      }[]
    | null
  /** Not 0: what follows the last event is gone. */
  readonly CompactRevision?: number
}

/** What clients write into an object, once, and nothing else contains. */
const valuePattern = /value-\d+-\d+-end/

export class CommitFeed {
  readonly #commits: Commit[] = []
  readonly #keyPattern: RegExp
  readonly #urls: readonly string[]
  #child: ChildProcess | undefined
  #newest = 0
  #fault: string | undefined
  #isStopped = false

  /** Of the ConfigMaps of one namespace. */
  constructor(urls: readonly string[], namespace: string) {
    this.#keyPattern = new RegExp(`/configmaps/${namespace}/([^/]+)$`)
    this.#urls = urls
    this.#start()
  }

  /** etcdctl gives up now and then; another goes on after the last event. */
  #start(): void {
    const words = ['watch', '--prefix', '', `--rev=${this.#newest + 1}`, '-w', 'json']
    const flags = [`--endpoints=${this.#urls.join(',')}`, '--dial-timeout=1s']
    const child = spawn('etcdctl', [...flags, ...words], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, ETCDCTL_API: '3' },
    })
    this.#child = child
    void readLines(child.stdout, (line) => this.#take(line)).then(async () => {
      child.kill('SIGKILL')
      await delay(200)
      if (!this.#isStopped && this.#fault === undefined) this.#start()
    })
  }

  #take(line: string): void {
    const { Events: events, CompactRevision: compacted = 0 } = JSON.parse(line) as WatchLine
    if (compacted > 0) this.#fault ??= line
    for (const { type, kv } of events ?? []) {
      this.#newest = kv.mod_revision
      const key = this.#keyPattern.exec(Buffer.from(kv.key, 'base64').toString())?.[1]
      if (key === undefined) continue
      const isDelete = type === 1 || type === 'DELETE'
      const stored = Buffer.from(kv.value ?? '', 'base64').toString('latin1')
      const value = isDelete ? undefined : (valuePattern.exec(stored)?.[0] ?? 'no value')
      this.#commits.push({ revision: kv.mod_revision, key, value })
    }
  }

  /** The newest revision that it has seen. */
  get newest(): number {
    return this.#newest
  }

  /** All commits up to `revision`, which is one of etcd's. */
  async upTo(revision: number): Promise<readonly Commit[]> {
    return await eventually(() => {
      if (this.#fault === undefined && this.#newest < revision)
        throw new Error(`etcdctl has shown ${this.#newest}, not ${revision}`)
      if (this.#fault !== undefined) throw new Error(`the feed of commits broke: ${this.#fault}`)
      return this.#commits
    }, 30_000)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}
