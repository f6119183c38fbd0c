/**
 * The transformer of a KMS provider: data is encrypted with a seed, and stored with the seed as the plugin has encrypted it
 * (upstream: envelope/kmsv2/envelope.go and cache.go).
 */
import { timestamp, type Clock } from '../../../component-base/clock.ts'
import { ExpiringCache } from '../../../component-base/expiring-cache.ts'
import { internalError } from '../../../machinery/objects/status-error.ts'
import { aesGcm } from '../aes-gcm.ts'
import type { Transformer } from '../transformer.ts'
import {
  encodeEncryptedObject,
  hashed,
  readEncryptedObject,
  sourceDigest,
  sourceFault,
  sourceType,
  type DekSource,
  type EncryptedObject,
} from './encrypted-object.ts'
import { extendedNonceGcm } from './extended-nonce-gcm.ts'
import type { KmsMetrics } from './kms-metrics.ts'
import type { KmsProbe } from './kms-probe.ts'
import { KmsError, type KmsService } from './kms-service.ts'

/** Upstream's time. Upstream has no bound; this one is above the number of keys that are read at once. */
const keptForMs = 24 * 60 * 60_000
const mostKept = 4096

const keyBytes = [16, 24, 32]

/** Throws an Error for a key that no server has made. */
function transformerOf(type: number, key: Buffer): Transformer {
  if (type === sourceType.hkdfSha256Seed) return extendedNonceGcm(key)
  if (!keyBytes.includes(key.length)) throw new Error(`crypto/aes: invalid key size ${key.length}`)
  return aesGcm(key)
}

interface EnvelopeOptions {
  readonly name: string
  readonly endpoint: string
  readonly service: Pick<KmsService, 'decrypt'>
  readonly probe: Pick<KmsProbe, 'key'>
  readonly clock: Clock
  readonly metrics: KmsMetrics
}

/** `status`: the code of the plugin's error, if it has reported one. */
interface Fault {
  readonly why: string
  readonly status?: string | undefined
}

/** The keys of sources that the plugin has decrypted, and why it has not decrypted others. */
class OpenedSources {
  readonly #options: EnvelopeOptions
  readonly #opened: ExpiringCache<Transformer>
  readonly #faults: ExpiringCache<Fault>
  readonly #opening = new Map<string, Promise<void>>()

  constructor(options: EnvelopeOptions) {
    this.#options = options
    const bounds = { most: mostKept, clock: options.clock }
    this.#opened = new ExpiringCache(bounds)
    this.#faults = new ExpiringCache(bounds)
  }

  get(digest: string): Transformer | undefined {
    return this.#opened.get(digest)
  }

  keep(digest: string, transformer: Transformer): void {
    const { name, metrics } = this.#options
    this.#opened.set(digest, transformer, keptForMs)
    metrics.cached(name, this.#opened.size)
  }

  /** Why a source that was asked for is not here. */
  faultOf(digest: string): Fault {
    return this.#faults.get(digest) ?? { why: 'the DEK was not decrypted yet' }
  }

  /** Has the plugin decrypt a source. Never rejects; callers share a call. */
  open(digest: string, source: DekSource): Promise<void> {
    const already = this.#opening.get(digest)
    if (already !== undefined) return already
    const opening = this.#open(digest, source).finally(() => this.#opening.delete(digest))
    this.#opening.set(digest, opening)
    return opening
  }

  async #open(digest: string, source: DekSource): Promise<void> {
    const { service, clock, metrics } = this.#options
    metrics.missed()
    let key: Buffer
    try {
      key = await service.decrypt(clock.uuid(), source)
    } catch (error) {
      if (!(error instanceof KmsError)) throw error
      const why = `failed to decrypt DEK, error: ${error.message}`
      this.#faults.set(digest, { why, status: error.status }, keptForMs)
      return
    }
    try {
      this.keep(digest, transformerOf(source.type, key))
    } catch (error) {
      this.#faults.set(digest, { why: (error as Error).message }, keptForMs)
    }
  }
}

/** A text is what is wrong with the bytes. */
function readObject(stored: Buffer): EncryptedObject | string {
  let object: EncryptedObject
  try {
    object = readEncryptedObject(stored)
  } catch (error) {
    return (error as Error).message
  }
  if (object.data.length === 0) return 'encrypted data is empty'
  return sourceFault(object.source) ?? object
}

export function createEnvelope(options: EnvelopeOptions): Transformer {
  const { name, endpoint, probe, clock, metrics } = options
  const sources = new OpenedSources(options)
  const named = (why: string): string => `KMS provider "${name}" at ${endpoint}: ${why}`
  const untouched = 'it was not healthy since the start of this server: see /healthz/kms-providers'

  return {
    toStorage: (bytes, storageKey) => {
      const { key } = probe
      if (key === undefined) throw internalError(named(untouched))
      const { source, digest, transformer, expiresAtMs } = key
      if (clock.now() > expiresAtMs) {
        const at = `expired at ${timestamp(expiresAtMs)} (current time is ${timestamp(clock.now())})`
        throw internalError(
          named(`encryptedDEKSource with keyID hash "${hashed(source.keyId)}" ${at}`),
        )
      }
      // Read without the plugin when another seed is in use.
      if (sources.get(digest) === undefined) sources.keep(digest, transformer)
      metrics.used('to_storage', name, source.keyId)
      return encodeEncryptedObject({ source, data: transformer.toStorage(bytes, storageKey) })
    },

    prepare: (stored) => {
      const object = readObject(stored)
      // `fromStorage` says what is wrong.
      if (typeof object === 'string' || probe.key === undefined) return undefined
      const digest = sourceDigest(object.source)
      if (digest === probe.key.digest || sources.get(digest) !== undefined) return undefined
      return sources.open(digest, object.source)
    },

    fromStorage: (stored, storageKey) => {
      const object = readObject(stored)
      if (typeof object === 'string') return { ok: false, why: named(object) }
      const { key } = probe
      // As upstream: without a key there is no telling what is stale.
      if (key === undefined) return { ok: false, why: named(untouched) }
      const { source, data } = object
      const digest = sourceDigest(source)
      const transformer = digest === key.digest ? key.transformer : sources.get(digest)
      if (transformer === undefined) {
        const { why, status } = sources.faultOf(digest)
        return { ok: false, why: named(why), status }
      }
      metrics.used('from_storage', name, source.keyId)
      const result = transformer.fromStorage(data, storageKey)
      if (!result.ok) return { ok: false, why: named(result.why) }
      const isOlder = source.keyId !== key.source.keyId || source.type !== key.source.type
      return isOlder ? { ...result, isStale: true } : result
    },
  }
}
