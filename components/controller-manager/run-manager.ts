/** The controller manager from its flags to its end: flags, identities, listener, leadership, controllers. */
import { dialectNamed, dialects } from '../api/dialect.ts'
import type { Dialect } from '../api/dialect.ts'
import { parseFeatureGates, type FeatureGates } from '../api/feature-gates.ts'
import { servedRelease } from '../api/lifecycle.ts'
import { createClient } from '../client/client.ts'
import { openComponentListener } from '../client/component-listener.ts'
import { connectionFrom, readKubeconfig } from '../client/kubeconfig.ts'
import { createRestClient } from '../client/rest-client.ts'
import type { RestObserver } from '../client/rest-observer.ts'
import { createWorkQueue } from '../client/work-queue.ts'
import type { ComponentContext } from '../component-base/component.ts'
import { StartError } from '../component-base/component.ts'
import { diskFiles } from '../component-base/files.ts'
import { FlagError } from '../component-base/flags.ts'
import { showHiddenFault } from '../component-base/metrics.ts'
import { runControllerManager } from './controller-manager.ts'
import type { ControllerEntry } from './controller-context.ts'
import { controllers } from './controllers.ts'
import { createManagerMetrics } from './manager-metrics.ts'
import type { controllerManagerFlags } from './options.ts'
import { selectControllers, whyGatedOff } from './select-controllers.ts'
import { createServiceAccountClients } from './service-account-clients.ts'
import { absentControllers } from './upstream-controllers.ts'

type Context = ComponentContext<typeof controllerManagerFlags>

const userAgent = 'kube-controller-manager'

/**
 * Within one process no token crosses a network, and a watch ends with the token that it began with: a cluster whose clock is advanced
 * by weeks would begin all watches of all controllers again each hour.
 */
const embeddedTokenSeconds = 7 * 24 * 3600

async function connect(
  { options, files, network, underWay, clock, log }: Context,
  { dialect, observer }: { readonly dialect: Dialect; readonly observer: RestObserver },
) {
  if (options.kubeconfig === undefined) throw new StartError('--kubeconfig is required')
  const read = await connectionFrom(await readKubeconfig(options.kubeconfig, files), { files })
  const { master = read.server } = options
  const connection = { ...read, server: master, network, underWay }
  const client = createClient({ ...connection, dialect, clock, log, userAgent, observer })
  if (!options['use-service-account-credentials']) return { client, clientOf: undefined }
  const bare = createRestClient({ ...connection, credentials: {}, userAgent, observer })
  const lifetimeSeconds = network === undefined ? undefined : embeddedTokenSeconds
  return { client, clientOf: createServiceAccountClients(client, bare, lifetimeSeconds), bare }
}

/** Reads a flag. An invalid value stops startup with the error's message. */
function checked<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new FlagError((error as Error).message, error)
  }
}

/** The controllers to run. Logs why others that `--controllers` chooses do not. Throws for a name that no controller has. */
function chosenControllers({ options, log }: Context, gates: FeatureGates): ControllerEntry[] {
  const absent = absentControllers(controllers)
  const chosen = selectControllers([...controllers, ...absent], options.controllers)
  return chosen.flatMap((entry) => {
    const why = 'start' in entry ? whyGatedOff(entry, gates) : entry.why
    if ('start' in entry && why === undefined) return [entry]
    const isNamed = [entry.name, ...entry.aliases].some((name) =>
      options.controllers.includes(name),
    )
    const fields = { controller: entry.name, why }
    if (isNamed) log.warn('controller does not run', fields)
    else log.info('controller does not run', fields)
    return []
  })
}

/** Until the signal aborts. Rejects with a StartError or FlagError for what the flags say. */
export async function runManagerProcess(context: Context): Promise<void> {
  const { options, signal, files = diskFiles, clock, log } = context
  const showHidden = options['show-hidden-metrics-for-version']
  const fault = showHiddenFault(showHidden, servedRelease)
  if (fault !== undefined) throw new FlagError(fault)
  const { gates, warnings } = checked(() => parseFeatureGates(options['feature-gates']))
  for (const warning of warnings) log.warn(warning)
  const entries = checked(() => chosenControllers(context, gates))
  const dialect = dialectNamed(options.dialect) ?? dialects.kubernetes
  const shown = createManagerMetrics({
    showHidden: showHidden !== '',
    leaseName: options['leader-elect-resource-name'],
    gates,
    dialect,
    clock,
  })
  const { client, clientOf, bare } = await connect(context, { dialect, observer: shown.requests })
  const listener = await openComponentListener({
    flags: options,
    client,
    notReady: () => undefined,
    metrics: () => shown.metrics.text(),
    files,
    clock,
    log,
  })

  // Whatever ends first ends the rest: a manager without its lease or its listener must not go on.
  const stop = new AbortController()
  const whole = AbortSignal.any([signal, stop.signal])
  const deps = {
    client,
    clientOf,
    entries,
    options,
    gates,
    files,
    clock,
    log,
    queues: (name: string, delays?: { initialMs: number; maxMs: number }) =>
      createWorkQueue({ clock, observer: shown.observerOf(name), ...delays }),
    metrics: shown.controllers,
    onLeading: (leads: boolean) => shown.isLeading.set(leads ? 1 : 0),
  }
  const parts = [runControllerManager(deps, whole)]
  if (listener !== undefined) parts.push(listener.run(whole))
  try {
    const ending = parts.map((part) => part.finally(() => stop.abort(new Error('stopping'))))
    const ended = Promise.all(ending)
    const at = await Promise.race([listener?.ready, ended.then(() => undefined)])
    if (!whole.aborted) context.ready(at === undefined ? {} : { port: at.port })
    await ended
  } finally {
    stop.abort(new Error('stopping'))
    await Promise.allSettled(parts)
    client.close()
    bare?.close()
  }
}
