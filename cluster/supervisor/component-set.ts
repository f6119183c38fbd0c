/** Component set: the components of one cluster by name, started and stopped in the order of the plan. */
import { mkdirSync } from 'node:fs'
import type { Clock } from '../../components/component-base/clock.ts'
import { startsWhenToldVariable } from '../../components/component-base/component.ts'
import type { Log } from '../../components/component-base/log.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ComponentStatus } from '../control-protocol.ts'
import type { ClusterConfig, Program } from '../plan/cluster-config.ts'
import { allocatorSettings, startOrder } from '../plan/plan.ts'
import type { ComponentSpec } from '../plan/component-spec.ts'
import { clusterMarker } from '../state/process-identity.ts'
import { logOf } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { startChild } from './child-process.ts'
import type { Child, ChildOptions } from './child-process.ts'
import { withoutEtcdVariables } from './etcd-environment.ts'
import { createManagedComponent } from './managed-component.ts'
import type { ManagedComponent, ManagedComponentOptions } from './managed-component.ts'
import type { ProcessControl } from './process-control.ts'
import { createProcessRecord } from './process-record.ts'
import { noticeStopped } from './pulse.ts'

/** What starts first is not to share its time with more. */
const loadedAhead = 2

export interface ComponentSetOptions {
  /** The cluster's name marks messages, its id the processes. */
  readonly cluster: Pick<ClusterConfig, 'name' | 'id'>
  readonly paths: StatePaths
  readonly clock: Clock
  readonly log: Log
  /** Returns false once the state directory was removed or replaced; from then on nothing is written there. */
  readonly ownsFolder: () => boolean
  /** The script of a program. */
  readonly scriptOf: (program: Program) => string
  readonly processControl: ProcessControl
  /** Of a first start; a restart has four minutes if this is less. */
  readonly readyTimeoutMs: number
  readonly stopTimeoutMs: number
  /** Environment variables of a component's next run. */
  readonly environmentOf?: (name: string) => Readonly<Record<string, string>>
}

/**
 * How long a restart may take at least. Killing a slow component makes an overloaded cluster slower. The time is that of kubeadm's
 * startup probes (cmd/kubeadm/app/util/staticpod/utils.go).
 */
const restartTimeoutMs = 240_000

/** What is run: Node with a bundle, or a program of others. */
function commandOf(
  { executable, nodeOptions, program, args }: ComponentSpec,
  scriptOf: ComponentSetOptions['scriptOf'],
  once: readonly string[],
): Pick<ChildOptions, 'command' | 'args'> {
  if (executable !== undefined) return { command: executable, args: [...args, ...once] }
  const words = [...nodeOptions, scriptOf(program), ...args, ...once]
  return { command: process.execPath, args: words }
}

export class ComponentSet {
  readonly #options: ComponentSetOptions
  readonly #components = new Map<string, ManagedComponent>()
  readonly #listeners = new Set<(status: ComponentStatus) => void>()
  readonly #record: (components: Iterable<ManagedComponent>) => void
  /** Flags of a component's next run alone. */
  readonly #firstRun = new Map<string, readonly string[]>()
  /** Flags that win over the plan's, until they are taken away. */
  readonly #overrides = new Map<string, readonly string[]>()
  #closing: Promise<void> | undefined

  constructor(options: ComponentSetOptions) {
    this.#options = options
    this.#record = createProcessRecord(options.paths.processes, options)
  }

  all(): Iterable<ManagedComponent> {
    return this.#components.values()
  }

  has(name: string): boolean {
    return this.#components.has(name)
  }

  /** The component of that name, or all of that program when there are several: `api-server` for `api-server-1` and so on. */
  withName(name: string): ManagedComponent[] {
    if (this.has(name)) return [this.named(name)]
    const all = [...this.all()].filter(({ spec }) => spec.program === name)
    return all.length > 0 ? all : [this.named(name)]
  }

  /** Throws a ClusterError of kind `not-found` for an unknown name. */
  named(name: string): ManagedComponent {
    const component = this.#components.get(name)
    if (component !== undefined) return component
    throw new ClusterError('not-found', `there is no component "${name}"`, {
      hint: `components: ${[...this.#components.keys()].join(', ')}`,
    })
  }

  /** Adds a component and creates its folders; it does not start it. */
  add(spec: ComponentSpec): ManagedComponent {
    const { cluster, clock, log, processControl, scriptOf } = this.#options
    for (const folder of spec.folders) mkdirSync(folder, { recursive: true, mode: 0o700 })
    const component = createManagedComponent({
      cluster: cluster.name,
      spec,
      clock,
      log,
      processControl,
      spawn: (how) => this.#spawn(spec, how),
      waitsFor: () => this.#waitsFor(spec),
      onChange: (status) => this.#changed(status),
      helpLine: `${spec.executable ?? `${process.execPath} ${scriptOf(spec.program)}`} --help`,
    })
    this.#components.set(spec.name, component)
    return component
  }

  /** Forgets a component. It must not run. */
  remove(name: string): void {
    this.#components.delete(name)
  }

  statuses(): ComponentStatus[] {
    return [...this.#components.values()].map((component) => this.#statusNow(component))
  }

  /** Throws a ClusterError of kind `not-running` once `close` was called. */
  checkOpen(): void {
    if (this.#closing === undefined) return
    throw new ClusterError('not-running', 'the cluster is shutting down', {
      hint: 'wait until it has stopped, then start it with: skiff up',
    })
  }

  /** Calls `emit` on every change of a component until `work` ends. */
  async reporting(
    emit: (event: ComponentStatus) => void,
    work: () => Promise<void>,
  ): Promise<void> {
    this.#listeners.add(emit)
    try {
      await work()
    } finally {
      this.#listeners.delete(emit)
    }
  }

  /** The component's next run gets this flag too, and no run after it. */
  addToFirstRun(name: string, flag: string): void {
    this.#firstRun.set(name, [flag])
  }

  /** The component's next runs get these flags too, which win over its own; undefined: no more. */
  override(name: string, flags: readonly string[] | undefined): void {
    if (flags === undefined) this.#overrides.delete(name)
    else this.#overrides.set(name, flags)
  }

  /**
   * Starts every component, each after those it depends on; a few of the next load their code meanwhile. Rejects with the first
   * failure.
   */
  async start(): Promise<void> {
    const steps = this.#steps()
    for (const [index, step] of steps.entries()) {
      this.checkOpen()
      const started = Promise.all(step.map((component) => component.start()))
      // Programs of others do not wait to be told.
      const ours = (steps[index + 1] ?? []).filter(({ spec }) => spec.executable === undefined)
      for (const component of ours.slice(0, loadedAhead)) component.prepare()
      await started
    }
  }

  /** Stops every component, dependants first. Resolves when no process is left; no component starts any more. */
  close(): Promise<void> {
    return (this.#closing ??= this.#stopAll())
  }

  async #stopAll(): Promise<void> {
    for (const step of this.#steps().toReversed()) {
      await Promise.all(step.map((component) => component.stop()))
    }
    this.#record(this.all())
  }

  #steps(): ManagedComponent[][] {
    const specs = [...this.#components.values()].map(({ spec }) => spec)
    return startOrder(specs).map((step) => step.map(({ name }) => this.named(name)))
  }

  #changed(status: ComponentStatus): void {
    this.#record(this.all())
    for (const listener of this.#listeners) listener(status)
  }

  #statusNow(component: ManagedComponent): ComponentStatus {
    noticeStopped(component, this.#options.clock.now())
    return component.status()
  }

  #dependenciesOf(spec: ComponentSpec): ComponentStatus[] {
    return spec.dependsOn.flatMap((name) => {
      const component = this.#components.get(name)
      return component === undefined ? [] : [this.#statusNow(component)]
    })
  }

  /** The dependency that keeps a component from becoming ready, as a message. */
  #waitsFor(spec: ComponentSpec): string | undefined {
    const culprit = this.#dependenciesOf(spec).find(({ state }) => state !== 'ready')
    return culprit && `waits for ${culprit.name}, which is ${culprit.state}`
  }

  /** Since when all dependencies are ready, in milliseconds since the epoch; undefined while one is not. */
  #unhinderedSinceMs(spec: ComponentSpec): number | undefined {
    const all = this.#dependenciesOf(spec)
    if (all.some(({ state }) => state !== 'ready')) return undefined
    return Math.max(0, ...all.map(({ sinceMs }) => sinceMs))
  }

  #spawn(
    spec: ComponentSpec,
    { onReport, startsWhenTold, isRestart }: Parameters<ManagedComponentOptions['spawn']>[0],
  ): Child {
    // A start that was requested before the shutdown and waited: its process would outlive the supervisor.
    this.checkOpen()
    const { cluster, paths, clock, scriptOf, stopTimeoutMs } = this.#options
    const firstMs = this.#options.readyTimeoutMs
    const readyTimeoutMs = isRestart ? Math.max(firstMs, restartTimeoutMs) : firstMs
    const { stopBy } = this.#options.processControl
    const first = this.#firstRun.get(spec.name) ?? []
    const once = [...first, ...(this.#overrides.get(spec.name) ?? [])]
    this.#firstRun.delete(spec.name)
    return startChild(
      {
        onReport,
        name: spec.name,
        ...commandOf(spec, scriptOf, once),
        environment: {
          ...allocatorSettings,
          ...(spec.program === 'etcd' ? withoutEtcdVariables() : {}),
          ...(startsWhenTold ? { [startsWhenToldVariable]: '1' } : {}),
          [clusterMarker]: cluster.id,
          ...this.#options.environmentOf?.(spec.name),
        },
        cwd: paths.dir,
        logFile: logOf(paths, spec.name),
        // A node is ready once it has joined, and that can wait for an approval by hand.
        readyTimeoutMs: spec.program === 'node-agent' ? undefined : readyTimeoutMs,
        unhinderedSinceMs: () => this.#unhinderedSinceMs(spec),
        // Another program than Node has no such channel.
        stopBy: spec.executable === undefined ? stopBy : 'signal',
        ...(spec.healthUrl === undefined ? {} : { healthUrl: spec.healthUrl }),
        stopTimeoutMs,
      },
      clock,
    )
  }
}
