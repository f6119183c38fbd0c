/** EmbeddedLevers: how faults are made to hold in an embedded cluster, whose parts share one thread and no connections. */
import type { Client } from '../components/client/client.ts'
import { LeadershipLostError } from '../components/client/leader-elector.ts'
import { backgroundOf } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { UnknownCommandError } from '../components/component-base/commands.ts'
import { silentLog } from '../components/component-base/log.ts'
import { ApiServerFaults } from '../cluster/lab/api-server-faults.ts'
import type { HeldFault, Levers, NamedFault } from '../cluster/lab/levers.ts'
import { NodeLevers } from '../cluster/lab/node-levers.ts'
import { cannotHold } from '../cluster/lab/no-such-part.ts'
import type { EmbeddedPart } from './embedded-part.ts'
import type { FaultyNetwork } from './faulty-network.ts'

export interface EmbeddedLeversOptions {
  readonly network: FaultyNetwork
  /** The cluster's. */
  readonly clock: Clock
  /** Components beside the API server, without nodes. */
  readonly programs: () => readonly string[]
  readonly nodes: () => readonly string[]
  /** Throws for one that the cluster does not have. */
  readonly part: (name: string) => EmbeddedPart
  /** A client of the administrator's. */
  readonly client: () => Client
}

const asProcesses = 'start the cluster with form: processes'
/** A starved part runs a tenth of the time, in turns that are short beside its timeouts. */
const starvedMs = 900
const fedMs = 100

type ProcessFault = Extract<NamedFault, { kind: 'process' }>

export class EmbeddedLevers implements Levers {
  readonly #options: EmbeddedLeversOptions
  readonly #server: ApiServerFaults
  readonly #nodes: NodeLevers
  /** Parts that are frozen also when they start again. */
  readonly #frozen = new Map<string, () => void>()
  /** Parts whose lease a fault took, also after its end: a leader may notice late. */
  readonly #leaseless = new Set<string>()

  constructor(options: EmbeddedLeversOptions) {
    this.#options = options
    this.#server = new ApiServerFaults({
      servers: () => {
        const server = options.part('api-server')
        const run = `api-server ${server.runs}`
        return [{ run, command: (name, params) => server.command(name, params) }]
      },
      isUnknown: (error) => error instanceof UnknownCommandError,
    })
    this.#nodes = new NodeLevers({
      nodes: options.nodes,
      command: async (name, params) => {
        const node = options.part(name)
        if (node.isRunning) await node.command('node-faults', params)
      },
      clock: options.clock,
    })
  }

  async hold(fault: NamedFault): Promise<HeldFault> {
    const { network, nodes, programs, part } = this.#options
    switch (fault.kind) {
      case 'requests':
      case 'store':
        return await this.#server.hold(fault)
      case 'network':
        return network.hold(fault, [...programs(), ...nodes()])
      case 'process':
        return await this.#process(fault)
      case 'node':
        return await this.#nodes.hold(fault)
      case 'clock': {
        const skewed = part(fault.fault.part)
        skewed.skew(fault.fault.aheadMs)
        return { fired: async () => 1, end: async () => skewed.skew(0) }
      }
      case 'certificate':
        throw cannotHold(fault, 'an embedded cluster has no connections with TLS', asProcesses)
    }
  }

  /** Whether the part ended because a fault took its lease. */
  isMeant(part: string, error: unknown): boolean {
    return error instanceof LeadershipLostError && this.#leaseless.has(part)
  }

  /** A part is ready: it learns what it has to obey. */
  async started(name: string, runs: number): Promise<void> {
    this.#frozen.get(name)?.()
    if (name === 'api-server') await this.#server.tell(`api-server ${runs}`)
    else if (this.#options.nodes().includes(name)) await this.#nodes.started(name)
  }

  async #process(fault: ProcessFault): Promise<HeldFault> {
    const part = this.#options.part(fault.fault.part)
    switch (fault.fault.action) {
      case 'kill':
        part.kill()
        return { fired: async () => 1, end: async () => {} }
      case 'freeze':
        return this.#freeze(fault.fault.part, part)
      case 'starve':
        return this.#starve(part)
      case 'lose-lease':
        return await this.#loseLease(fault)
    }
  }

  #freeze(name: string, part: EmbeddedPart): HeldFault {
    let fired = 0
    const freeze = (): void => {
      part.pause()
      fired += 1
    }
    freeze()
    this.#frozen.set(name, freeze)
    return {
      fired: async () => fired,
      end: async () => {
        this.#frozen.delete(name)
        part.resume()
      },
    }
  }

  #starve(part: EmbeddedPart): HeldFault {
    const clock = backgroundOf(this.#options.clock)
    const ending = new AbortController()
    let fired = 0
    const starve = async (): Promise<void> => {
      while (!ending.signal.aborted) {
        if (part.isRunning) part.pause()
        fired += 1
        await clock.sleep(starvedMs, ending.signal).catch(() => {}) // it ends
        part.resume()
        await clock.sleep(fedMs, ending.signal).catch(() => {}) // it ends
      }
    }
    const starving = starve()
    return {
      fired: async () => fired,
      end: async () => {
        ending.abort(new Error('healed'))
        await starving
      },
    }
  }

  async #loseLease(fault: ProcessFault): Promise<HeldFault> {
    const { leaseNames, holdLease } = await import('../cluster/lab/lost-lease.ts')
    const { part } = fault.fault
    const name = leaseNames[part]
    const hint = `these do, with the flag leader-elect: ${Object.keys(leaseNames).join(', ')}`
    if (name === undefined) throw cannotHold(fault, `${part} elects no leader`, hint)
    const { client, clock } = this.#options
    this.#leaseless.add(part)
    return await holdLease(name, { client: client(), clock, log: silentLog })
  }
}
