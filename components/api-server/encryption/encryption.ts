/**
 * Encryption at rest: rules of the configuration -> one transformer per stored resource. Callers keep
 * one value; `reload` replaces the rules behind it.
 */
import type { Dialect } from '../../api/dialect.ts'
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { groupResourceName, type GroupResource } from './encrypted-resources.ts'
import type { EncryptionRule } from './encryption-config.ts'
import type { KmsMetrics } from './kms/kms-metrics.ts'
import { createRuleSet, type RuleSet } from './rule-set.ts'
import type { TransformationMetrics } from './transformation-metrics.ts'
import { firstWrites, type StorageTransformers, type Transformer } from './transformer.ts'

/** How long the plugins of a new configuration may take to become healthy, at least, and how often they are asked. */
const leastHealthMs = 10_000
const askHealthMs = 100

/** The transformers of a server, exchangeable while it runs. */
export interface Encryption extends StorageTransformers {
  /**
   * Replaces the rules for writes and reads. Rejects and keeps the old ones when the new ones are unusable, their KMS plugins do
   * not become healthy, or `signal` aborts before.
   */
  reload(rules: readonly EncryptionRule[], signal: AbortSignal): Promise<void>
  /** Whether the rules name KMS providers. */
  readonly usesKms: boolean
  /** Why a KMS provider is not healthy (upstream: kmsHealthChecker). */
  kmsFault(): Promise<string | undefined>
  /** Keeps asking KMS plugins until `close`. Calls `onHealthy` whenever one has answered and is well. */
  start(onHealthy: () => void): void
  /** Ends the connections to KMS plugins. Idempotent. */
  close(): void
}

export interface EncryptionOptions {
  readonly dialect: Dialect
  /** All stored ones, to find the group of a storage prefix. */
  readonly resources: readonly Resource[]
  readonly clock: Clock
  readonly log: Log
  readonly metrics: KmsMetrics
  /** Default: they are not counted. */
  readonly transformations?: TransformationMetrics
}

async function faultOf({ kms }: RuleSet): Promise<string | undefined> {
  const answers = await Promise.all(kms.map((provider) => provider.check()))
  const faults = answers.flatMap((fault, at) =>
    fault === undefined ? [] : [`kms-provider-${at}: ${fault}`],
  )
  return faults.length > 1 ? `[${faults.join(', ')}]` : faults[0]
}

function groupResourcesOf(resources: readonly Resource[]): ReadonlyMap<string, GroupResource> {
  const names = new Map<string, GroupResource>()
  for (const { group, plural, storagePrefix, package: own, storageVersion } of resources) {
    if (own === storageVersion.package || !names.has(storagePrefix)) {
      names.set(storagePrefix, { group, resource: plural })
    }
  }
  return names
}

function lookUp({ byName }: RuleSet, { group, resource }: GroupResource) {
  const candidates: GroupResource[] = [
    { group, resource },
    { group, resource: '*' },
    { group: '*', resource: '*' },
  ]
  for (const candidate of candidates) {
    const providers = byName.get(groupResourceName(candidate))
    if (providers !== undefined) return providers
  }
  return undefined
}

/** Calls in flight at a reload end by themselves within this time (upstream: KMSCloseGracePeriod). */
function graceMsOf({ kms }: RuleSet): number {
  return 2 * kms.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0)
}

class ExchangeableRules implements Encryption {
  readonly #options: EncryptionOptions
  readonly #names: ReadonlyMap<string, GroupResource>
  #current: RuleSet = { byName: new Map(), kms: [] }
  /** By storage prefix; each is looked up once. */
  #found = new Map<string, Transformer | undefined>()
  /** With the sets whose last calls may still be under way. */
  readonly #open = new Set<RuleSet>()
  #onHealthy: (() => void) | undefined

  constructor(options: EncryptionOptions) {
    this.#options = options
    this.#names = groupResourcesOf(options.resources)
  }

  async load(rules: readonly EncryptionRule[]): Promise<void> {
    this.#current = await this.#make(rules)
    await this.kmsFault()
  }

  async #make(rules: readonly EncryptionRule[]): Promise<RuleSet> {
    const { dialect, clock, log, metrics } = this.#options
    const onHealthy = (): void => this.#onHealthy?.()
    const surroundings = { clock, log, metrics, onHealthy }
    const set = await createRuleSet(rules, { dialect, surroundings })
    this.#open.add(set)
    return set
  }

  of(storagePrefix: string): Transformer | undefined {
    if (!this.#found.has(storagePrefix)) {
      const [group = '', resource = ''] = storagePrefix.split('/')
      const name = this.#names.get(storagePrefix) ?? { group, resource }
      const providers = lookUp(this.#current, name)
      const observer = this.#options.transformations?.(groupResourceName(name))
      const none = 'no matching prefix found'
      this.#found.set(storagePrefix, providers && firstWrites(providers, none, observer))
    }
    return this.#found.get(storagePrefix)
  }

  async reload(rules: readonly EncryptionRule[], signal: AbortSignal): Promise<void> {
    const next = await this.#make(rules)
    try {
      await this.#waitUntilHealthy(next, signal)
    } catch (error) {
      this.#close(next)
      throw error
    }
    const last = this.#current
    this.#current = next
    this.#found = new Map()
    if (this.#onHealthy !== undefined) for (const provider of next.kms) provider.start()
    for (const provider of last.kms) provider.stop()
    this.#options.clock.after(graceMsOf(last), () => this.#close(last))
  }

  async #waitUntilHealthy(set: RuleSet, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const limitMs = Math.max(leastHealthMs, graceMsOf(set))
    const startMs = clock.elapsed()
    for (;;) {
      const fault = await faultOf(set)
      if (fault === undefined) return
      if (clock.elapsed() - startMs >= limitMs) {
        throw new Error(
          `health check for new transformers failed, polling error timed out waiting for the condition: ${fault}`,
        )
      }
      await backgroundOf(clock).sleep(askHealthMs, signal)
    }
  }

  get usesKms(): boolean {
    return this.#current.kms.length > 0
  }

  async kmsFault(): Promise<string | undefined> {
    return await faultOf(this.#current)
  }

  start(onHealthy: () => void): void {
    this.#onHealthy = onHealthy
    for (const provider of this.#current.kms) provider.start()
  }

  close(): void {
    for (const set of this.#open) this.#close(set)
  }

  #close(set: RuleSet): void {
    this.#open.delete(set)
    for (const provider of set.kms) provider.close()
  }
}

/** Transformers for checked rules. KMS plugins have been asked once; one that does not answer is no error. */
export async function createEncryption(
  rules: readonly EncryptionRule[],
  options: EncryptionOptions,
): Promise<Encryption> {
  const encryption = new ExchangeableRules(options)
  await encryption.load(rules)
  return encryption
}
