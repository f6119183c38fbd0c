/** CommitFeed: what etcd itself says was committed, as etcdctl follows it from the first revision on. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
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
  readonly Canceled?: boolean
}

/** What clients write into an object, once, and nothing else contains. */
export const valuePattern = /value-\d+-\d+-end/

export class CommitFeed {
  readonly #commits: Commit[] = []
  readonly #child: ChildProcess
  readonly #keyPattern: RegExp
  #newest = 0
  #fault: string | undefined

  /** Of the ConfigMaps of one namespace. */
  constructor(urls: readonly string[], namespace: string) {
    this.#keyPattern = new RegExp(`/configmaps/${namespace}/([^/]+)$`)
    const words = ['watch', '--prefix', '', '--rev=1', '-w', 'json']
    this.#child = spawn(
      'etcdctl',
      [`--endpoints=${urls.join(',')}`, '--dial-timeout=1s', ...words],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
        env: { ...process.env, ETCDCTL_API: '3' },
      },
    )
    this.#child.on('exit', (code) => (this.#fault ??= `etcdctl ended with ${code}`))
    if (this.#child.stdout !== null) void readLines(this.#child.stdout, (line) => this.#take(line))
  }

  #take(line: string): void {
    const { Events: events, Canceled: isCanceled } = JSON.parse(line) as WatchLine
    if (isCanceled === true) this.#fault ??= line
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
    await eventually(() => {
      if (this.#fault !== undefined) throw new Error(`the feed of commits broke: ${this.#fault}`)
      if (this.#newest < revision)
        throw new Error(`etcdctl has shown ${this.#newest}, not ${revision}`)
    })
    return this.#commits
  }

  async stop(): Promise<void> {
    this.#child.removeAllListeners('exit')
    if (this.#child.exitCode !== null) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
  }
}
