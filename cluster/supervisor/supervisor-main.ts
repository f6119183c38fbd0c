/** Supervisor process: one per cluster, detached from its starter. Its state directory is its working directory. */
import { join, parse } from 'node:path'
import { aborted } from '../../components/component-base/aborted.ts'
import { runComponent, StartError } from '../../components/component-base/component.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { FlagValues } from '../../components/component-base/flags.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { readClusterConfig } from '../plan/cluster-config.ts'
import { packageFolder } from '../plan/programs.ts'
import { ClusterError } from '../cluster-error.ts'
import { pipePrefixOf } from '../control-address.ts'
import { serveControl } from './control-server.ts'
import { watchFolder } from './folder-watch.ts'
import { endOf, lifetimeOver } from '../state/lifetime.ts'
import type { Log } from '../../components/component-base/log.ts'
import type { Lifetime } from '../state/lifetime.ts'
import { inheritLock } from '../state/lock.ts'
import { keepLogBounded } from './log-rotation.ts'
import { logOf, pathsIn, removeStateDir } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { controlWayOf, controlWays, processControlOf } from './process-control.ts'
import type { ControlWay } from './process-control.ts'
import { createSupervisor } from './supervisor.ts'
import { endLeftovers, leaveOthers } from '../take-down.ts'

const flags = defineFlags({
  'state-dir': flag.string("The cluster's state directory."),
  'programs-dir': flag.string('Folder with the bundles of the components.', packageFolder('dist')),
  'ready-timeout': flag.duration(
    'How long a component may take to become ready at first; a restart has four minutes at least.',
    30_000,
  ),
  'stop-timeout': flag.duration(
    'How long a component may take to stop before it is killed.',
    10_000,
  ),
  'end-with-owner': flag.bool(
    'When standard input ends, take the cluster down and remove the state directory.',
    false,
  ),
  'parent-pid': flag.int('When this process is gone, take the cluster down and remove it.'),
  'parent-start-time': flag.string('When that process started: tells it from a later one.', ''),
  'process-control': flag.string(
    'How components are stopped: by SIGTERM, or on Windows by the end of an IPC channel.',
    controlWayOf(process.platform),
    { choices: controlWays },
  ),
  'pipe-prefix': flag.string(
    'Listen for commands on a named pipe with such a name, as on Windows; by default on a socket.',
    pipePrefixOf(process.platform),
  ),
  ttl: flag.duration('After this time, take the cluster down and remove it.'),
})

/** Resolves when standard input ends: the process that held its other end is gone. */
function ownerGone(): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.on('end', resolve).on('error', resolve).resume()
  })
}

const never = new Promise<never>(() => {})

/** Leaves nothing of a cluster whose components have ended, as `skiff down` does. */
async function removeAll(
  paths: StatePaths,
  name: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  // Processes that others started for the cluster carry its mark.
  await endLeftovers(paths, { clock })
  try {
    const { forgetMerged } = await import('../state/merge-kubeconfig.ts')
    await forgetMerged(paths, name)
  } catch (error) {
    // The programs may have been removed or replaced while the cluster ran: its data goes all the same.
    log.warn('what was merged into other kubeconfigs stays there', { error })
  }
  // Windows removes no folder that a process is in.
  process.chdir(parse(paths.dir).root)
  removeStateDir(paths)
}

function lifetimeFrom(options: FlagValues<typeof flags>): Lifetime {
  const { 'parent-pid': pid, 'parent-start-time': startTime, ttl: ttlMs } = options
  return { ttlMs, parent: pid === undefined ? undefined : { pid, startTime } }
}

/** Makes this process the cluster's only supervisor. The lock is its own until it ends, so it is never given up before that. */
async function supervise(paths: StatePaths, clock: Clock): Promise<void> {
  try {
    await inheritLock(paths, clock)
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    throw new StartError(`${error.message}: ${error.hint ?? ''}`, error)
  }
}

void runComponent({
  name: 'supervisor',
  description: 'Keeps the processes of one cluster running. `skiff up` starts it.',
  flags,
  // It is the authority: processes live in real time.
  isOutsideTime: true,
  run: async (context) => {
    const { options, signal, clock, log } = context
    const dir = options['state-dir']
    if (dir === undefined) throw new StartError('--state-dir is needed')
    const paths = pathsIn(dir)
    process.chdir(dir)
    await supervise(paths, clock)
    const folder = watchFolder(dir, clock)
    keepLogBounded(logOf(paths, 'supervisor'), clock)
    const config = readClusterConfig(paths)
    if (config === undefined) throw new StartError(`${paths.config} is missing`)
    const lifetime = lifetimeFrom(options)
    const supervisor = createSupervisor({
      config,
      paths,
      clock,
      log,
      ownsFolder: () => folder.isThere(),
      scriptOf: (program) => join(options['programs-dir'], `${program}.js`),
      ends: endOf(lifetime, clock.now()),
      processControl: processControlOf(options['process-control'] as ControlWay),
      readyTimeoutMs: options['ready-timeout'],
      stopTimeoutMs: options['stop-timeout'],
    })
    // A relative path: the folder may be too deep for a socket address.
    const asked = Promise.withResolvers<void>()
    const control = await serveControl('control.sock', supervisor.handlers, {
      onAnswered: (method) => {
        if (method === 'shutdown') asked.resolve()
      },
      pipePrefix: options['pipe-prefix'],
    })
    context.ready()
    const looking = new AbortController()
    const over = (one: Promise<unknown>): Promise<unknown> => {
      one.catch(() => {}) // it is given up when another one has come first
      return one
    }
    const life = lifetimeOver(lifetime, { clock, signal: looking.signal })
    const end = await Promise.race([
      asked.promise.then(() => 'asked' as const),
      aborted(signal).then(() => 'stopped' as const),
      over(options['end-with-owner'] ? ownerGone() : never).then(() => 'its owner is gone'),
      over(life).then(() => life),
      over(folder.gone(looking.signal)).then(() => 'homeless' as const),
    ])
    looking.abort(new Error('the cluster ends'))
    if (end === 'homeless') log.warn('the state directory is gone; everything stops', { dir })
    const isRemoved = end !== 'asked' && end !== 'stopped' && end !== 'homeless'
    if (isRemoved) {
      await leaveOthers(paths, clock).catch((error: unknown) => {
        log.warn('its etcd member stays behind in those of other machines', { error })
      })
    }
    await supervisor.shutdown()
    await control.close()
    if (isRemoved && folder.isThere()) {
      log.info('the cluster ends', { why: end })
      await removeAll(paths, config.name, { clock, log })
    }
  },
})
