/** The configuration of EventRateLimit (upstream: plugin/pkg/admission/eventratelimit/apis). */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import {
  document,
  int32,
  list,
  struct,
  text,
} from '../../../machinery/configuration/config-schema.ts'
import {
  readConfiguration,
  refuseFieldErrors,
} from '../../../machinery/configuration/read-configuration.ts'

const limitTypes = ['Namespace', 'Server', 'SourceAndObject', 'User'] as const

/** What one bucket of tokens is for. */
export type LimitType = (typeof limitTypes)[number]

export interface EventLimit {
  readonly type: LimitType
  /** Events a second. */
  readonly qps: number
  readonly burst: number
  /** Most buckets that are kept. */
  readonly cacheSize: number
}

export type EventRateLimits = readonly EventLimit[]

const defaultCacheSize = 4096

const schema = document('Configuration', {
  limits: list(struct('Limit', { type: text, qps: int32, burst: int32, cacheSize: int32 })),
})

interface RawConfiguration {
  readonly limits?: readonly {
    readonly type?: string
    readonly qps?: number
    readonly burst?: number
    readonly cacheSize?: number
  }[]
}

function isLimitType(type: string): type is LimitType {
  return (limitTypes as readonly string[]).includes(type)
}

/** Throws ConfigurationError. */
export function parseEventRateLimits(source: string, dialect: Dialect): EventRateLimits {
  const { limits = [] } = readConfiguration<RawConfiguration>(source, {
    kind: 'Configuration',
    group: apiGroup(dialect, 'eventratelimit.admission'),
    versions: ['v1alpha1'],
    schema,
  })
  const at = FieldPath.root('limits')
  if (limits.length === 0)
    at.invalid(goList(undefined, 'eventratelimit.Limit'), 'must not be empty')
  const parsed = limits.flatMap(({ type = '', qps = 0, burst = 0, cacheSize = 0 }, i) => {
    const place = at.index(i)
    if (burst <= 0) place.child('burst').invalid(burst, 'must be positive')
    if (qps <= 0) place.child('qps').invalid(qps, 'must be positive')
    if (type !== 'Server' && cacheSize < 0) {
      place.child('cacheSize').invalid(cacheSize, 'must not be negative')
    }
    if (isLimitType(type)) return [{ type, qps, burst, cacheSize: cacheSize || defaultCacheSize }]
    place.child('type').unsupported(type, limitTypes)
    return []
  })
  refuseFieldErrors(at.errors)
  return parsed
}
