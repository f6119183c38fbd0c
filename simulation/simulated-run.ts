/** One run of a simulation: a whole cluster in this thread, in virtual time, with the faults of a plan. */
import { dialects } from '../components/api/dialect.ts'
import type { Client } from '../components/client/client.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { messageOf } from '../components/component-base/log.ts'
import type { ChaosMix } from '../cluster/lab/chaos/chaos-mix.ts'
import { partsOfEmbedded } from '../cluster/lab/chaos/chaos-parts.ts'
import { planChaos } from '../cluster/lab/chaos/plan-chaos.ts'
import type { ClusterImage } from '../embedded/cluster-image.ts'
import { EmbeddedCluster } from '../embedded/embedded-cluster.ts'
import { createJudge } from '../monitors/judge.ts'
import type { Judge } from '../monitors/judge.ts'
import type { Monitor } from '../monitors/monitor.ts'
import { violationLines } from '../monitors/violation-text.ts'
import { planStops } from './controller-stops.ts'
import { isStop } from './simulated-fault.ts'
import type { SimulatedFault } from './simulated-fault.ts'
import { SimulatedHistory } from './simulated-history.ts'
import { runStoppedController } from './stopped-controller.ts'

/** The cluster's nodes, which a story may take away and bring. */
export type SimulatedNodes = Pick<
  EmbeddedCluster,
  'nodeNames' | 'addNode' | 'startNode' | 'stopNode' | 'removeNode'
>

/** What a part that the user brings may use: nothing else waits in the cluster's time. */
export interface SimulatedPart {
  readonly client: Client
  readonly nodes: SimulatedNodes
  readonly clock: Clock
  /** Aborts when the run is over. */
  readonly signal: AbortSignal
}

export interface SimulationSpec {
  /** Of a new cluster; an image has its own. */
  readonly nodes: number
  /** What each run begins with. */
  readonly image?: ClusterImage | undefined
  /** How long faults come. */
  readonly forMs: number
  readonly mix: ChaosMix
  /** Between two stops of a controller, on average; 0: none is stopped. */
  readonly stopsEveryMs: number
  readonly latencyMs: number
  readonly monitors: readonly Monitor[]
  /** What happens; the run goes on until it has ended, and the faults. */
  readonly story: (part: SimulatedPart) => Promise<void>
  /** From the beginning to the end, unless they are stopped. */
  readonly controllers: readonly ((part: SimulatedPart) => Promise<void>)[]
  /** When all faults have ended and the cluster has had time to come to rest. */
  readonly check: (part: SimulatedPart) => Promise<void>
}

export interface SimulationFailure {
  /** The monitor's name, or what failed: two failures of a kind are one bug. */
  readonly kind: string
  readonly text: string
}

export interface SimulatedRun {
  readonly seed: number
  readonly faults: readonly SimulatedFault[]
  readonly failure: SimulationFailure | undefined
  /** Of everything that was written, in its order. */
  readonly hash: string
  readonly commits: number
  /** Of the cluster's time. */
  readonly tookMs: number
}

const startAtMs = Date.UTC(2030, 0, 1)
/** Monitors wait a minute for what has to come. */
const patienceMs = 120_000
/** What has failed again and again is tried again after as long a time, upstream as here. */
const backoffs = 2
/** A story of which nothing has come by then waits for something that does not happen. */
const mostMs = 3_600_000
const components = ['controller-manager', 'scheduler'] as const
/** The same on every machine, which is not asked for more. */
const nodeFlags = {
  capacity: 'cpu=4,memory=8Gi,ephemeral-storage=100Gi,pods=110',
  'eviction-hard': '',
}

/** The faults that the seed draws. */
export function faultsOf(
  seed: number,
  { nodes, image, forMs, mix, controllers, stopsEveryMs }: SimulationSpec,
): readonly SimulatedFault[] {
  if (forMs === 0) return []
  const parts =
    image === undefined
      ? partsOfEmbedded(components, namesOf(nodes))
      : partsOfEmbedded(
          image.options.components,
          image.nodes.map(({ name }) => name),
        )
  return [
    ...planChaos({ seed, forMs, mix, parts }),
    ...planStops({ seed, controllers: controllers.length, forMs, everyMs: stopsEveryMs }),
  ]
}

/** Never rejects for what goes wrong in the simulated cluster. */
export async function runSimulation(
  spec: SimulationSpec,
  { seed, faults }: Pick<SimulatedRun, 'seed' | 'faults'>,
): Promise<SimulatedRun> {
  const cluster = await startSimulated(spec, seed)
  const beganMs = cluster.clock.now()
  const run = new Run(cluster, spec)
  try {
    await run.begin()
    await run.tell({ seed, faults })
    const { hash, commits } = run.history
    const tookMs = cluster.clock.now() - beganMs
    return { seed, faults, failure: run.failure, hash, commits, tookMs }
  } finally {
    await run.end()
  }
}

async function startSimulated(
  { nodes, image, latencyMs }: SimulationSpec,
  seed: number,
): Promise<EmbeddedCluster> {
  if (image !== undefined) return await EmbeddedCluster.simulated(image, { seed, latencyMs })
  return await EmbeddedCluster.start({
    nodes: namesOf(nodes).map((name) => ({ name, flags: nodeFlags })),
    components,
    extraFlags: {},
    port: 0,
    seed,
    startAtMs,
    initialState: undefined,
    restarts: true,
    simulation: { latencyMs },
  })
}

function namesOf(nodes: number): string[] {
  return Array.from({ length: nodes }, (_, index) => `node-${index + 1}`)
}

class Run {
  readonly history: SimulatedHistory
  failure: SimulationFailure | undefined
  readonly #cluster: EmbeddedCluster
  readonly #spec: SimulationSpec
  readonly #judge: Judge
  readonly #over = new AbortController()
  readonly #clients: Client[] = []

  constructor(cluster: EmbeddedCluster, spec: SimulationSpec) {
    this.#cluster = cluster
    this.#spec = spec
    const { clock } = cluster
    const dialect = dialects.kubernetes
    this.#judge = createJudge({
      monitors: spec.monitors,
      clock,
      dialect,
      watched: () => this.history.kinds,
      authorOf: () => undefined,
      onViolation: (violation) =>
        this.#fail(violation.monitor, violationLines(violation).join('\n')),
    })
    this.history = new SimulatedHistory({
      dialect,
      clock,
      onChange: (change) => this.#judge.take(change),
    })
  }

  async begin(): Promise<void> {
    const { kvs } = await this.#cluster.image()
    this.history.begin(kvs)
    await this.#cluster.follow((events) => this.history.take(events), this.#over.signal)
  }

  async tell({ seed, faults }: Pick<SimulatedRun, 'seed' | 'faults'>): Promise<void> {
    const { story, controllers, check, forMs, mix } = this.#spec
    const { clock, chaos } = this.#cluster
    for (const [index, controller] of controllers.entries())
      void this.#control(index + 1, controller, faults)
    const told = [this.#guarded('story', story)]
    if (forMs > 0) {
      const plan = faults.flatMap((one) => (isStop(one) ? [] : [one]))
      await chaos.begin({ seed, forMs, mix, plan })
      told.push(chaos.over().then(() => {}))
    }
    await this.#during(Promise.all(told))
    if (this.failure !== undefined) return
    await clock.advance(backoffs * forMs)
    // What a fault has held up is nobody's fault: only from now on time counts.
    this.#judge.rest(false)
    await clock.advance(patienceMs)
    this.#judge.rest(true)
    await this.#during(this.#guarded('check', check))
  }

  async end(): Promise<void> {
    this.#over.abort(new Error('the simulation is over'))
    for (const client of this.#clients) client.close()
    await this.#cluster.clock.stepUntil(this.#cluster.close())
  }

  /** Time goes on until the work has ended, or something has failed. */
  async #during(work: Promise<unknown>): Promise<void> {
    const { clock } = this.#cluster
    const endMs = clock.now() + mostMs
    const failed = Promise.withResolvers<void>()
    const look = (): void => {
      if (clock.now() > endMs)
        this.#fail('endless', 'the story has not ended within an hour of the cluster’s time')
      if (this.failure !== undefined) failed.resolve()
    }
    await clock.stepUntil(Promise.race([work, failed.promise]), look)
  }

  async #guarded(kind: string, work: (part: SimulatedPart) => Promise<void>): Promise<void> {
    const { signal } = this.#over
    const clock = this.#cluster.clock.of(kind)
    await this.#judged(
      kind,
      async () => await work({ client: this.#connect(kind), nodes: this.#nodes, clock, signal }),
    )
  }

  /** A node that comes has what the others have, unless it says otherwise. */
  get #nodes(): SimulatedNodes {
    const cluster = this.#cluster
    return {
      get nodeNames() {
        return cluster.nodeNames
      },
      addNode: async ({ name, flags }) =>
        await cluster.addNode({ name, flags: { ...nodeFlags, ...flags } }),
      startNode: async (name) => await cluster.startNode(name),
      stopNode: async (name) => await cluster.stopNode(name),
      removeNode: async (name) => await cluster.removeNode(name),
    }
  }

  /** A controller, with those of the faults that stop it. */
  async #control(
    number: number,
    controller: SimulationSpec['controllers'][number],
    faults: readonly SimulatedFault[],
  ): Promise<void> {
    const kind = `controller ${number}`
    const clock = this.#cluster.clock.of(kind)
    await this.#judged(
      kind,
      async () =>
        await runStoppedController({
          stops: faults.filter(isStop).filter((stop) => stop.controller === number),
          untilMs: this.#spec.forMs,
          clock,
          signal: this.#over.signal,
          connect: () => this.#connect(kind),
          work: async (life) => await controller({ ...life, nodes: this.#nodes, clock }),
        }),
    )
  }

  #connect(kind: string): Client {
    const client = this.#cluster.clientOf(kind.replace(' ', '-'))
    this.#clients.push(client)
    return client
  }

  async #judged(kind: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!this.#over.signal.aborted) this.#fail(kind, messageOf(error))
    }
  }

  #fail(kind: string, text: string): void {
    this.failure ??= { kind, text }
  }
}
