/** KmsService: what a KMS plugin does for the API server (upstream: k8s.io/kms pkg/service/interface.go). */

export type Annotations = ReadonlyMap<string, Buffer>

export interface KmsStatus {
  readonly version: string
  /** `ok`, or what is wrong. */
  readonly healthz: string
  /** The key that `encrypt` uses now. */
  readonly keyId: string
}

export interface Encrypted {
  readonly ciphertext: Buffer
  readonly keyId: string
  readonly annotations: Annotations
}

/** All reject with a KmsError when the plugin does not answer in time, or refuses. `uid` names the call in logs. */
export interface KmsService {
  status(): Promise<KmsStatus>
  encrypt(uid: string, plaintext: Buffer): Promise<Encrypted>
  decrypt(uid: string, encrypted: Encrypted): Promise<Buffer>
  /** Ends the calls under way. Idempotent. */
  close(): void
}

/** A call that failed. The message names the gRPC status and the socket, and holds nothing of what was sent. */
export class KmsError extends Error {
  /** The name of the gRPC code; undefined when the plugin has not failed, but its answer is of no use. */
  readonly status: string | undefined
  constructor(message: string, cause: unknown, status?: string) {
    super(message, { cause })
    this.name = 'KmsError'
    this.status = status
  }
}
