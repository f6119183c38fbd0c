/** Launch: from nothing, or from a cluster that was left, to a supervisor that starts its processes. What fails leaves nothing behind. */
import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { publicKeyInfo } from '../certs/keys.ts'
import { createPki } from '../certs/pki.ts'
import type { Pki } from '../certs/pki.ts'
import type { Dialect } from '../components/api/dialect.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { createBootstrapToken, formatToken } from './plan/bootstrap-token.ts'
import type { BootstrapToken } from './plan/bootstrap-token.ts'
import { checkPki } from './state/check-pki.ts'
import { readClusterConfig, writeClusterConfig } from './plan/cluster-config.ts'
import type { ClusterConfig, ExtraFlags, NodeConfig, Program } from './plan/cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import { connectControl } from './control-client.ts'
import type { ControlClient } from './control-client.ts'
import type { Lifetime } from './state/lifetime.ts'
import { planCluster } from './plan/plan.ts'
import { choosePort } from './plan/ports.ts'
import { apiServerNames, prepareCluster, writePlannedFiles } from './plan/prepare.ts'
import type { Programs } from './plan/programs.ts'
import { spawnSupervisor } from './spawn-supervisor.ts'
import { lockForStart } from './state/start-lock.ts'
import type { StartLock } from './state/start-lock.ts'
import {
  createStateDir,
  removeStateDir,
  stateDirExists,
  statePaths,
  withClearErrors,
} from './state/state-dir.ts'
import type { StatePaths } from './state/state-dir.ts'
import { endLeftovers, removeCluster, stopCluster } from './take-down.ts'

/** What a new cluster is made of. Unset fields have the defaults of `skiff up`; a cluster that is there already keeps its own. */
export interface ClusterSettings {
  readonly nodes?: number | undefined
  /** Adds one process that carries this many simulated nodes. */
  readonly simulatedNodes?: number | undefined
  readonly dialect?: Dialect['name'] | undefined
  readonly address?: string | undefined
  readonly port?: number | undefined
  readonly serviceRange?: string | undefined
  readonly extraFlags?: ExtraFlags | undefined
}

export interface LaunchOptions extends ClusterSettings, Lifetime {
  readonly name: string
  /** Folder that holds all clusters' state directories. */
  readonly stateRoot: string
  readonly programs: Programs
  readonly lifetime: 'detached' | 'owner'
  readonly clock: Clock
  readonly supervisorFlags?: readonly string[] | undefined
}

/** A cluster whose supervisor answers; its components are started by `control.call('start')`. */
export interface LaunchedCluster {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly control: ControlClient
  /** The agents' token; its Secret has to be created as soon as the API server serves. */
  readonly token: BootstrapToken
  /** True when the cluster was there before, with its data. */
  readonly resumed: boolean
  /** True when an earlier start was killed in the middle; what it left has been ended. */
  readonly followsInterrupted: boolean
  /** Says that the start is over; until then others are told to wait for it. */
  release(): void
  /** Undoes the launch: a new cluster is removed, a resumed one stopped. */
  undo(): Promise<void>
}

export const simulatedPool = 'simulated'
const defaultNodes = 3
const mostNodes = 200
const mostSimulated = 10_000

/** A number of simulated nodes that one process can carry. */
export function checkSimulated(count: number, least: number): void {
  if (Number.isInteger(count) && count >= least && count <= mostSimulated) return
  throw new ClusterError(
    'usage',
    `${count} is not a number of simulated nodes from ${least} to ${mostSimulated}`,
    { hint: 'one process carries them all, and one API server their leases' },
  )
}

function nodesOf(settings: ClusterSettings): NodeConfig[] {
  const { nodes = defaultNodes, simulatedNodes = 0 } = settings
  if (!Number.isInteger(nodes) || nodes < 0 || nodes > mostNodes) {
    throw new ClusterError('usage', `${nodes} is not a number of nodes from 0 to ${mostNodes}`, {
      hint: 'each node is a process; for thousands use --simulated-nodes',
    })
  }
  checkSimulated(simulatedNodes, 0)
  const list: NodeConfig[] = Array.from({ length: nodes }, (_, index) => ({
    name: `node-${index + 1}`,
  }))
  if (simulatedNodes > 0) list.push({ name: simulatedPool, simulated: simulatedNodes })
  return list
}

/** `sha256:<hex>` of a CA's public key: what `--discovery-token-ca-cert-hash` takes. */
export function caHashOf(authority: Pki['authority']): string {
  const digest = createHash('sha256').update(publicKeyInfo(authority.publicKey)).digest('hex')
  return `sha256:${digest}`
}

/** A setting that differs from what the stored cluster has is refused: it would silently not be followed. */
function refuseChanges(config: ClusterConfig, settings: ClusterSettings): void {
  const differs: [string, unknown, unknown][] = [
    ['--dialect', settings.dialect, config.dialect],
    ['--port', settings.port, config.port],
    ['--address', settings.address, config.address],
    ['--nodes', settings.nodes, config.nodes.filter((node) => node.simulated === undefined).length],
    [
      '--simulated-nodes',
      settings.simulatedNodes,
      config.nodes.find((node) => node.simulated !== undefined)?.simulated ?? 0,
    ],
  ]
  for (const [program, flags] of Object.entries(settings.extraFlags ?? {})) {
    for (const [name, wanted] of Object.entries(flags)) {
      const has = config.extraFlags[program as Program]?.[name]
      differs.push([`--set ${program}.${name}`, wanted, has ?? 'unset'])
    }
  }
  for (const [flag, wanted, has] of differs) {
    if (wanted === undefined || wanted === has) continue
    throw new ClusterError(
      'usage',
      `cluster "${config.name}" exists already, with ${flag} ${String(has)}`,
      {
        hint: `leave ${flag} out to start it as it is, or remove it first: skiff down --name ${config.name}`,
      },
    )
  }
}

async function newCluster(options: LaunchOptions): Promise<{ config: ClusterConfig; pki: Pki }> {
  const { clock, address = '127.0.0.1', serviceRange = '10.96.0.0/16' } = options
  if (isIP(address) === 0) {
    throw new ClusterError('usage', `"${address}" is not an IP address`, {
      hint: 'give --address an address of this machine, such as 127.0.0.1',
    })
  }
  const nodes = nodesOf(options)
  // Holds the port for a moment, so nothing may be refused before that is over.
  const port = choosePort(address, options.port)
  port.catch(() => {}) // awaited below, after the keys
  const shape = { dialect: options.dialect ?? 'kubernetes', address, serviceRange } as const
  const pki = createPki({ apiServer: apiServerNames(shape), nowMs: clock.now() })
  const config: ClusterConfig = {
    name: options.name,
    id: clock.uuid(),
    ...shape,
    port: await port,
    caHash: caHashOf(pki.authority),
    nodes,
    extraFlags: options.extraFlags ?? {},
  }
  return { config, pki }
}

const mostPlaces = 5

/** The state directory, made if need be, with its locks held. */
async function placeForStart(paths: StatePaths, options: LaunchOptions): Promise<StartLock> {
  for (let tries = 1; ; tries += 1) {
    const wasThere = stateDirExists(paths)
    try {
      createStateDir(paths)
      return await lockForStart(paths, options)
    } catch (error) {
      // Somebody removed it this very moment.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && tries < mostPlaces) continue
      const isTheirs = error instanceof ClusterError && error.kind === 'already-exists'
      if (!wasThere && !isTheirs) removeStateDir(paths)
      throw error
    }
  }
}

/**
 * Makes or resumes the cluster and starts its supervisor. Certificates and files are made while the supervisor's
 * process starts. On failure a new cluster's directory is removed again; a resumed one's is kept.
 */
export async function launchCluster(options: LaunchOptions): Promise<LaunchedCluster> {
  const { clock, programs, lifetime } = options
  const paths = statePaths(options.stateRoot, options.name)
  const startLock = await placeForStart(paths, options)
  const isNew = statSync(paths.config, { throwIfNoEntry: false }) === undefined
  let ownId: string | undefined
  /** Somebody took the cluster down while it started: what is there now, if anything, is another one. */
  const isGone = (): boolean => {
    try {
      const id = readClusterConfig(paths)?.id ?? ownId
      return id !== ownId || !startLock.isHeld()
    } catch {
      return false // damaged, but by whatever came over this start
    }
  }
  const undo = async (): Promise<void> => {
    if (isGone()) return
    try {
      if (isNew) await removeCluster(paths, { clock })
      else await stopCluster(paths, { clock })
    } finally {
      startLock.release()
    }
  }
  try {
    const stored = readClusterConfig(paths)
    ownId = stored?.id
    if (stored !== undefined) {
      refuseChanges(stored, options)
      await checkPki(paths, clock.now())
      await endLeftovers(paths, { clock })
      const hint = "end what listens there: the cluster's certificates and clients know this port"
      await choosePort(stored.address, stored.port, hint)
    }
    const created = stored === undefined ? await newCluster(options) : undefined
    const config = created?.config ?? (stored as ClusterConfig)
    ownId = config.id
    writeClusterConfig(paths, config)
    const supervisor = spawnSupervisor({
      paths,
      clusterId: config.id,
      programs,
      lifetime,
      parent: options.parent,
      ttlMs: options.ttlMs,
      flags: options.supervisorFlags ?? [],
    })
    const token = createBootstrapToken(clock)
    const specs = planCluster(config, paths)
    const files = { config, paths, token: formatToken(token) }
    await Promise.all([
      supervisor.ready,
      created === undefined
        ? writePlannedFiles(specs, files)
        : prepareCluster(specs, { ...files, pki: created.pki }),
    ])
    const control = await connectControl(paths)
    const { followsInterrupted, release } = startLock
    return { config, paths, control, token, resumed: !isNew, followsInterrupted, release, undo }
  } catch (error) {
    await undo()
    return withClearErrors(paths.dir, () => {
      throw error
    })
  }
}
