/** Supervisor process: one per cluster, detached from whoever started it. Its state directory is its working directory. */
import { join } from 'node:path'
import { runComponent, StartError } from '../components/component-base/component.ts'
import { defineFlags, flag } from '../components/component-base/flags.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { readClusterConfig } from './cluster-config.ts'
import { ClusterError } from './cluster-error.ts'
import { serveControl } from './control-server.ts'
import { watchFolder } from './folder-watch.ts'
import { inheritLock } from './lock.ts'
import { keepLogBounded } from './log-rotation.ts'
import { logOf, pathsIn, removeStateDir } from './state-dir.ts'
import type { StatePaths } from './state-dir.ts'
import { createSupervisor } from './supervisor.ts'

const flags = defineFlags({
  'state-dir': flag.string("The cluster's state directory."),
  'programs-dir': flag.string('Folder with the bundles of the components.', import.meta.dirname),
  'ready-timeout': flag.duration('How long a component may take to become ready.', 30_000),
  'stop-timeout': flag.duration(
    'How long a component may take to stop before it is killed.',
    10_000,
  ),
  'end-with-owner': flag.bool(
    'When standard input ends, take the cluster down and remove the state directory.',
    false,
  ),
})

/** Resolves when standard input ends: whoever held its other end is gone. */
function ownerGone(): Promise<void> {
  return new Promise((resolve) => {
    process.stdin.on('end', resolve).on('error', resolve).resume()
  })
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

await runComponent({
  name: 'supervisor',
  description: 'Keeps the processes of one cluster running. `skiff up` starts it.',
  flags,
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
    const supervisor = createSupervisor({
      config,
      paths,
      clock,
      log,
      ownsFolder: () => folder.isThere(),
      scriptOf: (program) => join(options['programs-dir'], `${program}.js`),
      readyTimeoutMs: options['ready-timeout'],
      stopTimeoutMs: options['stop-timeout'],
    })
    // A relative path: the folder may be too deep for a socket address.
    const asked = Promise.withResolvers<void>()
    const control = await serveControl('control.sock', supervisor.handlers, (method) => {
      if (method === 'shutdown') asked.resolve()
    })
    context.ready()
    const stopped = new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true })
    })
    const abandoned = options['end-with-owner'] ? ownerGone() : new Promise<never>(() => {})
    const looking = new AbortController()
    const homeless = folder.gone(looking.signal)
    homeless.catch(() => {}) // given up below
    const end = await Promise.race([
      asked.promise.then(() => 'asked' as const),
      stopped.then(() => 'stopped' as const),
      abandoned.then(() => 'abandoned' as const),
      homeless.then(() => 'homeless' as const),
    ])
    looking.abort(new Error('the cluster ends'))
    if (end === 'homeless') log.warn('the state directory is gone; everything stops', { dir })
    await supervisor.shutdown()
    await control.close()
    if (end === 'abandoned' && folder.isThere()) removeStateDir(paths)
  },
})
