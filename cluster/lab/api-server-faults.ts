/** ApiServerFaults: the faults that API servers obey, told to every one of them, and their counts summed up. */
import type {
  FaultCounts,
  ObeyedFaults,
  RequestFault,
  StoreFault,
} from '../../components/component-base/request-fault.ts'
import { ClusterError } from '../cluster-error.ts'
import type { HeldFault, NamedFault } from './levers.ts'

/** One run of an API server. A restart makes another one. */
export interface FaultyServer {
  /** Its name and what tells its runs apart. */
  readonly run: string
  /** Rejects when it has ended. */
  command(name: string, params: unknown): Promise<unknown>
}

export interface ApiServerFaultsOptions {
  /** Those that run now. */
  readonly servers: () => readonly FaultyServer[]
  /** Whether the error of a command says that the server has no such command. */
  readonly isUnknown: (error: unknown) => boolean
}

type ServerKind = 'requests' | 'store'
type ServerFault = Extract<NamedFault, { kind: ServerKind }>

function isOver(): HeldFault['fired'] {
  return async () => 0
}

export class ApiServerFaults {
  readonly #options: ApiServerFaultsOptions
  readonly #active = new Map<string, ServerFault>()
  /** Run -> its last counts. Those of runs that have ended are kept as long as their fault is. */
  readonly #counts = new Map<string, FaultCounts>()

  constructor(options: ApiServerFaultsOptions) {
    this.#options = options
  }

  async hold(fault: ServerFault): Promise<HeldFault> {
    const { name } = fault
    this.#active.set(name, fault)
    try {
      await this.#tellAll()
    } catch (error) {
      this.#active.delete(name)
      await this.#tellAll().catch(() => {
        // The first error tells more.
      })
      throw error
    }
    let last = isOver()
    return {
      fired: async () => {
        if (!this.#active.has(name)) return await last()
        await this.#askAll()
        return this.#firedOf(name)
      },
      end: async () => {
        // Which requests it fired for until now.
        await this.#askAll()
        const fired = this.#firedOf(name)
        last = async () => fired
        this.#active.delete(name)
        this.#forget(name)
        await this.#tellAll()
      },
    }
  }

  /** An API server has started again, with no faults. */
  async tell(run: string): Promise<void> {
    if (this.#active.size === 0) return
    const server = this.#options.servers().find((one) => one.run === run)
    if (server !== undefined) await this.#tell(server)
  }

  /** A server is about to end, and its counts with it. */
  async ending(): Promise<void> {
    if (this.#active.size > 0) await this.#askAll()
  }

  /** What a server has to obey that has counted this much already. */
  #obeyed(counted: (name: string) => number): ObeyedFaults {
    const requests: RequestFault[] = []
    const store: StoreFault[] = []
    for (const { name, kind, fault, times, chance, seed } of this.#active.values()) {
      const left = times === undefined ? undefined : times - counted(name)
      if (left !== undefined && left <= 0) continue
      const common = {
        id: name,
        ...(left === undefined ? {} : { times: left }),
        ...(chance === undefined ? {} : { chance }),
        ...(seed === undefined ? {} : { seed }),
      }
      if (kind === 'requests') requests.push({ ...common, ...fault })
      else store.push({ ...common, action: fault })
    }
    return { requests, store }
  }

  async #tellAll(): Promise<void> {
    await Promise.all(this.#options.servers().map((server) => this.#tell(server)))
  }

  async #tell({ run, command }: FaultyServer): Promise<void> {
    // What its earlier runs and the other servers have fired counts; what it has fired itself it knows.
    const elsewhere = (name: string): number =>
      [...this.#counts].reduce(
        (sum, [of, counts]) => sum + (of === run ? 0 : (counts[name] ?? 0)),
        0,
      )
    try {
      this.#note(run, await command('faults', this.#obeyed(elsewhere)))
    } catch (error) {
      if (!this.#options.isUnknown(error)) return // It has ended: its next run gets the faults when it is ready.
      throw new ClusterError('failed', 'the API server obeys no faults of requests', {
        hint: 'it was started by another version of skiff: run `skiff down`, then `skiff up`',
        cause: error,
      })
    }
  }

  async #askAll(): Promise<void> {
    await Promise.all(
      this.#options.servers().map(async ({ run, command }) => {
        try {
          this.#note(run, await command('fault-counts', {}))
        } catch {
          // It has ended: what it counted last stands.
        }
      }),
    )
  }

  #note(run: string, counts: unknown): void {
    const known = Object.entries((counts ?? {}) as FaultCounts).filter(([name]) =>
      this.#active.has(name),
    )
    this.#counts.set(run, { ...this.#counts.get(run), ...Object.fromEntries(known) })
  }

  #firedOf(name: string): number {
    return [...this.#counts.values()].reduce((sum, counts) => sum + (counts[name] ?? 0), 0)
  }

  #forget(name: string): void {
    for (const [run, counts] of this.#counts) {
      const { [name]: _, ...others } = counts
      if (Object.keys(others).length === 0) this.#counts.delete(run)
      else this.#counts.set(run, others)
    }
  }
}
