/** Supervisor: keeps the processes of one cluster running, and answers the calls on the control socket. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { aborted } from '../../components/component-base/aborted.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterEnd, ControlHandlers, ControlMethod } from '../control-protocol.ts'
import { writeClusterConfig } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { FollowedClock } from '../../components/component-base/followed-clock.ts'
import { checkFault } from '../lab/check-fault.ts'
import { ClusterTime } from '../lab/cluster-time.ts'
import type { TimeFollowers } from '../lab/cluster-time.ts'
import { Chaos } from '../lab/chaos/chaos.ts'
import type { ChaosParts } from '../lab/chaos/chaos-parts.ts'
import { answerChaos } from '../lab/chaos/chaos-request.ts'
import { FaultBoard } from '../lab/fault-board.ts'
import { followersWith } from '../lab/followers-with.ts'
import type { Lab } from '../lab/lab.ts'
import { answerTime } from '../lab/time-request.ts'
import { planCluster, planNode } from '../plan/plan.ts'
import { ComponentSet } from './component-set.ts'
import type { ComponentSetOptions } from './component-set.ts'
import { followMachines, joinEtcd } from './other-machines.ts'
import { ProcessLevers } from './process-levers.ts'
import { watchPulse } from './pulse.ts'
import { ComponentFollowers } from './time-followers.ts'

interface SupervisorOptions extends Omit<ComponentSetOptions, 'cluster'> {
  readonly config: ClusterConfig
  /** Absent: only a command ends the cluster. */
  readonly ends: ClusterEnd | undefined
}

interface Supervisor {
  readonly handlers: ControlHandlers
  /** Stops every component, dependants first. Resolves when no process is left; no component starts any more. */
  shutdown(): Promise<void>
}

type Handlers<M extends ControlMethod> = Pick<ControlHandlers, M>

/** Calls about one component that exists. */
function componentHandlers(
  components: ComponentSet,
): Handlers<'stop-component' | 'start-component' | 'restart' | 'pause' | 'resume' | 'kill'> {
  return {
    'stop-component': async ({ name }) => {
      await components.named(name).stop()
      return {}
    },
    'start-component': async ({ name }, { emit }) => {
      components.checkOpen()
      await components.reporting(emit, () => components.named(name).start())
      return {}
    },
    restart: async ({ name }, { emit }) => {
      components.checkOpen()
      await components.reporting(emit, async () => {
        // One after another: each serves again before the next one stops.
        for (const component of components.withName(name)) {
          await component.stop()
          await component.start()
        }
      })
      return {}
    },
    pause: async ({ name }) => {
      components.named(name).pause()
      return {}
    },
    resume: async ({ name }) => {
      components.named(name).resume()
      return {}
    },
    kill: async ({ name }) => {
      await components.named(name).kill()
      return {}
    },
  }
}

/** Calls that add and remove nodes; both also change the stored configuration. */
function nodeHandlers(
  components: ComponentSet,
  options: Pick<SupervisorOptions, 'config' | 'paths'>,
): Handlers<'add-node' | 'remove-node'> {
  const { paths } = options
  let { config } = options
  const store = (nodes: ClusterConfig['nodes']): void => {
    config = { ...config, nodes }
    writeClusterConfig(paths, config)
  }
  /** Removes the node's key and certificate: a later node of the same name joins anew. */
  const forget = (name: string): void => {
    rmSync(join(paths.nodes, name), { recursive: true, force: true })
  }
  return {
    'add-node': async ({ node }, { emit }) => {
      components.checkOpen()
      if (components.has(node.name)) {
        throw new ClusterError('already-exists', `component "${node.name}" already exists`, {
          hint: 'choose another name',
        })
      }
      const component = components.add(planNode(node, config, paths))
      try {
        await components.reporting(emit, () => component.start())
      } catch (error) {
        components.remove(node.name)
        forget(node.name)
        throw error
      }
      store([...config.nodes, node])
      return {}
    },
    'remove-node': async ({ name }) => {
      const component = components.named(name)
      if (component.spec.program !== 'node-agent') {
        throw new ClusterError('usage', `component "${name}" is not a node`, {
          hint: 'only nodes can be removed',
        })
      }
      await component.stop()
      components.remove(name)
      store(config.nodes.filter((node) => node.name !== name))
      forget(name)
      return {}
    },
  }
}

/** Calls about the cluster as a whole. */
function clusterHandlers(
  components: ComponentSet,
  {
    ends,
    shutdown,
    onStarted,
    join,
  }: {
    readonly ends: ClusterEnd | undefined
    readonly shutdown: () => Promise<void>
    readonly onStarted: () => void
    /** What else belongs to the start. */
    readonly join: (signal: AbortSignal) => Promise<void>
  },
): Handlers<'start' | 'status' | 'watch' | 'shutdown'> {
  return {
    start: async ({ initialState, baseImage }, { emit, signal }) => {
      components.checkOpen()
      if (initialState !== undefined) {
        components.addToFirstRun('api-server', `--initial-state=${initialState}`)
      }
      if (baseImage !== undefined) {
        components.addToFirstRun('api-server', `--base-image=${baseImage}`)
      }
      const failed = new AbortController()
      const started = components.reporting(emit, () => components.start())
      await Promise.all([started, join(AbortSignal.any([signal, failed.signal]))]).finally(() => {
        failed.abort(new Error('the start has ended'))
        onStarted()
      })
      return {}
    },
    status: async () => ({
      components: components.statuses(),
      ...(ends === undefined ? {} : { ends }),
    }),
    watch: async (_, { emit, signal }) => {
      await components.reporting(emit, async () => {
        for (const component of components.all()) emit(component.status())
        await aborted(signal)
      })
      return {}
    },
    shutdown: async (_, { emit }) => {
      await components.reporting(emit, shutdown)
      return {}
    },
  }
}

/** Calls about the cluster's faults. */
function faultHandlers(
  { faults, chaos }: Pick<Lab, 'faults' | 'chaos'>,
  components: ComponentSet,
): Handlers<'fault-add' | 'fault-list' | 'fault-heal' | 'chaos'> {
  return {
    'fault-add': async ({ fault }) => {
      components.checkOpen()
      return { fault: await faults.add(checkFault(fault)) }
    },
    'fault-list': async () => ({ faults: await faults.list() }),
    'fault-heal': async ({ name }) => ({ faults: await faults.heal(name) }),
    chaos: async (request, { signal }) => {
      if (request.call === 'begin') components.checkOpen()
      return await answerChaos(chaos, request, signal)
    },
  }
}

/** What a chaos can break. */
function partsOf(components: ComponentSet): ChaosParts {
  const all = [...components.all()].map(({ spec: { name, program } }) => ({ name, program }))
  return { form: 'processes', parts: all }
}

/** What may keep a cluster from resting. */
interface Whole {
  readonly components: ComponentSet
  readonly faults: FaultBoard
  readonly chaos: Chaos
}

/** Whether all components run, follow the clock, and nothing is broken on purpose: then upkeep fails nowhere. */
function isWhole({ components, faults, chaos }: Whole, { apart }: TimeFollowers): boolean {
  if (!faults.isEmpty || chaos.isUnderWay || apart.length > 0) return false
  return [...components.all()].every((component) => component.status().state === 'ready')
}

/** `whole` is asked while time is advanced. */
function timeOf(
  followers: TimeFollowers,
  { clock, faultClock }: { readonly clock: Clock; readonly faultClock: FollowedClock },
  whole: () => Whole,
): ClusterTime {
  const settled = (): Promise<void> => whole().faults.settled()
  const mayRest = (): boolean => isWhole(whole(), followers)
  const own = { clock: faultClock, settled, mayRest }
  return new ClusterTime(followersWith(followers, own), { clock })
}

/** Plans the components and watches their pulse; none starts before the call `start`. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { config, paths, clock, log, ends } = options
  const followers = new ComponentFollowers(() => components.all(), clock)
  const faultClock = new FollowedClock(clock)
  const time = timeOf(followers, { clock, faultClock }, () => ({ components, faults, chaos }))
  const environmentOf = (name: string) => ({
    ...followers.environmentOf(name),
    ...levers.environmentOf(name),
  })
  const components = new ComponentSet({ ...options, cluster: config, environmentOf })
  for (const spec of planCluster(config, paths)) components.add(spec)
  const levers = new ProcessLevers({
    config,
    paths,
    components,
    followers,
    clock,
    clusterClock: faultClock,
    log,
    canPause: options.processControl.canPause,
  })
  const faults = new FaultBoard(levers, { clock: faultClock, log })
  const chaos = new Chaos({ faults, clock: faultClock, parts: () => partsOf(components) })

  const watching = new AbortController()
  void watchPulse(() => components.all(), { clock, log, signal: watching.signal })
  void components.reporting(
    (status) => {
      if (!components.has(status.name)) return
      followers.changed(components.named(status.name))
      levers.changed(status)
    },
    () => aborted(watching.signal),
  )
  let following: Promise<void> | undefined
  const onStarted = (): void => {
    following ??= followMachines(options, watching.signal)
  }
  const join = (signal: AbortSignal): Promise<void> =>
    joinEtcd(options, AbortSignal.any([signal, watching.signal]))
  const shutdown = async (): Promise<void> => {
    watching.abort(new Error('the cluster is shutting down'))
    time.end()
    faultClock.end()
    await levers.close()
    await Promise.all([components.close(), following])
  }
  return {
    handlers: {
      ...clusterHandlers(components, { ends, shutdown, onStarted, join }),
      ...nodeHandlers(components, options),
      ...componentHandlers(components),
      ...faultHandlers({ faults, chaos }, components),
      time: (request, { signal }) => answerTime(time, request, signal),
    },
    shutdown,
  }
}
