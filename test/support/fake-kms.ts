/** A KMS plugin in this process without a socket: for tests of who calls it, when, and what comes of its answers. */
import { createKmsMetrics } from '../../components/api-server/encryption/kms/kms-metrics.ts'
import {
  KmsError,
  type Encrypted,
  type KmsService,
  type KmsStatus,
} from '../../components/api-server/encryption/kms/kms-service.ts'
import { createMetrics, type Metrics } from '../../components/component-base/metrics.ts'
import type { FakeClock } from './fake-clock.ts'

/** It "encrypts" by turning the bytes round, so that tests can tell what was given to it. */
export class FakeKms implements KmsService {
  keyId = 'key-1'
  version = 'v2'
  healthz = 'ok'
  annotations = new Map([['version.encryption.example.com', Buffer.from('1')]])
  /** In place of the key id that Encrypt tells. */
  encryptKeyId: string | undefined
  ciphertext: Buffer | undefined
  /** Every call fails. */
  isBroken = false
  readonly calls: string[] = []

  async status(): Promise<KmsStatus> {
    this.#call('status')
    const { version, healthz, keyId } = this
    return { version, healthz, keyId }
  }

  async encrypt(uid: string, plaintext: Buffer): Promise<Encrypted> {
    this.#call(`encrypt ${uid}`)
    const ciphertext = this.ciphertext ?? Buffer.from(plaintext.toReversed())
    return { ciphertext, keyId: this.encryptKeyId ?? this.keyId, annotations: this.annotations }
  }

  async decrypt(uid: string, { ciphertext }: Encrypted): Promise<Buffer> {
    this.#call(`decrypt ${uid}`)
    return Buffer.from(ciphertext.toReversed())
  }

  close(): void {}

  /** How often a method was called. */
  count(method: string): number {
    return this.calls.filter((call) => call.startsWith(method)).length
  }

  #call(what: string): void {
    this.calls.push(what)
    if (this.isBroken) throw new KmsError('broken', undefined)
  }
}

/** The metrics of KMS providers, and all metrics as text. */
export function kmsMetrics(clock: FakeClock): {
  metrics: ReturnType<typeof createKmsMetrics>
  all: Metrics
} {
  const all = createMetrics({ release: '1.32' })
  return { metrics: createKmsMetrics(all, { serverId: 'testAPIServerID', clock }), all }
}
