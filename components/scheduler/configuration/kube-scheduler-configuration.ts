/**
 * KubeSchedulerConfiguration: the scheduler's configuration file, version v1: read strictly, completed with upstream's defaults and
 * validated in its words (upstream: apis/config/scheme, v1/defaults.go, validation/validation.go).
 */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import { parseDuration } from '../../component-base/flags.ts'
import {
  ConfigurationError,
  readConfiguration,
  refuseFieldErrors,
} from '../../machinery/configuration/read-configuration.ts'
import { decode } from '../../machinery/schema/decode.ts'
import { FieldPath } from '../../machinery/validation/field-path.ts'
import type { ProfileSettings } from '../profile.ts'
import { argumentSchemas, configurationSchema } from './configuration-schema.ts'
import type { ExtenderSettings, RawExtender } from './extender-settings.ts'
import { completeExtenders, validateExtenders } from './extender-settings.ts'
import type { PluginArguments, ScoringStrategy } from './plugin-arguments.ts'
import { defaultPluginArguments } from './plugin-arguments.ts'
import type { PluginSets } from './plugin-sets.ts'
import { argumentValidators } from './validate-arguments.ts'
import { validatePluginSets, validateQueueSort } from './validate-plugins.ts'

export interface LeaderElectionSettings {
  readonly leaderElect: boolean
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
  readonly retryPeriodMs: number
  readonly resourceName: string
  /** Undefined is the system namespace. */
  readonly resourceNamespace: string | undefined
}

/** The whole file, completed. */
export interface SchedulerSettings {
  readonly parallelism: number
  readonly leaderElection: LeaderElectionSettings
  /** Undefined: that of the flag. */
  readonly kubeconfig: string | undefined
  readonly podInitialBackoffMs: number
  readonly podMaxBackoffMs: number
  readonly profiles: readonly ProfileSettings[]
  readonly extenders: readonly ExtenderSettings[]
  /** Fields that are accepted without effect, to be logged. */
  readonly warnings: readonly string[]
}

interface RawProfile {
  readonly schedulerName?: string
  readonly percentageOfNodesToScore?: number
  readonly plugins?: PluginSets
  readonly pluginConfig?: readonly { readonly name?: string; readonly args?: object }[]
}

interface RawLeaderElection {
  readonly leaderElect?: boolean
  readonly leaseDuration?: string
  readonly renewDeadline?: string
  readonly retryPeriod?: string
  readonly resourceLock?: string
  readonly resourceName?: string
  readonly resourceNamespace?: string
}

interface RawConfiguration {
  readonly parallelism?: number
  readonly leaderElection?: RawLeaderElection
  readonly clientConnection?: {
    readonly kubeconfig?: string
    readonly acceptContentTypes?: string
    readonly contentType?: string
    readonly qps?: number
    readonly burst?: number
  }
  readonly enableProfiling?: boolean
  readonly enableContentionProfiling?: boolean
  readonly percentageOfNodesToScore?: number
  readonly podInitialBackoffSeconds?: number
  readonly podMaxBackoffSeconds?: number
  readonly profiles?: readonly RawProfile[]
  readonly extenders?: readonly RawExtender[]
  readonly delayCacheUntilActive?: boolean
}

function versionOf(dialect: Dialect): string {
  return `${apiGroup(dialect, 'kubescheduler.config')}/v1`
}

/** Reads the file's text. Throws ConfigurationError, one line that names the fields. */
export function parseSchedulerConfiguration(source: string, dialect: Dialect): SchedulerSettings {
  const raw = readConfiguration<RawConfiguration>(source, {
    kind: 'KubeSchedulerConfiguration',
    group: apiGroup(dialect, 'kubescheduler.config'),
    versions: ['v1'],
    schema: configurationSchema,
  })
  const at = FieldPath.root()
  const { parallelism = 16, clientConnection = {} } = raw
  const { podInitialBackoffSeconds: initial = 1, podMaxBackoffSeconds: max = 10 } = raw
  if ((clientConnection.burst ?? 0) < 0) {
    at.child('clientConnection')
      .child('burst')
      .invalid(clientConnection.burst, 'must be non-negative')
  }
  const leaderElection = completeLeaderElection(raw.leaderElection, at.child('leaderElection'))
  if (parallelism <= 0) {
    at.child('parallelism').invalid(parallelism, 'should be an integer value greater than zero')
  }
  const profiles = completeProfiles(raw, at, dialect)
  checkPercentage(raw.percentageOfNodesToScore, at)
  if (initial <= 0) at.child('podInitialBackoffSeconds').invalid(initial, 'must be greater than 0')
  if (max < initial) {
    const detail = 'must be greater than or equal to PodInitialBackoffSeconds'
    at.child('podMaxBackoffSeconds').invalid(max, detail)
  }
  const extenders = completeExtenders(raw.extenders ?? [], at.child('extenders'))
  validateExtenders(extenders, at.child('extenders'))
  refuseFieldErrors(at.errors)
  return {
    parallelism,
    leaderElection,
    kubeconfig: clientConnection.kubeconfig || undefined,
    podInitialBackoffMs: initial * 1000,
    podMaxBackoffMs: max * 1000,
    profiles: profiles.map((profile) => withIgnored(profile, extenders)),
    extenders,
    warnings: unusedFields(raw),
  }
}

/** NodeResourcesFit leaves resources to the extenders that say so. */
function withIgnored(
  profile: ProfileSettings,
  extenders: readonly ExtenderSettings[],
): ProfileSettings {
  const ignored = extenders
    .flatMap(({ managedResources }) => managedResources)
    .flatMap(({ name, ignoredByScheduler }) => (ignoredByScheduler ? [name] : []))
  if (ignored.length === 0) return profile
  const fit = profile.args.NodeResourcesFit
  const ignoredResources = [...fit.ignoredResources, ...ignored]
  return { ...profile, args: { ...profile.args, NodeResourcesFit: { ...fit, ignoredResources } } }
}

/** What is read and not acted on. */
function unusedFields(raw: RawConfiguration): string[] {
  const { qps, burst, acceptContentTypes, contentType } = raw.clientConnection ?? {}
  const given = {
    'clientConnection.qps': qps,
    'clientConnection.burst': burst,
    'clientConnection.acceptContentTypes': acceptContentTypes,
    'clientConnection.contentType': contentType,
    enableProfiling: raw.enableProfiling || undefined,
    enableContentionProfiling: raw.enableContentionProfiling || undefined,
    delayCacheUntilActive: raw.delayCacheUntilActive || undefined,
  }
  return Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} has no effect on this scheduler`],
  )
}

function completeLeaderElection(
  raw: RawLeaderElection = {},
  at: FieldPath,
): LeaderElectionSettings {
  const durationOf = (name: 'leaseDuration' | 'renewDeadline' | 'retryPeriod', value: number) => {
    const text = raw[name]
    if (text === undefined) return value
    const ms = parseDuration(text)
    if (ms === undefined) throw new ConfigurationError(`time: invalid duration "${text}"`)
    if (ms <= 0) at.child(name).invalid(text, 'must be greater than zero')
    return ms
  }
  const { leaderElect = true, resourceLock = 'leases' } = raw
  const leaseDurationMs = durationOf('leaseDuration', 15_000)
  const renewDeadlineMs = durationOf('renewDeadline', 10_000)
  const retryPeriodMs = durationOf('retryPeriod', 2000)
  if (leaseDurationMs <= renewDeadlineMs) {
    const detail = 'LeaseDuration must be greater than RenewDeadline'
    at.child('leaseDuration').invalid(raw.leaseDuration ?? '15s', detail)
  }
  if (renewDeadlineMs <= retryPeriodMs) {
    const detail = 'RenewDeadline must be greater than RetryPeriod'
    at.child('renewDeadline').invalid(raw.renewDeadline ?? '10s', detail)
  }
  if (leaderElect && resourceLock !== 'leases') {
    at.child('resourceLock').invalid(resourceLock, 'resourceLock value must be "leases"')
  }
  return {
    leaderElect,
    leaseDurationMs,
    renewDeadlineMs,
    retryPeriodMs,
    resourceName: raw.resourceName || 'kube-scheduler',
    resourceNamespace: raw.resourceNamespace || undefined,
  }
}

function checkPercentage(percentage: number | undefined, at: FieldPath): void {
  if (percentage === undefined || (percentage >= 0 && percentage <= 100)) return
  at.child('percentageOfNodesToScore').invalid(percentage, 'not in valid range [0-100]')
}

function completeProfiles(
  raw: RawConfiguration,
  at: FieldPath,
  dialect: Dialect,
): ProfileSettings[] {
  const profiles = raw.profiles?.length ? raw.profiles : [{}]
  const profilesAt = at.child('profiles')
  const seen = new Map<string, number>()
  const completed = profiles.map((profile, i): ProfileSettings => {
    const field = profilesAt.index(i)
    // Only a single profile has a name by default.
    const byDefault = profiles.length === 1 ? 'default-scheduler' : ''
    const schedulerName = profile.schedulerName ?? byDefault
    if (schedulerName === '') field.child('schedulerName').required()
    checkPercentage(profile.percentageOfNodesToScore, field)
    validatePluginSets(profile.plugins ?? {}, field.child('plugins'), versionOf(dialect))
    const args = completeArguments(profile.pluginConfig ?? [], field.child('pluginConfig'), dialect)
    const first = seen.get(schedulerName)
    if (first !== undefined) {
      field
        .child('schedulerName')
        .duplicate(profilesAt.index(first).child('schedulerName').toString())
    }
    seen.set(schedulerName, i)
    const { plugins = {}, percentageOfNodesToScore = raw.percentageOfNodesToScore ?? 0 } = profile
    return { schedulerName, percentageOfNodesToScore, plugins, args }
  })
  validateQueueSort(
    profiles.map(({ plugins = {} }) => plugins),
    profilesAt,
  )
  return completed
}

type GivenArguments = NonNullable<RawProfile['pluginConfig']>

/** The arguments of all plugins, those that the file gives completed with the defaults. */
function completeArguments(
  given: GivenArguments,
  at: FieldPath,
  dialect: Dialect,
): PluginArguments {
  const positions = new Map<string, number>()
  for (const [i, { name = '' }] of given.entries()) {
    if (positions.has(name)) at.index(i).duplicate(name)
    else positions.set(name, i)
  }
  const of = <N extends keyof PluginArguments>(name: N): PluginArguments[N] => {
    const position = positions.get(name)
    if (position === undefined) return defaultPluginArguments[name]
    const field = at.index(position).child('args')
    const args = decodeArguments(name, given[position]?.args ?? {}, { at: field, dialect })
    argumentValidators[name](args, field)
    return args
  }
  return {
    DefaultPreemption: of('DefaultPreemption'),
    InterPodAffinity: of('InterPodAffinity'),
    NodeAffinity: of('NodeAffinity'),
    NodeResourcesBalancedAllocation: of('NodeResourcesBalancedAllocation'),
    NodeResourcesFit: of('NodeResourcesFit'),
    PodTopologySpread: of('PodTopologySpread'),
    VolumeBinding: of('VolumeBinding'),
  }
}

/** Decodes one plugin's arguments, whose kind and version need not be given. */
function decodeArguments<N extends keyof PluginArguments>(
  name: N,
  args: { readonly kind?: unknown; readonly apiVersion?: unknown },
  { at, dialect }: { readonly at: FieldPath; readonly dialect: Dialect },
): PluginArguments[N] {
  const version = versionOf(dialect)
  const { kind = `${name}Args`, apiVersion = version, ...fields } = args
  if (kind !== `${name}Args` || apiVersion !== version) {
    at.invalid(`${String(apiVersion)}, ${String(kind)}`, 'has to match plugin args')
    return defaultPluginArguments[name]
  }
  const { object, problems } = decode<Partial<PluginArguments[N]>>(fields, argumentSchemas[name])
  const unknown = problems.unknown.map((path) => `unknown field "${path}"`)
  if (problems.fatal !== undefined || unknown.length > 0) {
    const why = problems.fatal ?? `strict decoding error: ${unknown.join(', ')}`
    throw new ConfigurationError(`decoding ${at.toString()}: ${why}`)
  }
  return completers[name](object)
}

/** A resource without a weight has 1. */
function weighted(resources: readonly { readonly name?: string; readonly weight?: number }[]) {
  return resources.map(({ name = '', weight }) => ({ name, weight: weight || 1 }))
}

function completeStrategy(given: Partial<ScoringStrategy> | undefined): ScoringStrategy {
  const { scoringStrategy } = defaultPluginArguments.NodeResourcesFit
  if (given === undefined) return scoringStrategy
  const resources = given.resources?.length ? given.resources : scoringStrategy.resources
  return { type: '', ...given, resources: weighted(resources) }
}

/** Adds the defaults of what is not given. */
const completers: {
  readonly [N in keyof PluginArguments]: (given: Partial<PluginArguments[N]>) => PluginArguments[N]
} = {
  DefaultPreemption: (given) => ({ ...defaultPluginArguments.DefaultPreemption, ...given }),
  InterPodAffinity: (given) => ({ ...defaultPluginArguments.InterPodAffinity, ...given }),
  NodeAffinity: (given) => given,
  NodeResourcesBalancedAllocation: ({ resources = [] }) =>
    resources.length === 0
      ? defaultPluginArguments.NodeResourcesBalancedAllocation
      : { resources: weighted(resources) },
  NodeResourcesFit: (given) => ({
    ...defaultPluginArguments.NodeResourcesFit,
    ...given,
    scoringStrategy: completeStrategy(given.scoringStrategy),
  }),
  PodTopologySpread: (given) => ({ ...defaultPluginArguments.PodTopologySpread, ...given }),
  VolumeBinding: (given) => ({ ...defaultPluginArguments.VolumeBinding, ...given }),
}
