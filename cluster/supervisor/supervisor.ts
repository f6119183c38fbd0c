/** Supervisor: keeps the processes of one cluster running, and answers the calls on the control socket. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { aborted } from '../../components/component-base/aborted.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterEnd, ControlHandlers, ControlMethod } from '../control-protocol.ts'
import { writeClusterConfig } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { planCluster, planNode } from '../plan/plan.ts'
import { ComponentSet } from './component-set.ts'
import type { ComponentSetOptions } from './component-set.ts'
import { watchPulse } from './pulse.ts'

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
  }: { readonly ends: ClusterEnd | undefined; readonly shutdown: () => Promise<void> },
): Handlers<'start' | 'status' | 'watch' | 'shutdown'> {
  return {
    start: async ({ initialState }, { emit }) => {
      components.checkOpen()
      if (initialState !== undefined) {
        components.addToFirstRun('api-server', `--initial-state=${initialState}`)
      }
      await components.reporting(emit, () => components.start())
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

/** Plans the components and watches their pulse; none starts before the call `start`. */
export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { config, paths, clock, log, ends } = options
  const components = new ComponentSet({ ...options, cluster: config })
  for (const spec of planCluster(config, paths)) components.add(spec)

  const watching = new AbortController()
  const { address } = config
  void watchPulse(() => components.all(), { address, clock, log, signal: watching.signal })
  const shutdown = (): Promise<void> => {
    watching.abort(new Error('the cluster is shutting down'))
    return components.close()
  }
  return {
    handlers: {
      ...clusterHandlers(components, { ends, shutdown }),
      ...nodeHandlers(components, options),
      ...componentHandlers(components),
    },
    shutdown,
  }
}
