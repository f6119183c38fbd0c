/** Settings: flags and configuration file, checked once at the door and turned into what the parts need. */
import { readFileSync } from 'node:fs'
import { dialectNamed, dialects } from '../api/dialect.ts'
import { StartError } from '../component-base/component.ts'
import type { FlagValues } from '../component-base/flags.ts'
import { ConfigurationError } from '../machinery/configuration/read-configuration.ts'
import type {
  LeaderElectionSettings,
  SchedulerSettings,
} from './configuration/kube-scheduler-configuration.ts'
import { parseSchedulerConfiguration } from './configuration/kube-scheduler-configuration.ts'
import { schedulerFlags } from './options.ts'
import { defaultProfile } from './profile.ts'

type Flags = FlagValues<typeof schedulerFlags>

/** Throws a StartError of one line that names the file or the field. */
export function settingsOf(flags: Flags): SchedulerSettings {
  const { config } = flags
  const source = config === undefined ? undefined : documentIn(config)
  if (config === undefined || source === undefined) return fromFlags(flags)
  const dialect = dialectNamed(flags.dialect) ?? dialects.kubernetes
  try {
    const settings = parseSchedulerConfiguration(source, dialect)
    return { ...settings, leaderElection: overridden(settings.leaderElection, flags) }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    throw new StartError(`--config ${config}: ${error.message}`, error)
  }
}

/** The file's text; undefined when it holds values of flags, which have been read. */
function documentIn(path: string): string | undefined {
  let source: string
  try {
    source = readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartError(`cannot read --config ${path}: ${(error as Error).message}`, error)
  }
  try {
    return Object.hasOwn(JSON.parse(source) as object, 'kind') ? source : undefined
  } catch {
    // It is YAML, or the reader says what is wrong with it.
    return source
  }
}

function fromFlags(flags: Flags): SchedulerSettings {
  return {
    parallelism: flags.parallelism,
    leaderElection: leaderElectionOf(flags),
    kubeconfig: undefined,
    podInitialBackoffMs: flags['pod-initial-backoff-seconds'] * 1000,
    podMaxBackoffMs: flags['pod-max-backoff-seconds'] * 1000,
    profiles: [
      {
        ...defaultProfile(flags['scheduler-name']),
        percentageOfNodesToScore: flags['percentage-of-nodes-to-score'],
      },
    ],
    extenders: [],
    warnings: [],
  }
}

function leaderElectionOf(flags: Flags): LeaderElectionSettings {
  return {
    leaderElect: flags['leader-elect'],
    leaseDurationMs: flags['leader-elect-lease-duration'],
    renewDeadlineMs: flags['leader-elect-renew-deadline'],
    retryPeriodMs: flags['leader-elect-retry-period'],
    resourceName: flags['leader-elect-resource-name'],
    resourceNamespace: flags['leader-elect-resource-namespace'],
  }
}

/** A flag that differs from its default wins over the file. */
function overridden(file: LeaderElectionSettings, flags: Flags): LeaderElectionSettings {
  const defaults = Object.fromEntries(
    Object.entries(schedulerFlags).map(([name, flag]) => [name, flag.default as unknown]),
  ) as Flags
  const [given, unset] = [leaderElectionOf(flags), leaderElectionOf(defaults)]
  const set = Object.entries(given).filter(
    ([name, value]) => value !== unset[name as keyof LeaderElectionSettings],
  )
  return { ...file, ...Object.fromEntries(set) }
}
