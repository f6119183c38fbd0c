/** KmsProvider: one `kms` provider of the configuration: its plugin, its health, and its transformer. */
import type { Clock } from '../../../component-base/clock.ts'
import type { Log } from '../../../component-base/log.ts'
import type { KmsProviderConfig } from './kms-config.ts'
import type { Transformer } from '../transformer.ts'
import { createEnvelope } from './envelope.ts'
import { createGrpcKmsService } from './grpc-kms-service.ts'
import type { KmsMetrics } from './kms-metrics.ts'
import { KmsProbe } from './kms-probe.ts'

/** What all providers of a server share. */
export interface KmsSurroundings {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: KmsMetrics
  /** Called when some plugin has answered and is well. */
  readonly onHealthy: () => void
}

export interface KmsProvider {
  readonly transformer: Transformer
  readonly timeoutMs: number
  /** See KmsProbe. Call it once before the transformer is used. */
  check(): Promise<string | undefined>
  /** Checks in the background until `stop`. */
  start(): void
  /** Ends the checks. Idempotent, as `close`. */
  stop(): void
  /** Ends calls, too. The transformer goes on with the keys that it has. */
  close(): void
}

export function createKmsProvider(
  config: KmsProviderConfig,
  surroundings: KmsSurroundings,
): KmsProvider {
  const { name, endpoint, socketPath, timeoutMs } = config
  const { clock, metrics } = surroundings
  const service = createGrpcKmsService({
    path: socketPath,
    timeoutMs,
    clock,
    observe: (call) => metrics.called(name, call),
  })
  const stopping = new AbortController()
  const probe = new KmsProbe({ ...surroundings, name, endpoint, service, signal: stopping.signal })
  const stop = (): void => stopping.abort(new Error('the KMS provider is no longer in use'))
  return {
    transformer: createEnvelope({ name, endpoint, service, probe, clock, metrics }),
    timeoutMs,
    check: () => probe.check(),
    start: () => void probe.run(),
    stop,
    close: () => {
      stop()
      service.close()
    },
  }
}
