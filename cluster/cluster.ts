/** Cluster: the library's view of a running cluster. Starting one, clients for it, its nodes and its tokens. */
import { rmSync } from 'node:fs'
import type { Client } from '../components/client/client.ts'
import { resourcesOf } from '../components/api/resources.ts'
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { environment } from '../components/component-base/environment.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'
import { createBootstrapToken, formatToken, tokenSecret } from './plan/bootstrap-token.ts'
import type { BootstrapToken, TokenSecretOptions } from './plan/bootstrap-token.ts'
import { bringUp } from './bring-up.ts'
import type { Progress } from './bring-up.ts'
import { answerWithinMs, clusterClient } from './cluster-client.ts'
import type { Identity } from './identity.ts'
import { dialectOf, readClusterConfig, serverUrl } from './plan/cluster-config.ts'
import type { ClusterConfig, NodeConfig } from './plan/cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import { connectControl } from './control-client.ts'
import type { ControlClient } from './control-client.ts'
import type { ComponentStatus } from './control-protocol.ts'
import type { Lab } from './lab/lab.ts'
import { processLab } from './lab/process-lab.ts'
import { checkAnonymousJoins } from './plan/join-objects.ts'
import { launchCluster } from './launch.ts'
import type { ClusterSettings } from './launch.ts'
import { endedMeanwhile } from './state/lifetime.ts'
import type { Lifetime } from './state/lifetime.ts'
import { planNode } from './plan/plan.ts'
import { writePlannedFiles, writeTokenFile } from './plan/prepare.ts'
import { builtPrograms } from './plan/programs.ts'
import type { Programs } from './plan/programs.ts'
import {
  defaultClusterName,
  noSuchCluster,
  removeHint,
  stateDirExists,
  statePaths,
  stateRoot,
} from './state/state-dir.ts'
import type { StatePaths } from './state/state-dir.ts'
import { removeCluster } from './take-down.ts'
import { defaultTokenTtlMs } from './token-lifetime.ts'
import { waitForNodes } from './wait-for-nodes.ts'

export interface StartClusterOptions extends ClusterSettings, Lifetime {
  readonly name?: string | undefined
  /** Default: where `skiff` keeps its clusters. */
  readonly stateRoot?: string
  readonly programs?: Programs
  /** `owner`: the cluster ends with this process, however that ends. Default `detached`. */
  readonly lifetime?: 'detached' | 'owner'
  readonly clock?: Clock
  /** How long the nodes may take to become Ready; default 60 s. */
  readonly waitMs?: number | undefined
  readonly onProgress?: (progress: Progress) => void
  /** Aborting undoes the start. */
  readonly signal?: AbortSignal
  readonly supervisorFlags?: readonly string[] | undefined
}

type CreateTokenOptions = Partial<Omit<TokenSecretOptions, 'dialect' | 'nowMs'>>

interface AddNodeOptions {
  readonly waitMs?: number
  readonly onComponent?: (status: ComponentStatus) => void
}

/** A running cluster. Disposing takes it down and removes it; `disconnect` leaves it running. */
export interface Cluster extends AsyncDisposable {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly control: ControlClient
  readonly server: string
  /** True when it was there before, with its data. */
  readonly resumed: boolean
  /** Its clock and its faults, which are the supervisor's to set. */
  readonly lab: Lab
  /** The administrator's client; one connection, closed by `disconnect`. */
  readonly client: Client
  /** A client with another identity; the caller closes it. */
  clientAs(identity: Identity): Client
  /** Starts a process for the node and waits until it is Ready. */
  addNode(node: NodeConfig, options?: AddNodeOptions): Promise<void>
  /** Ends the node's process; with `deleteObject` also deletes its Node. */
  removeNode(name: string, options?: { deleteObject?: boolean }): Promise<void>
  /** Makes a token and its Secret; unless said otherwise it lives for a day. */
  createToken(options?: CreateTokenOptions): Promise<BootstrapToken>
  /** Resolves when all Node objects of these configurations are Ready; a ClusterError of kind `timeout` says which are not. */
  waitForNodes(nodes: readonly NodeConfig[], options?: { waitMs?: number }): Promise<void>
  disconnect(): void
}

const defaultWaitMs = 60_000

interface Attachment {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly control: ControlClient
  readonly clock: Clock
  readonly resumed: boolean
}

async function checkJoinsOf(attachment: Attachment): Promise<void> {
  const anonymous = clusterClient(attachment, 'anonymous')
  try {
    await checkAnonymousJoins(anonymous, attachment.config.extraFlags)
  } finally {
    anonymous.close()
  }
}

/** Removes the tokens of nodes that have joined: each has its own certificate now. */
async function dropTokens(
  nodes: readonly NodeConfig[],
  { config, paths }: Attachment,
): Promise<void> {
  const files = nodes
    .flatMap((node) => planNode(node, config, paths).files)
    .filter((file) => file.kind === 'bootstrap-token')
  await Promise.all(files.map((file) => writeTokenFile(file.path, undefined)))
}

function attach(attachment: Attachment, timeoutMs?: number): Cluster {
  const { config, paths, control, clock, resumed } = attachment
  const dialect = dialectOf(config)
  const resources = resourcesOf(dialect)
  const client = clusterClient(attachment, 'admin', timeoutMs)
  const lab = processLab(control)

  const createToken: Cluster['createToken'] = async (options = {}) => {
    const token = options.token ?? createBootstrapToken(clock)
    // It expires by the cluster's clock.
    const { nowMs } = await lab.time.state()
    const wanted = { ttlMs: defaultTokenTtlMs, ...options, token, dialect, nowMs }
    await client.resource(resources.secrets).create(tokenSecret(wanted))
    return token
  }
  const untilReady: Cluster['waitForNodes'] = async (nodes, { waitMs = defaultWaitMs } = {}) => {
    const { signal } = new AbortController()
    await waitForNodes({ client, paths, nodes, waitMs, signal })
  }
  const disconnect = (): void => {
    client.close()
    control.close()
  }
  return {
    config,
    paths,
    control,
    lab,
    resumed,
    client,
    server: serverUrl(config),
    clientAs: (identity) => clusterClient(attachment, identity),
    createToken,
    waitForNodes: async (nodes, options) => {
      await untilReady(nodes, options)
      await dropTokens(nodes, attachment)
    },
    addNode: async (node, options) => {
      await checkJoinsOf(attachment)
      const token = await createToken({ description: `for ${node.name}` })
      const spec = planNode(node, config, paths)
      await writePlannedFiles([spec], { config, paths, token: formatToken(token) })
      const started = control.call('add-node', { node }, options?.onComponent)
      // A Node from before may count as Ready until its agent has joined.
      await Promise.all([started, untilReady([node], options)])
      await dropTokens([node], attachment)
    },
    removeNode: async (name, { deleteObject = false } = {}) => {
      await control.call('remove-node', { name })
      if (!deleteObject) return
      try {
        await client.resource(resources.nodes).delete({ name })
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) throw error
      }
    },
    disconnect,
    [Symbol.asyncDispose]: async () => {
      disconnect()
      await removeCluster(paths, { clock })
    },
  }
}

function placeOf(options: Pick<StartClusterOptions, 'name' | 'stateRoot'>): {
  name: string
  root: string
} {
  const { name = defaultClusterName } = options
  return { name, root: options.stateRoot ?? stateRoot(environment) }
}

/** Another process can take a port between the check that it is free and its use. */
function isPortTaken(error: unknown): boolean {
  return error instanceof ClusterError && error.systemCode === 'EADDRINUSE'
}

/** Adds a hint to the failed start of a stored cluster, whose data is kept: how to remove it. */
function withRemoveHint(error: unknown, paths: StatePaths): unknown {
  if (!(error instanceof ClusterError) || error.kind !== 'failed' || error.hint !== undefined)
    return error
  const { message, details } = error
  const hint = `its data is kept in ${paths.dir}; to give it up, ${removeHint(paths)}`
  return new ClusterError('failed', message, { hint, details, cause: error })
}

const mostTries = 3

async function tryToStart(options: StartClusterOptions): Promise<Cluster> {
  const { name, root } = placeOf(options)
  const { clock = systemClock, waitMs = defaultWaitMs, onProgress, signal } = options
  for (let tries = 1; ; tries += 1) {
    const launched = await launchCluster({
      ...options,
      // Without a requested port, the next try uses any free one.
      port: options.port ?? (tries === 1 ? undefined : 0),
      name,
      stateRoot: root,
      programs: options.programs ?? builtPrograms(),
      lifetime: options.lifetime ?? 'detached',
      clock,
      etcdWaitMs: waitMs,
    })
    if (launched.followsInterrupted) onProgress?.({ kind: 'interrupted' })
    const attachment = { ...launched, clock }
    let cluster: Cluster | undefined
    try {
      // On a machine under load an answer may take as long as the start; its own limit comes first.
      cluster = attach(attachment, Math.max(answerWithinMs, 2 * waitMs))
      const { client } = cluster
      const tokenTtlMs = defaultTokenTtlMs
      const checkJoins = (): Promise<void> => checkJoinsOf(attachment)
      await bringUp(launched, { client, checkJoins, waitMs, tokenTtlMs, onProgress, signal })
      rmSync(launched.paths.startsFrom, { force: true })
      await dropTokens(launched.config.nodes, attachment)
      launched.release()
      return cluster
    } catch (error) {
      cluster?.disconnect()
      await launched.undo()
      const mayTryAgain = options.port === undefined && !launched.resumed && tries < mostTries
      if (mayTryAgain && isPortTaken(error)) continue
      throw launched.resumed ? withRemoveHint(error, launched.paths) : error
    }
  }
}

/** Creates a cluster, or resumes a stored one, and resolves when every node is Ready. A failed start is undone. */
export async function startCluster(options: StartClusterOptions = {}): Promise<Cluster> {
  const { clock = systemClock } = options
  const startedMs = clock.now()
  try {
    return await tryToStart(options)
  } catch (error) {
    throw endedMeanwhile(options, { tookMs: clock.now() - startedMs, cause: error }) ?? error
  }
}

/** Attaches to a running cluster. */
export async function openCluster(
  options: Pick<StartClusterOptions, 'name' | 'stateRoot' | 'clock'> = {},
): Promise<Cluster> {
  const { name, root } = placeOf(options)
  const paths = statePaths(root, name)
  const config = stateDirExists(paths) ? readClusterConfig(paths) : undefined
  if (config === undefined) {
    throw noSuchCluster(name)
  }
  const control = await connectControl(paths)
  return attach({ config, paths, control, clock: options.clock ?? systemClock, resumed: true })
}
