/** ProcessLevers: how faults are made to hold in a cluster of processes: by commands to components, by signals, and by proxies. */
import type { Clock } from '../../components/component-base/clock.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { Log } from '../../components/component-base/log.ts'
import { routesVariable } from '../../components/component-base/routes.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import { hasBalancer } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { LabNetwork } from '../lab/network/lab-network.ts'
import type { Connections } from '../lab/network/lab-network.ts'
import { ApiServerFaults } from '../lab/api-server-faults.ts'
import type { FaultyServer } from '../lab/api-server-faults.ts'
import { NodeLevers } from '../lab/node-levers.ts'
import { cannotHold, noSuchPart } from '../lab/no-such-part.ts'
import type { HeldFault, Levers, NamedFault } from '../lab/levers.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { CommandError } from './child-commands.ts'
import type { ComponentSet } from './component-set.ts'
import type { ManagedComponent } from './managed-component.ts'
import { frozen, killed, starved } from './process-faults.ts'
import type { ProcessFaultHeld } from './process-faults.ts'
import type { ComponentFollowers } from './time-followers.ts'

export interface ProcessLeversOptions {
  readonly config: ClusterConfig
  readonly components: ComponentSet
  /** Real time. */
  readonly clock: Clock
  readonly log: Log
  readonly canPause: boolean
  readonly paths: StatePaths
  readonly followers: Pick<ComponentFollowers, 'skew'>
  /** The cluster's. */
  readonly clusterClock: Clock
}

export class ProcessLevers implements Levers {
  readonly #options: ProcessLeversOptions
  readonly #servers: ApiServerFaults
  readonly #network: LabNetwork
  readonly #nodes: NodeLevers
  readonly #onProcesses = new Set<ProcessFaultHeld>()
  /** The process of each component that knows what it has to obey. */
  readonly #runs = new Map<string, number | undefined>()

  constructor(options: ProcessLeversOptions) {
    this.#options = options
    this.#servers = new ApiServerFaults({
      servers: () => this.#runningServers(),
      isUnknown: (error) => error instanceof CommandError && error.why === 'unknown',
    })
    this.#network = new LabNetwork({
      connections: () => this.#connections(),
      setRoutes: (dialer, routes) => this.#command(dialer, 'routes', routes),
      clock: options.clock,
    })
    this.#nodes = new NodeLevers({
      nodes: () =>
        [...options.components.all()].flatMap(({ spec }) =>
          spec.program === 'node-agent' ? [spec.name] : [],
        ),
      command: (node, params) => this.#command(node, 'node-faults', params),
      clock: options.clock,
    })
  }

  async hold(fault: NamedFault): Promise<HeldFault> {
    switch (fault.kind) {
      case 'requests':
      case 'store':
        return await this.#servers.hold(fault)
      case 'process':
        return await this.#process(fault)
      case 'network':
        return await this.#network.hold(fault)
      case 'clock':
        return await this.#clock(fault)
      case 'certificate':
        return await this.#certificate(fault)
      case 'node':
        return await this.#nodes.hold(fault)
    }
  }

  /** A component has changed: a new process has to learn what it has to obey. */
  changed(status: ComponentStatus): void {
    for (const held of this.#onProcesses) held.changed?.(status)
    if (status.program === 'api-server' && status.state === 'stopping') void this.#servers.ending()
    if (status.state !== 'ready' || this.#runs.get(status.name) === status.pid) return
    this.#runs.set(status.name, status.pid)
    void this.#network.started(status.name)
    void this.#nodes.started(status.name)
    if (status.program === 'api-server') void this.#servers.tell(runOf(status))
  }

  /** Ends what acts by itself. Idempotent. */
  async close(): Promise<void> {
    for (const held of this.#onProcesses) await held.end()
    this.#onProcesses.clear()
    this.#network.close()
  }

  /** What a process of this name that is spawned now has to obey from its start on. */
  environmentOf(name: string): Readonly<Record<string, string>> {
    const routes = this.#network.routesOf(name)
    return routes.length === 0 ? {} : { [routesVariable]: JSON.stringify(routes) }
  }

  /** Clients call the API server, or the load balancer in front of several; API servers call node agents. */
  #connections(): Connections[] {
    const { components, config } = this.#options
    const { address: host, port } = config
    const statuses = [...components.all()].map((component) => component.status())
    const ofProgram = (...programs: readonly string[]): ComponentStatus[] =>
      statuses.filter(({ program }) => programs.includes(program))
    const front = hasBalancer(config) ? ['api-server', 'load-balancer'] : ['api-server']
    const clients = ofProgram('controller-manager', 'scheduler', 'node-agent')
    const servers = ofProgram('api-server')
    const nodes = ofProgram('node-agent').flatMap(({ name, info }) =>
      typeof info?.['port'] === 'number' ? [{ name, port: info['port'] }] : [],
    )
    return [
      ...clients.map(({ name, program }) => ({
        dialer: name,
        ends: { dialer: [name, program], acceptor: front },
        to: { host, port },
      })),
      ...servers.flatMap((server) =>
        nodes.map((node) => ({
          dialer: server.name,
          ends: { dialer: [server.name, 'api-server'], acceptor: [node.name, 'node-agent'] },
          to: { host, port: node.port },
        })),
      ),
    ]
  }

  /** A component that does not run, or ends, learns it when it starts. */
  async #command(name: string, command: string, params: unknown): Promise<void> {
    const { components, log } = this.#options
    try {
      await components.named(name).command(command, params)
    } catch (error) {
      log.debug('a component was not told of a fault', { name, command, error: messageOf(error) })
    }
  }

  async #process(fault: Extract<NamedFault, { kind: 'process' }>): Promise<HeldFault> {
    const { part, action } = fault.fault
    const { canPause, clock } = this.#options
    const components = this.#componentsOf(part)
    if (action === 'lose-lease') return this.#following(await this.#lease(fault, components))
    if (action !== 'kill' && !canPause)
      throw cannotHold(fault, 'Windows has no SIGSTOP', 'kill it instead')
    const held =
      action === 'kill'
        ? await killed(components)
        : action === 'freeze'
          ? frozen(components)
          : starved(components, clock)
    return this.#following(held)
  }

  /** What acts by itself has to end with the cluster. */
  #following(held: ProcessFaultHeld): HeldFault {
    this.#onProcesses.add(held)
    const end = async (): Promise<void> => {
      this.#onProcesses.delete(held)
      await held.end()
    }
    return { ...held, end }
  }

  async #lease(
    fault: Extract<NamedFault, { kind: 'process' }>,
    [component]: readonly ManagedComponent[],
  ): Promise<ProcessFaultHeld> {
    const { leaseNames, holdLease } = await import('../lab/lost-lease.ts')
    const { clusterClient } = await import('../cluster-client.ts')
    const name = leaseNames[component?.spec.program ?? '']
    const hint = `these do: ${Object.keys(leaseNames).join(', ')}`
    if (name === undefined) throw cannotHold(fault, `${fault.fault.part} elects no leader`, hint)
    const { config, paths, clock, clusterClock, log } = this.#options
    const client = clusterClient({ config, paths, clock })
    return await holdLease(name, { client, clock: clusterClock, log })
  }

  async #clock(fault: Extract<NamedFault, { kind: 'clock' }>): Promise<HeldFault> {
    const { followers } = this.#options
    const { part, aheadMs } = fault.fault
    const components = this.#componentsOf(part)
    const skew = (ms: number) => Promise.all(components.map((one) => followers.skew(one, ms)))
    await skew(aheadMs)
    return { fired: async () => components.length, end: async () => void (await skew(0)) }
  }

  async #certificate(fault: Extract<NamedFault, { kind: 'certificate' }>): Promise<HeldFault> {
    const { holdCertificate } = await import('./certificate-fault.ts')
    const { config, paths, components, clusterClock } = this.#options
    const at = { config, paths, components, nowMs: clusterClock.now() }
    return this.#following(await holdCertificate(fault, this.#componentsOf(fault.fault.part), at))
  }

  /** All of a program where the name is that of one. */
  #componentsOf(part: string): ManagedComponent[] {
    const all = [...this.#options.components.all()]
    const named = all.filter(({ spec }) => spec.name === part)
    const found = named.length > 0 ? named : all.filter(({ spec }) => spec.program === part)
    if (found.length > 0) return found
    throw noSuchPart(
      part,
      all.map(({ spec }) => spec.name),
    )
  }

  #runningServers(): FaultyServer[] {
    return [...this.#options.components.all()]
      .filter(({ spec }) => spec.program === 'api-server')
      .flatMap((component) => {
        const status = component.status()
        if (status.pid === undefined || status.state === 'starting') return []
        return [
          {
            run: runOf(status),
            command: (name: string, params: unknown) => component.command(name, params),
          },
        ]
      })
  }
}

function runOf({ name, pid }: Pick<ComponentStatus, 'name' | 'pid'>): string {
  return `${name} ${pid}`
}
