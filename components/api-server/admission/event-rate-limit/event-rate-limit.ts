/** EventRateLimit: rejects Events beyond a rate, of the server, a namespace, a user or a source (upstream: plugin/pkg/admission/eventratelimit). */
import type { Dialect } from '../../../api/dialect.ts'
import type { Event } from '../../../api/generated/types.ts'
import { resourcesOf } from '../../../api/resources.ts'
import type { Clock } from '../../../component-base/clock.ts'
import { StatusError } from '../../../machinery/objects/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import type { EventLimit, EventRateLimits, LimitType } from './event-rate-limit-configuration.ts'

function sourceAndObject(event: Event): string {
  const { source, involvedObject: about } = event
  const parts = [source?.component, source?.host, about.kind, about.namespace, about.name]
  return [...parts, about.uid, about.apiVersion].join('')
}

const keys: Readonly<Record<LimitType, (request: AdmissionRequest) => string>> = {
  Server: () => '',
  Namespace: ({ namespace }) => namespace,
  User: ({ user }) => user.name,
  SourceAndObject: ({ object }) => (object === undefined ? '' : sourceAndObject(object as Event)),
}

interface Bucket {
  readonly tokens: number
  readonly atMs: number
}

/** Takes a token for the key; false if the bucket is empty. Of too many, the least recently used is dropped: full again. */
function createBuckets({ qps, burst, cacheSize }: EventLimit, clock: Clock) {
  const buckets = new Map<string, Bucket>()
  return (key: string): boolean => {
    const nowMs = clock.now()
    const { tokens, atMs } = buckets.get(key) ?? { tokens: burst, atMs: nowMs }
    const refilled = (Math.max(0, nowMs - atMs) / 1000) * qps
    const available = Math.min(burst, tokens + refilled)
    const isAllowed = available >= 1
    buckets.delete(key)
    buckets.set(key, { tokens: isAllowed ? available - 1 : available, atMs: nowMs })
    if (buckets.size > cacheSize) {
      const oldest = buckets.keys().next()
      if (oldest.done !== true) buckets.delete(oldest.value)
    }
    return isAllowed
  }
}

/** Throws an Error without limits. */
export function eventRateLimit(
  dialect: Dialect,
  clock: Clock,
  limits: EventRateLimits | undefined,
): AdmissionPlugin {
  if (limits === undefined)
    throw new Error('limits: Invalid value: []eventratelimit.Limit(nil): must not be empty')
  const { events } = resourcesOf(dialect)
  const enforcers = limits.map((limit) => ({
    type: limit.type,
    take: createBuckets(limit, clock),
  }))
  return {
    name: 'EventRateLimit',
    validate(request) {
      const { operation, resource, dryRun } = request
      if (resource !== events || dryRun) return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      // Each limit counts the Event, also once another has rejected it.
      const reached = enforcers.flatMap(({ type, take }) => {
        const key = keys[type](request)
        return take(key) ? [] : [`limit reached on type ${type} for key ${key}`]
      })
      const last = reached.at(-1)
      if (last === undefined) return
      throw new StatusError('TooManyRequests', `Too many requests: ${last}`)
    },
  }
}
