/** AgentByHand: a node agent on its way into an embedded cluster, and what it logs. */
import type { ClusterConfig } from '../cluster/plan/cluster-config.ts'
import { planNode } from '../cluster/plan/plan.ts'
import type { StatePaths } from '../cluster/state/state-dir.ts'

export interface AgentByHandOptions {
  readonly name: string
  readonly token: string | undefined
  /** `sha256:<hex>`; default: of the cluster's authority. */
  readonly pin: string | undefined
  /** Default: the cluster's. */
  readonly server: string | undefined
}

/** The newest lines suffice for reports. */
const mostLines = 200

export class AgentByHand {
  readonly options: AgentByHandOptions
  readonly #lines: string[] = []
  readonly #joined = Promise.withResolvers<void>()
  readonly #looking = new Set<() => void>()
  #hasLeft = false

  constructor(options: AgentByHandOptions) {
    this.options = options
    this.#joined.promise.catch(() => {}) // it is in the log
  }

  /** Resolves when its node is Ready; rejects with what keeps it from that, and when it has left. */
  get joined(): Promise<void> {
    return this.#joined.promise
  }

  /** Of its process. `config` has the hash of the cluster's authority. */
  args(config: ClusterConfig, paths: StatePaths): readonly string[] {
    const { name, token, pin, server } = this.options
    const planned = planNode({ name }, { ...config, caHash: pin ?? config.caHash }, paths).args
    const given = planned
      .filter((arg) => !arg.startsWith('--config='))
      .map((arg) =>
        server !== undefined && arg.startsWith('--server=') ? `--server=${server}` : arg,
      )
    return token === undefined ? given : [...given, `--bootstrap-token=${token}`]
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  follow(start: Promise<unknown>): void {
    start.then(() => this.#joined.resolve(), this.#joined.reject)
  }

  write(line: string): void {
    this.#lines.push(line.trimEnd())
    if (this.#lines.length > mostLines) this.#lines.shift()
    for (const look of this.#looking) look()
  }

  leave(): void {
    this.#hasLeft = true
    this.#joined.reject(new Error('the agent was stopped'))
    for (const look of this.#looking) look()
  }

  /** Resolves when a line matches; rejects when it has left. */
  logged(pattern: RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const isLogged = this.#lines.some((line) => pattern.test(line))
        if (!isLogged && !this.#hasLeft) return
        this.#looking.delete(look)
        if (isLogged) resolve()
        else reject(new Error('the agent was stopped'))
      }
      this.#looking.add(look)
      look()
    })
  }
}
