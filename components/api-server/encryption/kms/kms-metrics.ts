/** Metrics of KMS providers (upstream: envelope/metrics, storage/value/metrics.go). Key ids and the server's name show as digests. */
import type { Clock } from '../../../component-base/clock.ts'
import { exponentialBuckets, type Metrics, type Sample } from '../../../component-base/metrics.ts'
import type { Transformation } from '../transformation-metrics.ts'
import { hashed } from './encrypted-object.ts'

export interface KmsMetrics {
  called(provider: string, call: { method: string; status: string; seconds: number }): void
  /** A key id was in use for an object. */
  used(transformation: Transformation, provider: string, keyId: string): void
  /** The plugin says that this is its key now. */
  reported(provider: string, keyId: string): void
  invalidKeyId(provider: string, fault: 'empty' | 'too_long'): void
  cached(provider: string, sources: number): void
  missed(): void
  /** Makes a key for new data, and counts how long that took. */
  generated<T>(generate: () => T): T
}

/** Series of the same metric; as upstream, the one that was not used for longest goes. */
const mostSeries = 100

interface KeyUse {
  readonly labels: readonly string[]
  count: number
  atMs: number
}

class KeyUses {
  readonly #uses = new Map<string, KeyUse>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `labels` makes the values of a new series. */
  note(key: string, labels: () => readonly string[]): void {
    const use = this.#uses.get(key) ?? { labels: labels(), count: 0, atMs: 0 }
    use.count += 1
    use.atMs = this.#clock.now()
    this.#uses.delete(key)
    this.#uses.set(key, use)
    const oldest = this.#uses.keys().next()
    if (this.#uses.size > mostSeries && oldest.done !== true) this.#uses.delete(oldest.value)
  }

  samples(value: (use: KeyUse) => number): Sample[] {
    return [...this.#uses.values()].map((use) => ({ labels: use.labels, value: value(use) }))
  }
}

const prefix = 'apiserver_envelope_encryption'

function declareKeyUses(metrics: Metrics, uses: KeyUses, reports: KeyUses): void {
  const ofReports = ['provider_name', 'key_id_hash', 'apiserver_id_hash']
  const ofUses = ['transformation_type', ...ofReports]
  metrics.observed(
    {
      kind: 'counter',
      name: `${prefix}_key_id_hash_total`,
      help: 'Number of times a keyID is used split by transformation type, provider, and apiserver identity.',
      labels: ofUses,
    },
    () => uses.samples(({ count }) => count),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: `${prefix}_key_id_hash_last_timestamp_seconds`,
      help: 'The last time in seconds when a keyID was used.',
      labels: ofUses,
    },
    () => uses.samples(({ atMs }) => atMs / 1000),
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: `${prefix}_key_id_hash_status_last_timestamp_seconds`,
      help: 'The last time in seconds when a keyID was returned by the Status RPC call.',
      labels: ofReports,
    },
    () => reports.samples(({ atMs }) => atMs / 1000),
  )
}

function dataKeyMetrics(metrics: Metrics, clock: Clock): KmsMetrics['generated'] {
  const durations = metrics.histogram({
    name: 'apiserver_storage_data_key_generation_duration_seconds',
    help: 'Latencies in seconds of data encryption key(DEK) generation operations.',
    buckets: exponentialBuckets(5e-6, 2, 14),
  })
  const failures = metrics.counter({
    name: 'apiserver_storage_data_key_generation_failures_total',
    help: 'Total number of failed data encryption key(DEK) generation operations.',
  })
  return (generate) => {
    const startedMs = clock.elapsed()
    try {
      const key = generate()
      durations.observe((clock.elapsed() - startedMs) / 1000)
      return key
    } catch (error) {
      failures.inc()
      throw error
    }
  }
}

/** `serverId` tells the servers of a cluster apart. */
export function createKmsMetrics(
  metrics: Metrics,
  { serverId, clock }: { serverId: string; clock: Clock },
): KmsMetrics {
  const server = hashed(serverId)
  const uses = new KeyUses(clock)
  const reports = new KeyUses(clock)
  declareKeyUses(metrics, uses, reports)
  const latency = metrics.histogram({
    name: `${prefix}_kms_operations_latency_seconds`,
    help: 'KMS operation duration with gRPC error code status total.',
    labels: ['provider_name', 'method_name', 'grpc_status_code'],
    buckets: exponentialBuckets(0.0001, 2, 20),
  })
  const invalid = metrics.counter({
    name: `${prefix}_invalid_key_id_from_status_total`,
    help: 'Number of times an invalid keyID is returned by the Status RPC call split by error.',
    labels: ['provider_name', 'error'],
  })
  const sources = metrics.gauge({
    name: `${prefix}_dek_source_cache_size`,
    help: 'Number of records in data encryption key (DEK) source cache. On a restart, this value is an approximation of the number of decrypt RPC calls the server will make to the KMS plugin.',
    labels: ['provider_name'],
  })
  const misses = metrics.counter({
    name: 'apiserver_storage_envelope_transformation_cache_misses_total',
    help: 'Total number of cache misses while accessing key decryption key(KEK).',
  })
  return {
    called: (provider, { method, status, seconds }) =>
      latency.with(provider, method, status).observe(seconds),
    used: (transformation, provider, keyId) =>
      uses.note(JSON.stringify([transformation, provider, keyId]), () => [
        transformation,
        provider,
        hashed(keyId),
        server,
      ]),
    reported: (provider, keyId) =>
      reports.note(JSON.stringify([provider, keyId]), () => [provider, hashed(keyId), server]),
    invalidKeyId: (provider, fault) => invalid.with(provider, fault).inc(),
    cached: (provider, count) => sources.with(provider).set(count),
    missed: () => misses.inc(),
    generated: dataKeyMetrics(metrics, clock),
  }
}
