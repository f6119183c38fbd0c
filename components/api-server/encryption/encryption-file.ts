/** encryption-file: the file of --encryption-provider-config, read at start and, with automatic reload, when it changes. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Dialect } from '../../api/dialect.ts'
import { upkeepOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Counter, Family, Metrics } from '../../component-base/metrics.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { createEncryption, type Encryption } from './encryption.ts'
import { parseEncryptionConfig, type EncryptionRule } from './encryption-config.ts'
import { createKmsMetrics } from './kms/kms-metrics.ts'
import { createTransformationMetrics } from './transformation-metrics.ts'

/** How often the file is read (upstream's interval). */
const lookEveryMs = 60_000

interface Loaded {
  readonly rules: readonly EncryptionRule[]
  readonly hash: string
}

async function read(path: string): Promise<{ text: string; hash: string }> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const why = (error as Error).message
    throw new Error(`error reading encryption provider configuration file "${path}": ${why}`, {
      cause: error,
    })
  })
  return { text, hash: createHash('sha256').update(text).digest('hex') }
}

/** Upstream: apiserver pkg/server/options/encryptionconfig/metrics. */
export function countReloads(metrics: Metrics): Family<Counter> {
  return metrics.counter({
    name: 'apiserver_encryption_config_controller_automatic_reloads_total',
    help: 'Total number of reload successes and failures of encryption configuration.',
    labels: ['status'],
  })
}

export interface EncryptionFile {
  /** The caller closes it. */
  readonly encryption: Encryption
  /** Reads the file every minute until `signal` aborts. Calls `onReload` when the rules change. */
  follow(options: {
    clock: Clock
    log: Log
    metrics: Metrics
    signal: AbortSignal
    onReload: () => Promise<void>
  }): Promise<void>
}

/** Reads the file. Rejects with an Error whose message tells the operator what to fix. */
export async function openEncryptionFile(options: {
  path: string
  dialect: Dialect
  resources: readonly Resource[]
  clock: Clock
  log: Log
  metrics: Metrics
  /** Tells the servers of a cluster apart in metrics. */
  serverId: string
}): Promise<EncryptionFile> {
  const { path, dialect } = options
  const loadRules = async (): Promise<Loaded> => {
    const { text, hash } = await read(path)
    try {
      return { rules: parseEncryptionConfig(text, { path, dialect }), hash }
    } catch (error) {
      throw new Error(`error while parsing file: ${(error as Error).message}`, { cause: error })
    }
  }
  const loaded = await loadRules()
  let { hash } = loaded
  const metrics = createKmsMetrics(options.metrics, options)
  const transformations = createTransformationMetrics(options.metrics, options.clock)
  const encryption = await createEncryption(loaded.rules, { ...options, metrics, transformations })

  return {
    encryption,
    follow: async ({ clock, log, metrics: all, signal, onReload }) => {
      const reloads = countReloads(all)
      while (!signal.aborted) {
        try {
          await upkeepOf(clock).sleep(lookEveryMs, signal)
        } catch (error) {
          if (signal.aborted) return
          throw error
        }
        try {
          const { hash: newest } = await read(path)
          if (newest === hash) continue
          const next = await loadRules()
          await encryption.reload(next.rules, signal)
          hash = next.hash
          await onReload()
          reloads.with('success').inc()
          log.info('encryption configuration reloaded', { path })
        } catch (error) {
          if (signal.aborted) return
          reloads.with('failure').inc()
          log.error('encryption configuration cannot be reloaded; the last one stays in use', {
            path,
            why: (error as Error).message,
          })
        }
      }
    },
  }
}
