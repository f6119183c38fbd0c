/** EmbeddedCluster: a whole cluster in this thread, over a store in memory; and what it is made from again, its image. */
import { loadAuthority } from '../certs/authority.ts'
import { caHashOf } from '../cluster/plan/ca-hash.ts'
import { dialects } from '../components/api/dialect.ts'
import { createClient } from '../components/client/client.ts'
import type { Client, ClientOptions } from '../components/client/client.ts'
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { messageOf, silentLog } from '../components/component-base/log.ts'
import { createMemoryFiles } from '../components/component-base/files.ts'
import type { MemoryFiles } from '../components/component-base/files.ts'
import { createLocalNetwork } from '../components/component-base/local-network.ts'
import { nextTurn } from '../components/component-base/next-turn.ts'
import { UnderWay } from '../components/component-base/under-way.ts'
import { createMemoryStore } from '../components/store/memory-store.ts'
import type { Store, StoreEvent } from '../components/store/store.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'
import { serverUrl } from '../cluster/plan/cluster-config.ts'
import type { ClusterConfig, Program } from '../cluster/plan/cluster-config.ts'
import { initialObjects } from '../cluster/plan/initial-objects.ts'
import { createObjects } from '../cluster/plan/join-objects.ts'
import { planCluster, planNode } from '../cluster/plan/plan.ts'
import { stageObjects } from '../cluster/plan/stage-objects.ts'
import { pathsIn } from '../cluster/state/state-dir.ts'
import type { StatePaths } from '../cluster/state/state-dir.ts'
import { Chaos } from '../cluster/lab/chaos/chaos.ts'
import { partsOfEmbedded } from '../cluster/lab/chaos/chaos-parts.ts'
import { FaultBoard } from '../cluster/lab/fault-board.ts'
import { noSuchPart } from '../cluster/lab/no-such-part.ts'
import { ClusterClock } from './cluster-clock.ts'
import { ClusterFiles } from './cluster-files.ts'
import type { ClusterImage } from './cluster-image.ts'
import { filledImage } from '../components/api-server/saving/base-image.ts'
import { baseImageFor } from './base-image.ts'
import type { BaseImageKind } from './base-image.ts'
import { startComponent } from './component.ts'
import { ComponentFaults } from './component-faults.ts'
import type { EmbeddedComponent, Surroundings } from './component.ts'
import type { ComponentLife } from './component-life.ts'
import type { AgentByHand } from './agent-by-hand.ts'
import { EmbeddedPart } from './embedded-part.ts'
import { EmbeddedLevers } from './embedded-levers.ts'
import { mergedFlags } from './embedded-flags.ts'
import { FaultyNetwork, latencyOf } from './faulty-network.ts'
import { heldClock } from './held-clock.ts'
import { heldNetwork } from './held-network.ts'
import { heldStore } from './held-store.ts'
import { LogTail } from './log-tail.ts'
import type { EmbeddedClusterOptions, EmbeddedNode } from './embedded-options.ts'

/** What a cluster begins with; neither: with nothing. */
interface Beginning {
  readonly image?: ClusterImage | undefined
  /** The text of a base image. */
  readonly base?: string | undefined
}

const address = '127.0.0.1'
const serviceRange = '10.96.0.0/16'
const dialect = dialects.kubernetes
/** Flags of nodes whose host is never measured. */
const unmeasured = { 'eviction-hard': '' }

interface RunningNode extends EmbeddedNode {
  readonly part: EmbeddedPart
}

export class EmbeddedCluster {
  readonly #options: EmbeddedClusterOptions
  readonly #files: MemoryFiles
  readonly #clock: ClusterClock
  readonly #store: Store
  readonly #network = createLocalNetwork()
  readonly #faulty: FaultyNetwork
  readonly #underWay = new UnderWay(systemClock)
  readonly #logs = new LogTail()
  /** Components that have failed since they were ready. */
  readonly faults = new ComponentFaults()
  /** Faults that its user declares. */
  readonly lab: FaultBoard
  readonly chaos: Chaos
  readonly #parts = new Map<string, EmbeddedPart>()
  readonly #levers: EmbeddedLevers
  readonly #nodes = new Map<string, RunningNode>()
  readonly #paths: StatePaths
  readonly #own: ClusterFiles
  /** Lines of agents that were started by hand. */
  #logged = 0
  #config: ClusterConfig
  #client: Client | undefined

  private constructor(options: EmbeddedClusterOptions, image?: ClusterImage) {
    this.#options = options
    this.#files = createMemoryFiles(image?.files, options.folder)
    this.#paths = pathsIn(this.#files.root)
    const { seed, startAtMs, simulation } = options
    const initial = startAtMs === undefined ? { seed } : { seed, nowMs: startAtMs }
    this.#clock = new ClusterClock(systemClock, image?.clock ?? initial, {
      underWay: this.#underWay,
      speed: simulation === undefined ? 1 : 0,
    })
    this.#own = new ClusterFiles(this.#files, this.#paths, this.#clock)
    const labClock = this.#clock.of('lab')
    this.#faulty = new FaultyNetwork(this.#network, {
      clock: labClock,
      underWay: this.#underWay,
      latency: simulation && latencyOf(this.#clock.of('latency'), simulation.latencyMs),
    })
    this.#levers = this.#createLevers(labClock)
    this.lab = new FaultBoard(this.#levers, { clock: labClock, log: silentLog })
    const parts = () => partsOfEmbedded(this.#options.components, this.nodeNames)
    this.chaos = new Chaos({ faults: this.lab, clock: labClock, parts })
    // Of one fault after the other of a chaos something is left that waits for time, also once the fault has ended.
    this.#clock.keepsBack = () => this.lab.keepsBack || this.chaos.isUnderWay
    this.#clock.mayRest = () => this.lab.isEmpty && !this.chaos.isUnderWay
    this.#store = createMemoryStore()
    this.#config = {
      name: 'embedded',
      id: this.#clock.of('cluster').uuid(),
      dialect: dialect.name,
      address,
      port: options.port,
      serviceRange,
      caHash: '',
      nodes: [],
      extraFlags: mergedFlags(options.extraFlags, options.folder),
      ...(options.stages === undefined ? {} : { stages: options.stages }),
    }
  }

  /**
   * Resolves when its nodes are Ready. Rejects with what keeps a component from starting; nothing is left then. `baseImage` gives the
   * text of a base image, where there is one: the cluster starts from it if its options allow.
   */
  static async start(
    options: EmbeddedClusterOptions,
    baseImage: (kind: BaseImageKind) => string | undefined = () => undefined,
  ): Promise<EmbeddedCluster> {
    const cluster = new EmbeddedCluster(options)
    const kind = baseImageFor(options)
    const begun = cluster.#begin({ base: kind && baseImage(kind) })
    return await (options.simulation === undefined ? begun : cluster.#clock.stepUntil(begun))
  }

  /** Goes on from an image, on the given port. */
  static async from(image: ClusterImage, port: number): Promise<EmbeddedCluster> {
    const cluster = new EmbeddedCluster({ ...image.options, port }, image)
    return await cluster.#begin({ image })
  }

  /** Goes on from an image as a simulation, in which what comes next follows from the image and the seed. */
  static async simulated(
    image: ClusterImage,
    { seed, latencyMs }: { readonly seed: number; readonly latencyMs: number },
  ): Promise<EmbeddedCluster> {
    const simulation = { latencyMs }
    const options = { ...image.options, port: 0, seed, restarts: true, simulation }
    // What the host is short of, and how long it takes to say so, must not matter.
    const nodes = image.nodes.map((node) => ({ ...node, flags: { ...node.flags, ...unmeasured } }))
    const given = { ...image, nodes }
    // What was drawn stays drawn: no name and no uid comes twice.
    const cluster = new EmbeddedCluster(options, { ...given, clock: { ...image.clock, seed } })
    return await cluster.#clock.stepUntil(cluster.#begin({ image: given }))
  }

  get server(): string {
    return serverUrl(this.#config)
  }

  get port(): number {
    return this.#config.port
  }

  get clock(): ClusterClock {
    return this.#clock
  }

  get authority() {
    return this.#own.authority
  }

  /** Certificates of its authorities, PEM. */
  get authorities() {
    return this.#own.authorities
  }

  get nodeNames(): readonly string[] {
    return [...this.#nodes.keys()]
  }

  /** Time moves to the next due timer and on, until an object is written or an agent that was started by hand logs, or this much has passed. Resolves with how much did. */
  async leap(ms: number): Promise<number> {
    const { time } = this.#clock
    const startMs = time.nowMs
    const happened = async (): Promise<number> => (await this.#store.revision()) + this.#logged
    const before = await happened()
    await time.leap(ms, async () => (await happened()) === before)
    // What is sent to clients outside is on its way.
    await nextTurn()
    return time.nowMs - startMs
  }

  logs(program: Program): readonly string[] {
    return this.#logs.of(program)
  }

  /** Resolves when it is Ready. */
  async addNode(node: EmbeddedNode): Promise<void> {
    await this.#own.writeNode(node.name, this.#config)
    this.#nodes.set(node.name, { ...node, part: this.#nodePart(node) })
    await this.startNode(node.name)
  }

  async startNode(name: string): Promise<void> {
    await this.#node(name).part.start()
  }

  /** Starts an agent as a user would by hand, on its way into the cluster. It is one of the nodes from then on. */
  joinNode(agent: AgentByHand): void {
    const { name } = agent.options
    const authorityHash = caHashOf(loadAuthority(this.authority))
    const given = agent.args({ ...this.#config, caHash: authorityHash }, this.#paths)
    // What it does before it has something to say.
    const begun = this.#underWay.begin()
    const part = this.#createPart(name, async (life) => {
      const around = this.#around(name, life)
      const write = (line: string): void => {
        this.#logged += 1
        begun()
        agent.write(line)
        around.write(line)
      }
      return startComponent('node-agent', given, { ...around, write })
    })
    this.#nodes.set(name, { name, flags: {}, part })
    agent.follow(part.start())
  }

  /** Ends the agent of a node, which stays registered. */
  async forgetNode(name: string): Promise<void> {
    await this.#nodes.get(name)?.part.stop()
    this.#nodes.delete(name)
  }

  async stopNode(name: string): Promise<void> {
    const { part } = this.#node(name)
    this.faults.clear(name)
    await part.stop()
  }

  /** A component, or a node's agent. Throws for one that the cluster does not have. */
  part(name: string): EmbeddedPart {
    const part = this.#parts.get(name) ?? this.#nodes.get(name)?.part
    if (part === undefined) throw noSuchPart(name, [...this.#parts.keys(), ...this.#nodes.keys()])
    return part
  }

  /** May be tried again after a request that failed. */
  async removeNode(name: string): Promise<void> {
    await this.stopNode(name)
    try {
      await this.#admin.resource(resourcesOf(dialect).nodes).delete({ name })
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
    this.#nodes.delete(name)
  }

  /** Everything as it is now; one revision. */
  async image(): Promise<ClusterImage> {
    const { kvs, revision } = await this.#store.range({ prefix: '' })
    return {
      options: this.#options,
      nodes: [...this.#nodes.values()].map(({ name, flags, part }) => ({
        name,
        flags,
        isStopped: !part.isRunning,
      })),
      kvs,
      revision,
      clock: this.#clock.state,
      files: this.#files.all(),
    }
  }

  /** Hands out every commit from now on, until the signal aborts. */
  async follow(sink: (events: readonly StoreEvent[]) => void, signal: AbortSignal): Promise<void> {
    const fromRevision = await this.#store.revision()
    void this.#store.watch({ prefix: '', fromRevision, signal }, sink)
  }

  /** A client of the administrator, whose messages travel as those of a part with this name do. */
  clientOf(part: string): Client {
    return this.#connect({
      network: this.#faulty.of(part),
      underWay: this.#underWay,
      userAgent: part,
      clock: this.#clock.of(part),
    })
  }

  /** Ends the components, clients first. Idempotent. */
  async close(): Promise<void> {
    await this.chaos.end()
    this.#client?.close()
    await Promise.all([...this.#nodes.values()].map(({ part }) => part.stop()))
    for (const part of [...this.#parts.values()].toReversed()) await part.stop()
    this.#clock.end()
  }

  async #begin({ image, base }: Beginning): Promise<EmbeddedCluster> {
    try {
      if (image === undefined) await this.#own.writePki(this.#config)
      else await this.#store.load(image.kvs, image.revision)
      if (base !== undefined) await this.#loadBase(base)
      await this.#startControlPlane({ image, base })
      const nodes =
        image?.nodes ?? this.#options.nodes.map((node) => ({ ...node, isStopped: false }))
      await Promise.all(
        nodes.map(async ({ isStopped, ...node }) => {
          if (isStopped) this.#nodes.set(node.name, { ...node, part: this.#nodePart(node) })
          else await this.addNode(node)
        }),
      )
      return this
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async #loadBase(base: string): Promise<void> {
    const clock = this.#clock.of('api-server')
    const kvs = filledImage(base, { clock, ...this.authorities })
    await this.#store.load(kvs, kvs.length)
  }

  async #startControlPlane({ image, base }: Beginning): Promise<void> {
    const isNew = image === undefined
    const server = this.#serverPart(isNew)
    this.#parts.set('api-server', server)
    const { port } = await server.start()
    this.#config = { ...this.#config, port: Number(port) }
    if (isNew) await this.#createObjects(base !== undefined)
    const others = planCluster(this.#config, this.#paths).filter(
      ({ program }) => program === 'stage-runner' || this.#options.components.includes(program),
    )
    await Promise.all(
      others.map(async ({ program, args, files }) => {
        for (const file of files)
          if (file.kind === 'kubeconfig') await this.#own.writeKubeconfig(file, this.#config)
          else if (file.kind === 'text') await this.#files.write(file.path, file.text)
        const part = this.#createPart(program, async (life) =>
          startComponent(program, args, this.#around(program, life)),
        )
        this.#parts.set(program, part)
        await part.start()
      }),
    )
  }

  #serverPart(isNew: boolean): EmbeddedPart {
    const { initialState } = this.#options
    return this.#createPart('api-server', async (life, runs) => {
      const [planned] = planCluster(this.#config, this.#paths)
      if (planned === undefined) throw new Error('the plan has no API server')
      // A saved cluster may hold what cannot be read.
      const given = { store: heldStore(this.#store, life), isProven: initialState === undefined }
      // An image has it already, and so has a later run.
      const isFirst = isNew && runs === 1 && initialState !== undefined
      const begins = isFirst ? [`--initial-state=${initialState}`] : []
      const around = { ...this.#around(planned.name, life), given }
      return startComponent('api-server', [...planned.args, ...begins], around)
    })
  }

  #nodePart(node: EmbeddedNode): EmbeddedPart {
    return this.#createPart(node.name, async (life) => {
      const { args } = planNode(node, this.#config, this.#paths)
      // Its identity is there already.
      const kept = args.filter(
        (arg) => !/^--(config|server|discovery-token-ca-cert-hash)=/.test(arg),
      )
      return startComponent('node-agent', kept, this.#around(node.name, life))
    })
  }

  #createPart(
    name: string,
    launch: (life: ComponentLife, runs: number) => Promise<EmbeddedComponent>,
  ): EmbeddedPart {
    return new EmbeddedPart({
      launch,
      underWay: this.#underWay,
      clock: this.#clock,
      onReady: (runs) => this.#levers.started(name, runs),
      onFailure: (error) =>
        this.faults.report(name, `the ${name} did not start again: ${messageOf(error)}`),
    })
  }

  async #createObjects(hasBase: boolean): Promise<void> {
    const { server } = this
    const { certificatePem: authorityPem } = this.authority
    const objects = initialObjects({ dialect, server, authorityPem, hasBase })
    const { stages } = this.#options
    const ofStages = stages === undefined ? [] : stageObjects(dialect, stages)
    await createObjects(this.#admin, [...objects, ...ofStages])
  }

  #around(part: string, life: ComponentLife): Surroundings {
    return {
      clock: heldClock(this.#clock.of(part), life),
      files: this.#files,
      network: heldNetwork(this.#faulty.of(part), life),
      underWay: life.underWay,
      suspension: life,
      failed: (text, error) => {
        if (this.#options.restarts ?? this.#levers.isMeant(part, error)) this.part(part).crashed()
        else this.faults.report(part, text)
      },
      write: (line) => life.run(() => this.#logs.write(line)),
    }
  }

  #createLevers(clock: Clock): EmbeddedLevers {
    return new EmbeddedLevers({
      clock,
      network: this.#faulty,
      programs: () => this.#options.components,
      nodes: () => this.nodeNames,
      part: (name) => this.part(name),
      client: () => this.#connect(),
    })
  }

  #node(name: string): RunningNode {
    const node = this.#nodes.get(name)
    if (node === undefined) throw new Error(`the cluster has no node ${name}`)
    return node
  }

  get #admin(): Client {
    this.#client ??= this.#connect()
    return this.#client
  }

  #connect(around: Partial<ClientOptions> = {}): Client {
    return createClient({
      server: this.server,
      ca: this.#own.pki('ca.crt'),
      credentials: { cert: this.#own.pki('admin.crt'), key: this.#own.pki('admin.key') },
      network: this.#network,
      dialect,
      clock: this.#clock.of('cluster'),
      ...around,
    })
  }
}
