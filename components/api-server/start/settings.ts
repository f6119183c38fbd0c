/** settings: everything that follows from the flags and the machine alone. */
import { hostname } from 'node:os'
import { dialectNamed, dialects, type Dialect } from '../../api/dialect.ts'
import { parseFeatureGates, type FeatureGates } from '../../api/feature-gates.ts'
import { resourcesOf, type Resources } from '../../api/resources.ts'
import { servedResources } from '../../api/runtime-config.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StartError, type ComponentContext } from '../../component-base/component.ts'
import { diskFiles } from '../../component-base/files.ts'
import type { Routes } from '../../component-base/routes.ts'
import type { Files } from '../../component-base/files.ts'
import { FlagError } from '../../component-base/flags.ts'
import type { Log } from '../../component-base/log.ts'
import { showHiddenFault, type Metrics } from '../../component-base/metrics.ts'
import type { Suspension } from '../../component-base/suspension.ts'
import type { UnderWay } from '../../component-base/under-way.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { apiServerFlags, ApiServerOptions } from '../configuration/options.ts'
import { metricsRelease, versionInfo, type VersionInfo } from '../discovery/version.ts'
import { Faults } from '../faults/faults.ts'
import { missingApi } from './needed-apis.ts'
import { createServerMetrics } from './server-metrics.ts'

export interface Settings {
  readonly options: ApiServerOptions
  readonly clock: Clock
  readonly log: Log
  readonly files: Files
  readonly drainMs: number | undefined
  readonly suspension: Suspension | undefined
  /** Counts requests for a clock that waits for them; undefined where none does. */
  readonly underWay: UnderWay | undefined
  /** What the lab has this server obey. */
  readonly faults: Faults
  /** Other ways to node agents; undefined: there are none. */
  readonly routes: Routes | undefined
  readonly dialect: Dialect
  readonly resources: Resources
  /** Built-in resources that `--runtime-config` leaves on. */
  readonly served: readonly Resource[]
  readonly gates: FeatureGates
  readonly metrics: Metrics
  readonly version: VersionInfo
  /** The name of this machine. */
  readonly hostname: string
}

/** Turns an error in a flag's value into a StartError, which shows the operator its message only. */
export function startValue<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new StartError((error as Error).message, error)
  }
}

/** `--runtime-config`, and before it what `--metrics-api` switches on. */
function runtimeConfigOf(options: ApiServerOptions, { podMetrics }: Resources): string {
  const given = options['runtime-config']
  if (!options['metrics-api']) return given
  const { group, version } = podMetrics
  return `${group}/${version}=true${given === '' ? '' : `,${given}`}`
}

/** More would keep clients busy with connections (upstream: server_run_options.go). */
const mostGoawayChance = 0.02

/** Throws a StartError or FlagError for an invalid flag. */
export function settingsOf(context: ComponentContext<typeof apiServerFlags>): Settings {
  const { options, clock, log, files = diskFiles, drainMs, underWay, network, suspension } = context
  const dialect = dialectNamed(options.dialect) ?? dialects.kubernetes
  const resources = resourcesOf(dialect)
  const parsed = startValue(() => parseFeatureGates(options['feature-gates']))
  const { served, warnings } = startValue(() =>
    servedResources(resources, runtimeConfigOf(options, resources)),
  )
  for (const text of [...parsed.warnings, ...warnings]) log.warn(text)
  const showHidden = options['show-hidden-metrics-for-version']
  const hiddenFault = showHiddenFault(showHidden, metricsRelease)
  if (hiddenFault !== undefined) throw new FlagError(hiddenFault)
  if (options['goaway-chance'] > mostGoawayChance) {
    throw new FlagError(
      `--goaway-chance=${options['goaway-chance']} is invalid: it must be at most ${mostGoawayChance}`,
    )
  }
  const { gates } = parsed
  const missing = missingApi(gates, resources, served)
  if (missing !== undefined) throw new StartError(missing)
  const version = versionInfo(process)
  const metrics = createServerMetrics({ showHidden: showHidden !== '', gates, version })
  return {
    options,
    clock,
    log,
    files,
    drainMs,
    suspension,
    underWay,
    faults: new Faults(clock),
    routes: network?.routes,
    dialect,
    resources,
    served,
    gates,
    metrics,
    version,
    hostname: hostname(),
  }
}
