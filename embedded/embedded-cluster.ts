/** EmbeddedCluster: a whole cluster in this thread, over a store in memory; and what it is made from again, its image. */
import { join } from 'node:path'
import { pkiTexts } from '../certs/pki-files.ts'
import { createPki, issue } from '../certs/pki.ts'
import type { CredentialName } from '../certs/pki.ts'
import { loadAuthority } from '../certs/authority.ts'
import { clientProfile, nodeSubject } from '../certs/profiles.ts'
import { dialects } from '../components/api/dialect.ts'
import { createClient } from '../components/client/client.ts'
import type { Client } from '../components/client/client.ts'
import { systemClock } from '../components/component-base/clock.ts'
import { createMemoryFiles } from '../components/component-base/files.ts'
import type { MemoryFiles } from '../components/component-base/files.ts'
import { createLocalNetwork } from '../components/component-base/local-network.ts'
import { UnderWay } from '../components/component-base/under-way.ts'
import {
  clientCredentialFile,
  readNodeCredential,
  writeNodeCredential,
} from '../components/node-agent/join/node-credential.ts'
import { writeNodeKubeconfig } from '../components/node-agent/join/node-identity.ts'
import { createMemoryStore } from '../components/store/memory-store.ts'
import type { KeyValue, Store } from '../components/store/store.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'
import { serverUrl } from '../cluster/plan/cluster-config.ts'
import type { ClusterConfig, ExtraFlags, Program } from '../cluster/plan/cluster-config.ts'
import { defaultStorage } from '../cluster/plan/default-storage.ts'
import { createObjects, joinObjects } from '../cluster/plan/join-objects.ts'
import { planCluster, planNode } from '../cluster/plan/plan.ts'
import { apiServerNames, credentialKubeconfig } from '../cluster/plan/prepare.ts'
import { pathsIn } from '../cluster/state/state-dir.ts'
import type { StatePaths } from '../cluster/state/state-dir.ts'
import { ClusterClock } from './cluster-clock.ts'
import type { ClockState } from './cluster-clock.ts'
import { startComponent } from './component.ts'
import { ComponentFaults } from './component-faults.ts'
import type { EmbeddedComponent, Surroundings } from './component.ts'
import { LogTail } from './log-tail.ts'

/** A node as its agent is started; strings as flags take them. */
export interface EmbeddedNode {
  readonly name: string
  readonly flags: Readonly<Record<string, string>>
}

export interface EmbeddedClusterOptions {
  readonly nodes: readonly EmbeddedNode[]
  /** Beside the API server. */
  readonly components: readonly Program[]
  readonly extraFlags: ExtraFlags
  /** 0: any free one. */
  readonly port: number
  readonly seed: number
  /** Undefined: now. */
  readonly startAtMs: number | undefined
  /** Absolute path of a saved cluster to begin with. */
  readonly initialState: string | undefined
}

/** A cluster at one moment. It shares the stored bytes with the cluster it was taken of. */
export interface ClusterImage {
  readonly options: EmbeddedClusterOptions
  readonly nodes: readonly (EmbeddedNode & { readonly isStopped: boolean })[]
  readonly kvs: readonly KeyValue[]
  readonly revision: number
  readonly clock: ClockState
  readonly files: ReadonlyMap<string, string>
}

const address = '127.0.0.1'
const serviceRange = '10.96.0.0/16'
/** RFC 5280 (4.1.2.5): no well-defined end. Clients compare certificates with their own clocks, the cluster with its. */
const certificatesEndMs = Date.parse('9999-12-31T23:59:59Z')
const dialect = dialects.kubernetes

/** What differs from a cluster of processes: one of each needs no lease, and nothing here has a folder on disk. */
const ownFlags: ExtraFlags = {
  'api-server': { 'feature-gates': 'APIServerIdentity=false' },
  'controller-manager': { 'leader-elect': 'false', 'secure-port': '-1' },
  scheduler: { 'leader-elect': 'false', 'secure-port': '-1' },
  'node-agent': { 'feature-gates': 'ContainerCheckpoint=false' },
}

/** The user's flags win, but gates of both count. */
function mergedFlags(given: ExtraFlags): ExtraFlags {
  const merged: Partial<Record<Program, Readonly<Record<string, string>>>> = { ...ownFlags }
  for (const [name, flags] of Object.entries(given)) {
    const program = name as Program
    const gates = [ownFlags[program]?.['feature-gates'], flags['feature-gates']]
    const both = gates.filter((text) => text !== undefined).join()
    merged[program] = {
      ...ownFlags[program],
      ...flags,
      ...(both === '' ? {} : { 'feature-gates': both }),
    }
  }
  return merged
}

interface RunningNode extends EmbeddedNode {
  readonly component: EmbeddedComponent | undefined
}

export class EmbeddedCluster {
  readonly #options: EmbeddedClusterOptions
  readonly #files: MemoryFiles
  readonly #clock: ClusterClock
  readonly #store: Store
  readonly #network = createLocalNetwork()
  readonly #underWay = new UnderWay(systemClock)
  readonly #logs = new LogTail()
  /** Components that have failed since they were ready. */
  readonly faults = new ComponentFaults()
  readonly #components: EmbeddedComponent[] = []
  readonly #nodes = new Map<string, RunningNode>()
  readonly #paths: StatePaths
  #config: ClusterConfig
  #client: Client | undefined

  private constructor(options: EmbeddedClusterOptions, image: ClusterImage | undefined) {
    this.#options = options
    this.#files = createMemoryFiles(image?.files)
    this.#paths = pathsIn(this.#files.root)
    const { seed, startAtMs } = options
    const initial = startAtMs === undefined ? { seed } : { seed, nowMs: startAtMs }
    this.#clock = new ClusterClock(systemClock, image?.clock ?? initial, this.#underWay)
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
      extraFlags: mergedFlags(options.extraFlags),
    }
  }

  /** Resolves when its nodes are Ready. Rejects with what keeps a component from starting; nothing is left then. */
  static async start(options: EmbeddedClusterOptions): Promise<EmbeddedCluster> {
    const cluster = new EmbeddedCluster(options, undefined)
    return await cluster.#begin(undefined)
  }

  /** Goes on from an image, on the given port. */
  static async from(image: ClusterImage, port: number): Promise<EmbeddedCluster> {
    const cluster = new EmbeddedCluster({ ...image.options, port }, image)
    return await cluster.#begin(image)
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
    return {
      certificatePem: this.#files.readNow(join(this.#paths.pki, 'ca.crt')),
      privateKeyPem: this.#files.readNow(join(this.#paths.pki, 'ca.key')),
    }
  }

  get nodeNames(): readonly string[] {
    return [...this.#nodes.keys()]
  }

  logs(program: Program): readonly string[] {
    return this.#logs.of(program)
  }

  /** Resolves when it is Ready. */
  async addNode(node: EmbeddedNode): Promise<void> {
    await this.#writeNodeFiles(node.name)
    this.#nodes.set(node.name, { ...node, component: undefined })
    await this.startNode(node.name)
  }

  async startNode(name: string): Promise<void> {
    const node = this.#node(name)
    if (node.component !== undefined) return
    const { args } = planNode(node, this.#config, this.#paths)
    // Its identity is there already.
    const kept = args.filter((arg) => !/^--(config|server|discovery-token-ca-cert-hash)=/.test(arg))
    const component = startComponent('node-agent', kept, this.#around(name))
    this.#nodes.set(name, { ...node, component })
    await component.ready
  }

  async stopNode(name: string): Promise<void> {
    const { component, ...node } = this.#node(name)
    this.#nodes.set(name, { ...node, component: undefined })
    this.faults.clear(name)
    await component?.stop()
  }

  async removeNode(name: string): Promise<void> {
    await this.stopNode(name)
    this.#nodes.delete(name)
    try {
      await this.#admin.resource(resourcesOf(dialect).nodes).delete({ name })
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error
    }
  }

  /** Everything as it is now; one revision. */
  async image(): Promise<ClusterImage> {
    const { kvs, revision } = await this.#store.range({ prefix: '' })
    return {
      options: this.#options,
      nodes: [...this.#nodes.values()].map(({ name, flags, component }) => ({
        name,
        flags,
        isStopped: component === undefined,
      })),
      kvs,
      revision,
      clock: this.#clock.state,
      files: this.#files.all(),
    }
  }

  /** Ends the components, clients first. Idempotent. */
  async close(): Promise<void> {
    this.#client?.close()
    await Promise.all([...this.#nodes.values()].map(async (node) => node.component?.stop()))
    for (const component of this.#components.splice(0).toReversed()) await component.stop()
    this.#clock.end()
  }

  async #begin(image: ClusterImage | undefined): Promise<EmbeddedCluster> {
    try {
      if (image === undefined) await this.#writePki()
      else await this.#store.load(image.kvs, image.revision)
      await this.#startControlPlane(image === undefined)
      const nodes =
        image?.nodes ?? this.#options.nodes.map((node) => ({ ...node, isStopped: false }))
      await Promise.all(
        nodes.map(async ({ isStopped, ...node }) => {
          if (isStopped) this.#nodes.set(node.name, { ...node, component: undefined })
          else await this.addNode(node)
        }),
      )
      return this
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async #startControlPlane(isNew: boolean): Promise<void> {
    const [apiServer] = planCluster(this.#config, this.#paths)
    if (apiServer === undefined) throw new Error('the plan has no API server')
    const { initialState } = this.#options
    // A saved cluster may hold what cannot be read.
    const given = { store: this.#store, isProven: initialState === undefined }
    const around = { ...this.#around(apiServer.name), given }
    // An image has it already.
    const begins = isNew && initialState !== undefined ? [`--initial-state=${initialState}`] : []
    const server = startComponent('api-server', [...apiServer.args, ...begins], around)
    this.#components.push(server)
    const { port } = await server.ready
    this.#config = { ...this.#config, port: Number(port) }
    if (isNew) await this.#createObjects()
    const others = planCluster(this.#config, this.#paths).filter(({ program }) =>
      this.#options.components.includes(program),
    )
    await Promise.all(
      others.map(async ({ program, args, files }) => {
        for (const file of files) if (file.kind === 'kubeconfig') await this.#writeKubeconfig(file)
        const component = startComponent(program, args, this.#around(program))
        this.#components.push(component)
        await component.ready
      }),
    )
  }

  async #createObjects(): Promise<void> {
    const { certificatePem } = this.authority
    await createObjects(this.#admin, [
      ...joinObjects({ dialect, server: this.server, authorityPem: certificatePem }),
      defaultStorage(dialect),
    ])
  }

  async #writePki(): Promise<void> {
    const pki = createPki({
      apiServer: apiServerNames(this.#config),
      nowMs: Math.min(this.#clock.now(), systemClock.now()),
      untilMs: certificatesEndMs,
    })
    for (const [name, text] of pkiTexts(pki))
      await this.#files.write(join(this.#paths.pki, name), text)
  }

  async #writeKubeconfig(file: {
    readonly path: string
    readonly credential: CredentialName
  }): Promise<void> {
    const at = { config: this.#config, paths: this.#paths }
    await this.#files.write(file.path, await credentialKubeconfig(file.credential, at))
  }

  /** The node's identity, as it would have it after a join; one from before stays. */
  async #writeNodeFiles(nodeName: string): Promise<void> {
    const rootDir = join(this.#paths.nodes, nodeName)
    const certDir = join(rootDir, 'pki')
    const files = this.#files
    if ((await readNodeCredential(certDir, clientCredentialFile, files)) === undefined) {
      const { certificatePem: cert, privateKeyPem: key } = issue(loadAuthority(this.authority), {
        profile: clientProfile(nodeSubject(nodeName)),
        nowMs: this.#clock.now(),
      })
      await writeNodeCredential(certDir, clientCredentialFile, { cert, key }, files)
    }
    const place = { nodeName, certDir, kubeconfig: join(rootDir, 'kubeconfig'), files }
    await writeNodeKubeconfig(place, { server: this.server, ca: this.authority.certificatePem })
  }

  #around(part: string): Surroundings {
    return {
      clock: this.#clock.of(part),
      files: this.#files,
      network: this.#network,
      underWay: this.#underWay,
      failed: (text) => this.faults.report(part, text),
      write: (line) => this.#logs.write(line),
    }
  }

  #node(name: string): RunningNode {
    const node = this.#nodes.get(name)
    if (node === undefined) throw new Error(`the cluster has no node ${name}`)
    return node
  }

  get #admin(): Client {
    const pki = (file: string): string => this.#files.readNow(join(this.#paths.pki, file))
    this.#client ??= createClient({
      server: this.server,
      ca: pki('ca.crt'),
      credentials: { cert: pki('admin.crt'), key: pki('admin.key') },
      network: this.#network,
      dialect,
      clock: this.#clock.of('cluster'),
    })
    return this.#client
  }
}
