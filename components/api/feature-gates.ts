/** Feature gates: those of release 1.32 that the components honour, and what `--feature-gates` may say about them. */

/** The releases in which a gate reached each stage, `major.minor`. */
export interface GateHistory {
  readonly alpha?: string
  readonly beta?: string
  readonly ga?: string
  /** The feature is dropped. */
  readonly deprecated?: string
  readonly removed?: string
}

export interface FeatureGate {
  readonly stage: 'ALPHA' | 'BETA' | 'GA' | 'DEPRECATED'
  readonly default: boolean
  /** Setting the other value is refused: the gate no longer switches anything. */
  readonly isLocked: boolean
  readonly history: GateHistory
}

function alpha(since: string): FeatureGate {
  return { stage: 'ALPHA', default: false, isLocked: false, history: { alpha: since } }
}

function beta(history: { alpha?: string; beta: string }): FeatureGate {
  return { stage: 'BETA', default: true, isLocked: false, history }
}

/** Upstream leaves features that need an API of their own off until they are stable (KEP-3136). */
function betaOff(history: { alpha?: string; beta: string }): FeatureGate {
  return { stage: 'BETA', default: false, isLocked: false, history }
}

function stable(history: { alpha?: string; beta?: string; ga: string }): FeatureGate {
  return { stage: 'GA', default: true, isLocked: true, history }
}

export const featureGates = {
  APIServerIdentity: beta({ alpha: '1.20', beta: '1.26' }),
  AllowUnsafeMalformedObjectDeletion: alpha('1.32'),
  AnonymousAuthConfigurableEndpoints: beta({ alpha: '1.31', beta: '1.32' }),
  AuthorizeNodeWithSelectors: beta({ alpha: '1.31', beta: '1.32' }),
  AuthorizeWithSelectors: beta({ alpha: '1.31', beta: '1.32' }),
  CBORServingAndStorage: alpha('1.32'),
  ClusterTrustBundle: alpha('1.27'),
  ContainerCheckpoint: beta({ alpha: '1.25', beta: '1.30' }),
  CronJobsScheduledAnnotation: stable({ beta: '1.28', ga: '1.32' }),
  CustomResourceFieldSelectors: stable({ alpha: '1.30', beta: '1.31', ga: '1.32' }),
  DRAAdminAccess: alpha('1.32'),
  DRAResourceClaimDeviceStatus: alpha('1.32'),
  DynamicResourceAllocation: betaOff({ alpha: '1.26', beta: '1.32' }),
  ElasticIndexedJob: stable({ beta: '1.27', ga: '1.31' }),
  JobBackoffLimitPerIndex: beta({ alpha: '1.28', beta: '1.29' }),
  JobManagedBy: beta({ alpha: '1.30', beta: '1.32' }),
  JobPodFailurePolicy: stable({ alpha: '1.25', beta: '1.26', ga: '1.31' }),
  JobPodReplacementPolicy: beta({ alpha: '1.28', beta: '1.29' }),
  JobSuccessPolicy: beta({ alpha: '1.30', beta: '1.31' }),
  MaxUnavailableStatefulSet: alpha('1.24'),
  MultiCIDRServiceAllocator: betaOff({ alpha: '1.27', beta: '1.31' }),
  MutatingAdmissionPolicy: alpha('1.32'),
  PodIndexLabel: stable({ beta: '1.28', ga: '1.32' }),
  RemoteRequestHeaderUID: alpha('1.32'),
  SELinuxChangePolicy: alpha('1.32'),
  StorageVersionAPI: alpha('1.20'),
  StorageVersionMigrator: alpha('1.30'),
  StructuredAuthenticationConfiguration: beta({ alpha: '1.29', beta: '1.30' }),
  StructuredAuthorizationConfiguration: stable({ alpha: '1.29', beta: '1.30', ga: '1.32' }),
  /** Upstream turned it on with 1.32; the specification keeps it off. */
  SystemdWatchdog: betaOff({ beta: '1.32' }),
  ValidatingAdmissionPolicy: stable({ alpha: '1.26', beta: '1.28', ga: '1.30' }),
  VolumeAttributesClass: betaOff({ alpha: '1.29', beta: '1.31' }),
  WatchList: beta({ alpha: '1.27', beta: '1.32' }),
} as const satisfies Record<string, FeatureGate>

/** Gates of features that this release has for good: naming one is an error, as naming any unknown gate is. */
export const formerFeatureGates = {
  APISelfSubjectReview: { alpha: '1.26', beta: '1.27', ga: '1.28', removed: '1.30' },
  CSIMigration: { alpha: '1.14', beta: '1.17', ga: '1.25', removed: '1.27' },
  DryRun: { alpha: '1.12', beta: '1.13', ga: '1.19', removed: '1.28' },
  ServerSideApply: { alpha: '1.14', beta: '1.16', ga: '1.22', removed: '1.32' },
  ServerSideFieldValidation: { alpha: '1.23', beta: '1.25', ga: '1.27', removed: '1.32' },
} as const satisfies Record<string, GateHistory>

export type FeatureGateName = keyof typeof featureGates

/** Whether each gate is on. */
export type FeatureGates = Readonly<Record<FeatureGateName, boolean>>

const names = Object.keys(featureGates) as FeatureGateName[]

/** All gates at their defaults. */
export const defaultFeatureGates: FeatureGates = Object.fromEntries(
  names.map((name) => [name, featureGates[name].default]),
) as FeatureGates

const truths: Readonly<Record<string, boolean | undefined>> = {
  true: true,
  TRUE: true,
  True: true,
  t: true,
  T: true,
  1: true,
  false: false,
  FALSE: false,
  False: false,
  f: false,
  F: false,
  0: false,
}

/**
 * Reads `--feature-gates=A=true,B=false`; `AllAlpha` and `AllBeta` set the default of their stage. A gate given twice has its
 * last value. Throws an Error fit for the operator for an unknown gate, a bad value and a locked gate; warnings are texts to log.
 */
export function parseFeatureGates(text: string): {
  readonly gates: FeatureGates
  readonly warnings: readonly string[]
} {
  const given = new Map<string, boolean>()
  for (const item of text.split(',')) {
    if (item.trim() === '') continue
    const equals = item.indexOf('=')
    const name = (equals < 0 ? item : item.slice(0, equals)).trim()
    if (equals < 0) throw new Error(`missing bool value for ${name}`)
    const value = truths[item.slice(equals + 1).trim()]
    if (value === undefined) {
      throw new Error(
        `invalid value of ${name}=${item.slice(equals + 1).trim()}, want true or false`,
      )
    }
    if (name !== 'AllAlpha' && name !== 'AllBeta' && !isFeatureGate(name)) {
      throw new Error(`unrecognized feature gate: ${name}`)
    }
    given.set(name, value)
  }
  const gates: Record<FeatureGateName, boolean> = { ...defaultFeatureGates }
  for (const name of names) {
    const { stage, isLocked } = featureGates[name] as FeatureGate
    const ofStage = stage === 'ALPHA' ? given.get('AllAlpha') : given.get('AllBeta')
    if (!isLocked && (stage === 'ALPHA' || stage === 'BETA')) gates[name] = ofStage ?? gates[name]
  }
  const warnings: string[] = []
  for (const [name, value] of given) {
    if (!isFeatureGate(name)) continue
    const gate: FeatureGate = featureGates[name]
    if (gate.isLocked && value !== gate.default) {
      throw new Error(
        `cannot set feature gate ${name} to ${value}, feature is locked to ${gate.default}`,
      )
    }
    if (gate.stage === 'GA' || gate.stage === 'DEPRECATED') {
      const what = gate.stage === 'GA' ? 'GA' : 'deprecated'
      warnings.push(
        `Setting ${what} feature gate ${name}=${value}. It will be removed in a future release.`,
      )
    }
    gates[name] = value
  }
  return { gates, warnings }
}

/** One line a gate, as `--help` lists them: `ContainerCheckpoint=true|false (BETA - default=true)`. */
export function featureGateHelp(): string[] {
  return [
    'AllAlpha=true|false (ALPHA - default=false)',
    'AllBeta=true|false (BETA - default=false)',
    ...names.map((name) => {
      const { stage, default: value } = featureGates[name] as FeatureGate
      // A gate of a stable feature switches nothing any more.
      const isDeprecated = stage === 'GA' || stage === 'DEPRECATED'
      const note = isDeprecated ? ', deprecated: it will be removed' : ''
      return `${name}=true|false (${stage} - default=${value}${note})`
    }),
  ]
}

function isFeatureGate(name: string): name is FeatureGateName {
  return Object.hasOwn(featureGates, name)
}
