/** Bring-up of a launched cluster: starts its components, and lets nodes join once the API server serves. */
import { resourcesOf } from '../components/api/resources.ts'
import type { Client } from '../components/client/client.ts'
import { aborted } from '../components/component-base/aborted.ts'
import { tokenSecret } from './plan/bootstrap-token.ts'
import { readAuthorityPem } from './state/check-pki.ts'
import { dialectOf, frontOf, serverUrl } from './plan/cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import type { ComponentStatus } from './control-protocol.ts'
import { initialObjects } from './plan/initial-objects.ts'
import { createObjects } from './plan/join-objects.ts'
import { planCluster } from './plan/plan.ts'
import { stageObjects } from './plan/stage-objects.ts'
import type { LaunchedCluster } from './launch.ts'
import { waitForNodes } from './wait-for-nodes.ts'

/** What happens while a cluster starts. */
export type Progress =
  /** An earlier start was killed in the middle; its leftover processes have been ended. */
  | { readonly kind: 'interrupted' }
  /** The components of the control plane, in the order of their start. */
  | { readonly kind: 'planned'; readonly names: readonly string[] }
  | { readonly kind: 'component'; readonly status: ComponentStatus }
  /** That Node is Ready. */
  | { readonly kind: 'node'; readonly name: string }

export interface BringUpOptions {
  /** The administrator's. */
  readonly client: Client
  /** Rejects when the API server's flags keep nodes from joining by token. */
  readonly checkJoins: () => Promise<void>
  readonly waitMs: number
  /** How long the token that the nodes join with lives. */
  readonly tokenTtlMs: number
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

const limitMarginMs = 500

/** Rejects with `signal.reason` when the signal aborts; never resolves. */
async function rejectedBy(signal: AbortSignal): Promise<never> {
  await aborted(signal)
  throw signal.reason
}

/** Creates what nodes join with, and the default StorageClass. */
async function openForJoining(
  { config, paths, token, resumed, baseImage }: LaunchedCluster,
  { client, checkJoins, tokenTtlMs, signal }: BringUpOptions,
): Promise<void> {
  const dialect = dialectOf(config)
  const secret = tokenSecret({
    token,
    dialect,
    nowMs: client.clock.now(),
    ttlMs: tokenTtlMs,
    description: 'made when the cluster was started',
  })
  const server = serverUrl(config)
  const authorityPem = readAuthorityPem(paths)
  await createObjects(
    client,
    [
      { resource: resourcesOf(dialect).secrets, object: secret },
      ...initialObjects({ dialect, server, authorityPem, hasBase: baseImage !== undefined }),
      ...(config.stages === undefined ? [] : stageObjects(dialect, config.stages)),
    ],
    signal,
  )
  // Nodes from before have their certificates.
  if (config.nodes.length > 0 && !resumed) await checkJoins()
}

/** Which components have not started though every Node is Ready (from before), each with the last thing it said. */
function lateComponents(
  statuses: ReadonlyMap<string, ComponentStatus>,
  waitMs: number,
): ClusterError {
  const late = [...statuses.values()].filter(({ state }) => state !== 'ready')
  const names = late.map(({ name }) => name).join(', ') || 'the components'
  return new ClusterError('timeout', `${names} had not started after ${waitMs / 1000} s`, {
    details: late.map(({ name, state, message }) => `${name} ${message ?? state}`),
    hint: 'allow more time with --wait',
  })
}

/**
 * Resolves when every component has started and every node is Ready; rejects with the first thing that went wrong, or
 * with kind `timeout` when that takes longer than `waitMs` from when the API server serves.
 */
export async function bringUp(launched: LaunchedCluster, options: BringUpOptions): Promise<void> {
  const { onProgress } = options
  const serving = Promise.withResolvers<void>()
  const end = new AbortController()
  const signals = options.signal === undefined ? [end.signal] : [end.signal, options.signal]
  const signal = AbortSignal.any(signals)

  const statuses = new Map<string, ComponentStatus>()
  let cancel = (): void => {}

  const { initialState, baseImage } = launched
  const front = frontOf(launched.config)
  const firstRun = {
    ...(initialState === undefined ? {} : { initialState }),
    ...(baseImage === undefined ? {} : { baseImage }),
  }
  // Their Nodes are there, as they were when the cluster was stopped or saved.
  const knowsNodes = launched.resumed || initialState !== undefined
  const startedMs = options.client.clock.now()
  const reported = Promise.withResolvers<void>()
  const plan = planCluster(launched.config, launched.paths)
  const controlPlane = plan.filter(({ program }) => program !== 'node-agent')
  onProgress?.({ kind: 'planned', names: controlPlane.map(({ name }) => name) })
  const start = async (): Promise<void> => {
    const started = launched.control.call('start', firstRun, (status) => {
      statuses.set(status.name, status)
      onProgress?.({ kind: 'component', status })
      if (status.name === front && status.state === 'ready') serving.resolve()
    })
    await Promise.race([started, rejectedBy(signal)])
    reported.resolve()
  }
  const joinNodes = async (): Promise<void> => {
    const { client, waitMs } = options
    await Promise.race([serving.promise, rejectedBy(signal)])
    // Later than the nodes' own limit, whose error says more about a node that is not Ready.
    const limitMs = waitMs + limitMarginMs
    cancel = client.clock.after(limitMs, () => end.abort(lateComponents(statuses, waitMs)))
    await Promise.all([
      openForJoining(launched, { ...options, signal }),
      waitForNodes({
        client,
        paths: launched.paths,
        nodes: launched.config.nodes,
        waitMs,
        signal,
        fresh: knowsNodes ? { startedMs, reported: reported.promise } : undefined,
        onReady: (name) => onProgress?.({ kind: 'node', name }),
      }),
    ])
  }
  try {
    await Promise.all([start(), joinNodes()])
  } finally {
    cancel()
    end.abort(new Error('the start has ended'))
  }
}
