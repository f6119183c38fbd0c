/** Supervisor: keeps the processes of one cluster running, in the order of the plan, and does what the control socket asks. */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../components/component-base/clock.ts'
import type { Log } from '../../components/component-base/log.ts'
import { startChild } from './child-process.ts'
import type { Child } from './child-process.ts'
import { writeClusterConfig } from '../plan/cluster-config.ts'
import type { ClusterConfig, Program } from '../plan/cluster-config.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterEnd, ComponentStatus, ControlHandlers } from '../control-protocol.ts'
import { createManagedComponent } from './managed-component.ts'
import type { ManagedComponent } from './managed-component.ts'
import { allocatorSettings, planCluster, planNode, startOrder } from '../plan/plan.ts'
import type { ComponentSpec } from '../plan/plan.ts'
import { clusterMarker, identify } from '../state/process-identity.ts'
import type { ProcessIdentity } from '../state/process-identity.ts'
import { noticeStopped, watchPulse } from './pulse.ts'
import { logOf, writePrivateFile } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'

/** One line of processes.json: what `down` ends when there is no supervisor to ask. */
export interface RecordedProcess extends ProcessIdentity {
  readonly component: string
}

interface SupervisorOptions {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly clock: Clock
  readonly log: Log
  /** False once the state directory was removed, or is somebody else's: nothing is written there any more. */
  readonly ownsFolder: () => boolean
  /** The script that is a program. */
  readonly scriptOf: (program: Program) => string
  /** Absent: only a command ends the cluster. */
  readonly ends: ClusterEnd | undefined
  readonly readyTimeoutMs: number
  readonly stopTimeoutMs: number
}

interface Supervisor {
  readonly handlers: ControlHandlers
  /** Stops every component, dependants first. Resolves when no process is left; no component starts any more. */
  shutdown(): Promise<void>
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { paths, clock, log } = options
  let { config } = options
  const components = new Map<string, ManagedComponent>()
  const listeners = new Set<(status: ComponentStatus) => void>()
  let recorded = ''
  let closing: Promise<void> | undefined

  const record = (): void => {
    const processes: RecordedProcess[] = []
    for (const component of components.values()) {
      const { name, pid } = component.status()
      const identity = pid === undefined ? undefined : identify(pid)
      if (identity !== undefined) processes.push({ component: name, ...identity })
    }
    const text = JSON.stringify(processes)
    if (text === recorded || !options.ownsFolder()) return
    try {
      writePrivateFile(paths.processes, `${text}\n`)
      recorded = text
    } catch (error) {
      // A full disk, say: the components run on, and `down` finds them by their mark too.
      log.warn('the processes cannot be recorded', { error })
    }
  }

  const refuseWhenClosing = (): void => {
    if (closing !== undefined) throw new ClusterError('not-running', 'the cluster is going down')
  }
  /** The components that it cannot become ready without, as they are now. */
  const dependenciesOf = (spec: ComponentSpec): ComponentStatus[] =>
    spec.dependsOn.flatMap((name) => {
      const component = components.get(name)
      if (component === undefined) return []
      noticeStopped(component, clock.now())
      return [component.status()]
    })
  const waitsFor = (spec: ComponentSpec): string | undefined => {
    const culprit = dependenciesOf(spec).find(({ state }) => state !== 'ready')
    return culprit && `waits for ${culprit.name}, which is ${culprit.state}`
  }
  const unhinderedSinceMs = (spec: ComponentSpec): number | undefined => {
    const all = dependenciesOf(spec)
    if (all.some(({ state }) => state !== 'ready')) return undefined
    return Math.max(0, ...all.map(({ sinceMs }) => sinceMs))
  }
  const spawn = (
    spec: ComponentSpec,
    onReport: (report: Readonly<Record<string, unknown>>) => void,
  ): Child => {
    // Also one that was asked for before, and had to wait: nobody would end it.
    refuseWhenClosing()
    return startChild(
      {
        onReport,
        name: spec.name,
        command: process.execPath,
        args: [...spec.nodeOptions, options.scriptOf(spec.program), ...spec.args],
        environment: { ...allocatorSettings, [clusterMarker]: config.id },
        cwd: paths.dir,
        logFile: logOf(paths, spec.name),
        // A node is ready once it has joined, and that may wait for somebody's approval.
        readyTimeoutMs: spec.program === 'node-agent' ? undefined : options.readyTimeoutMs,
        unhinderedSinceMs: () => unhinderedSinceMs(spec),
        stopTimeoutMs: options.stopTimeoutMs,
      },
      clock,
    )
  }

  const add = (spec: ComponentSpec): ManagedComponent => {
    for (const folder of spec.folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
    const onChange = (status: ComponentStatus): void => {
      record()
      for (const listener of listeners) listener(status)
    }
    const component = createManagedComponent({
      cluster: config.name,
      spec,
      clock,
      log,
      spawn,
      waitsFor: () => waitsFor(spec),
      onChange,
      helpLine: `${process.execPath} ${options.scriptOf(spec.program)} --help`,
    })
    components.set(spec.name, component)
    return component
  }
  for (const spec of planCluster(config, paths)) add(spec)

  const named = (name: string): ManagedComponent => {
    const component = components.get(name)
    if (component !== undefined) return component
    throw new ClusterError('not-found', `there is no component "${name}"`, {
      hint: `there are: ${[...components.keys()].join(', ')}`,
    })
  }
  /** Its key and certificate are of no use to anybody else; a node of the same name joins anew. */
  const forgetNode = (name: string): void => {
    rmSync(join(paths.nodes, name), { recursive: true, force: true })
  }
  /** Sends the caller every change while `work` goes on. */
  const reporting = async (
    emit: (event: ComponentStatus) => void,
    work: () => Promise<void>,
  ): Promise<void> => {
    listeners.add(emit)
    try {
      await work()
    } finally {
      listeners.delete(emit)
    }
  }

  const specs = (): ComponentSpec[] => [...components.values()].map((component) => component.spec)
  const startAll = async (): Promise<void> => {
    for (const step of startOrder(specs())) {
      refuseWhenClosing()
      await Promise.all(step.map((spec) => named(spec.name).start()))
    }
  }
  const stopAll = async (): Promise<void> => {
    for (const step of startOrder(specs()).toReversed()) {
      await Promise.all(step.map((spec) => named(spec.name).stop()))
    }
    record()
  }
  const watching = new AbortController()
  const shutdown = (): Promise<void> => {
    watching.abort(new Error('the cluster is going down'))
    return (closing ??= stopAll())
  }
  void watchPulse(() => components.values(), {
    address: config.address,
    clock,
    log,
    signal: watching.signal,
  })

  const handlers: ControlHandlers = {
    start: async (_, { emit }) => {
      refuseWhenClosing()
      await reporting(emit, startAll)
      return {}
    },
    status: async () => ({
      components: [...components.values()].map((component) => {
        noticeStopped(component, clock.now())
        return component.status()
      }),
      ...(options.ends === undefined ? {} : { ends: options.ends }),
    }),
    watch: async (_, { emit, signal }) => {
      await reporting(emit, async () => {
        for (const component of components.values()) emit(component.status())
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      })
      return {}
    },
    'add-node': async ({ node }, { emit }) => {
      refuseWhenClosing()
      if (components.has(node.name)) {
        throw new ClusterError('already-exists', `there is already a component "${node.name}"`)
      }
      const component = add(planNode(node, config, paths))
      try {
        await reporting(emit, () => component.start())
      } catch (error) {
        components.delete(node.name)
        forgetNode(node.name)
        throw error
      }
      config = { ...config, nodes: [...config.nodes, node] }
      writeClusterConfig(paths, config)
      return {}
    },
    'remove-node': async ({ name }) => {
      const component = named(name)
      if (component.spec.program !== 'node-agent') {
        throw new ClusterError('usage', `"${name}" is not a node`)
      }
      await component.stop()
      components.delete(name)
      config = { ...config, nodes: config.nodes.filter((node) => node.name !== name) }
      writeClusterConfig(paths, config)
      forgetNode(name)
      return {}
    },
    'stop-component': async ({ name }) => {
      await named(name).stop()
      return {}
    },
    'start-component': async ({ name }, { emit }) => {
      refuseWhenClosing()
      await reporting(emit, () => named(name).start())
      return {}
    },
    restart: async ({ name }, { emit }) => {
      refuseWhenClosing()
      await reporting(emit, async () => {
        await named(name).stop()
        await named(name).start()
      })
      return {}
    },
    pause: async ({ name }) => {
      named(name).pause()
      return {}
    },
    resume: async ({ name }) => {
      named(name).resume()
      return {}
    },
    kill: async ({ name }) => {
      await named(name).kill()
      return {}
    },
    shutdown: async (_, { emit }) => {
      await reporting(emit, shutdown)
      return {}
    },
  }
  return { handlers, shutdown }
}
