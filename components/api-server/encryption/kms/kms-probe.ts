/**
 * KmsProbe: asks a KMS plugin how it is, and keeps the key that new data is encrypted with (upstream: kmsv2PluginProbe in
 * server/options/encryptionconfig/config.go).
 */
import { randomBytes } from 'node:crypto'
import { upkeepOf, timestamp, type Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import type { Transformer } from '../transformer.ts'
import { hashed, keyIdFault, sourceDigest, sourceFault, sourceType } from './encrypted-object.ts'
import type { DekSource } from './encrypted-object.ts'
import { extendedNonceGcm, seedBytes } from './extended-nonce-gcm.ts'
import type { KmsMetrics } from './kms-metrics.ts'
import { KmsError, type KmsService, type KmsStatus } from './kms-service.ts'

/** Upstream's intervals: how often the plugin is asked, how long an answer is good for, and for how long a key writes. */
const askEveryMs = { healthy: 60_000, faulty: 10_000 }
const goodForMs = { healthy: 20_000, faulty: 3000 }
const writesForMs = 3 * 60_000

const versions = ['v2', 'v2beta1']
/** Go's zero time, which upstream shows without a key. */
const never = '0001-01-01T00:00:00Z'

/** The seed of new data, with what the store holds of it. */
export interface WriteKey {
  readonly source: DekSource
  /** Of the source. */
  readonly digest: string
  readonly transformer: Transformer
  /** From then on it only reads. */
  readonly expiresAtMs: number
}

export interface KmsProbeOptions {
  readonly name: string
  readonly endpoint: string
  readonly service: KmsService
  readonly clock: Clock
  readonly log: Log
  readonly metrics: KmsMetrics
  /** Called when the plugin has answered and is well. */
  readonly onHealthy: () => void
  /** Aborts when the provider is no longer in use. */
  readonly signal: AbortSignal
}

function listed(faults: readonly string[]): string {
  const distinct = [...new Set(faults)]
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`
}

export class KmsProbe {
  readonly #options: KmsProbeOptions
  #key: WriteKey | undefined
  /** Of the first answer: it may not change. */
  #version: string | undefined
  #asking: Promise<string | undefined> | undefined
  #answer: { readonly atMs: number; readonly fault: string | undefined } | undefined

  constructor(options: KmsProbeOptions) {
    this.#options = options
  }

  /** Undefined until the plugin was healthy once. */
  get key(): WriteKey | undefined {
    return this.#key
  }

  /** Why the plugin cannot be relied on; undefined when it can. An answer is good for some seconds; callers share a call. */
  async check(): Promise<string | undefined> {
    const { clock } = this.#options
    const answer = this.#answer
    if (answer !== undefined) {
      const { healthy, faulty } = goodForMs
      const isFresh =
        clock.elapsed() - answer.atMs < (answer.fault === undefined ? healthy : faulty)
      if (isFresh) return answer.fault
    }
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))
    return await this.#asking
  }

  /** Checks until the provider is no longer in use. The first check is the caller's. */
  async run(): Promise<void> {
    const { clock, signal } = this.#options
    let fault = this.#answer?.fault
    try {
      for (;;) {
        await upkeepOf(clock).sleep(
          fault === undefined ? askEveryMs.healthy : askEveryMs.faulty,
          signal,
        )
        fault = await this.check()
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  async #ask(): Promise<string | undefined> {
    const { name, service, clock, onHealthy, signal } = this.#options
    let fault: string | undefined
    try {
      fault = await this.#faultOf(await service.status())
    } catch (error) {
      if (!(error instanceof KmsError)) throw error
      fault = `failed to perform status section of the healthz check for KMS Provider ${name}, error: ${error.message}`
    }
    if (signal.aborted) return fault
    this.#report(fault)
    this.#answer = { atMs: clock.elapsed(), fault }
    if (fault === undefined) onHealthy()
    return fault
  }

  /** Logs each change once. */
  #report(fault: string | undefined): void {
    const { name, endpoint, log } = this.#options
    const was = this.#answer?.fault
    const fields = { provider: name, endpoint }
    if (fault === undefined) {
      if (was !== undefined) log.info('KMS provider is healthy again', fields)
    } else if (was === undefined) {
      log.error('KMS provider is not healthy', { ...fields, why: fault })
    } else {
      log.debug('KMS provider is still not healthy', { ...fields, why: fault })
    }
  }

  async #faultOf(status: KmsStatus): Promise<string | undefined> {
    const { name, metrics } = this.#options
    const { healthz, version, keyId } = status
    const faults: string[] = []
    if (healthz !== 'ok') faults.push(`got unexpected healthz status: ${healthz}`)
    if (!versions.includes(version)) {
      faults.push(`expected KMSv2 API version ${versions[0]}, got ${version}`)
    } else {
      this.#version ??= version
      if (this.#version !== version) {
        faults.push(
          `KMSv2 API version should not change after the initial status response version ${this.#version}, got ${version}`,
        )
      }
    }
    const ofKeyId = keyIdFault(keyId)
    if (ofKeyId === undefined) {
      metrics.reported(name, keyId)
      const fault = await this.#rotate(keyId)
      if (fault !== undefined) faults.push(fault)
    } else {
      metrics.invalidKeyId(name, ofKeyId.code)
      faults.push(`got invalid KMSv2 KeyID hash "${hashed(keyId)}": ${ofKeyId.why}`)
    }
    return faults.length === 0
      ? undefined
      : `kmsv2 Provider ${name} is not healthy, error: ${listed(faults)}`
  }

  /**
   * Makes a new seed if the plugin has another key now, else extends the time of the current one. When that fails, the
   * current seed stays in use until its time is over.
   */
  async #rotate(statusKeyId: string): Promise<string | undefined> {
    const { clock, log, name } = this.#options
    const known = this.#key
    // The time of the call to the plugin counts.
    const expiresAtMs = clock.now() + writesForMs
    if (known?.source.keyId === statusKeyId) {
      this.#key = { ...known, expiresAtMs }
      return undefined
    }
    const uid = clock.uuid()
    const made = await this.#newKey(uid, expiresAtMs)
    const ids = {
      statusKeyIDHash: hashed(statusKeyId),
      encryptKeyIDHash: 'fault' in made ? '' : hashed(made.source.keyId),
      stateKeyIDHash: hashed(known?.source.keyId ?? ''),
    }
    if (!('fault' in made) && made.source.keyId === statusKeyId) {
      this.#key = made
      log.debug('a new seed encrypts from now on', { provider: name, uid, ...ids })
      return undefined
    }
    const errState = known === undefined ? 'got unexpected nil transformer' : '<nil>'
    const errGen = 'fault' in made ? made.fault : '<nil>'
    const shown = Object.entries(ids).map(([field, hash]) => `${field}="${hash}"`)
    const until = known === undefined ? never : timestamp(known.expiresAtMs)
    return `failed to rotate DEK uid="${uid}", useSeed=true, errState=${errState}, errGen=${errGen}, ${shown.join(', ')}, expirationTimestamp=${until}`
  }

  async #newKey(uid: string, expiresAtMs: number): Promise<WriteKey | { readonly fault: string }> {
    const seed = this.#options.metrics.generated(() => randomBytes(seedBytes))
    try {
      const encrypted = await this.#options.service.encrypt(uid, seed)
      const source = { ...encrypted, type: sourceType.hkdfSha256Seed }
      const fault = sourceFault(source)
      if (fault !== undefined) return { fault }
      const digest = sourceDigest(source)
      return { source, digest, transformer: extendedNonceGcm(seed), expiresAtMs }
    } catch (error) {
      if (!(error instanceof KmsError)) throw error
      return { fault: `failed to encrypt DEK, error: ${error.message}` }
    }
  }
}
