/**
 * The registry of lifecycles: what came, was deprecated, goes or went when, for versions of kinds, feature gates, flags,
 * behaviours and metrics. Tests hold it to the deprecation rules; a wrong entry fails with the rule that it breaks.
 */
import { dialects } from '../dialect.ts'
import { featureGates, formerFeatureGates } from '../feature-gates.ts'
import { resourcesOf } from '../resources.ts'
import type {
  ApiVersionEntry,
  BehaviorEntry,
  CliEntry,
  GateEntry,
  MetricEntry,
} from './deprecation-rules.ts'
import { formerVersions } from './former-versions.ts'

/** Every version of every kind that ever had an endpoint, without regard to the dialect. */
export function apiVersionEntries(): ApiVersionEntry[] {
  const present = resourcesOf(dialects.kubernetes).all.map(
    ({ package: groupVersion, kind, lifecycle }): ApiVersionEntry => ({
      groupVersion,
      kind,
      ...lifecycle,
    }),
  )
  return [...present, ...formerVersions]
}

/** The gates there are, and those that went. */
export function gateEntries(): GateEntry[] {
  const present = Object.entries(featureGates).map(([name, { history }]) => ({ name, ...history }))
  const former = Object.entries(formerFeatureGates).map(([name, history]) => ({ name, ...history }))
  return [...present, ...former]
}

/** Flags that are deprecated, by component; all others have no date yet. */
export const deprecatedFlags = {
  'node-agent': {
    'register-schedulable': {
      audience: 'admin',
      stability: 'GA',
      deprecated: '1.6',
    },
  },
  scheduler: {
    'pod-max-in-unschedulable-pods-duration': {
      audience: 'admin',
      stability: 'GA',
      deprecated: '1.24',
    },
  },
} as const satisfies Record<string, Record<string, Omit<CliEntry, 'name'>>>

/** The same as entries named `component --flag`. */
export function cliEntries(): CliEntry[] {
  return Object.entries(deprecatedFlags).flatMap(([component, flags]) =>
    Object.entries(flags).map(([name, entry]) => ({ name: `${component} --${name}`, ...entry })),
  )
}

export const behaviorEntries: readonly BehaviorEntry[] = [
  {
    name: 'GET /healthz',
    stability: 'GA',
    deprecated: '1.16',
    replacement: { name: 'GET /livez and /readyz', stability: 'GA' },
  },
  { name: 'componentstatuses', stability: 'GA', deprecated: '1.19' },
  {
    name: 'metadata.selfLink is set',
    stability: 'GA',
    deprecated: '1.16',
    removed: '1.24',
  },
  {
    name: 'PodSecurityPolicy admission',
    stability: 'BETA',
    deprecated: '1.21',
    removed: '1.25',
    replacement: { name: 'pod security admission', stability: 'GA' },
  },
  {
    name: 'the annotation enforce-mountable-secrets of service accounts',
    stability: 'GA',
    deprecated: '1.32',
    replacement: { name: 'a namespace for each trust boundary', stability: 'GA' },
  },
]

/** Metrics that are deprecated. A metric's `deprecatedFrom` comes from here. */
export const deprecatedMetrics = {
  scheduler_pod_scheduling_duration_seconds: {
    stability: 'STABLE',
    introduced: '1.18',
    deprecated: '1.29',
    removed: '1.33',
  },
} as const satisfies Record<string, Omit<MetricEntry, 'name'>>

export function metricEntries(): MetricEntry[] {
  return Object.entries(deprecatedMetrics).map(([name, entry]) => ({ name, ...entry }))
}
