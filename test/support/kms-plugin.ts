/** A KMS plugin on a socket, as operators run one: real encryption under its own keys, rotation, and faults on request. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { grpcCode, GrpcError } from '../../components/component-base/grpc/grpc-error.ts'
import { serveGrpc, type GrpcMethod } from '../../components/component-base/grpc/grpc-server.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { protobufMessage } from '../../components/component-base/grpc/protobuf-fields.ts'
import { mapFields, readFields } from '../../components/api-server/encryption/kms/kms-messages.ts'
import type {
  Annotations,
  Encrypted,
  KmsStatus,
} from '../../components/api-server/encryption/kms/kms-service.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** What the plugin does wrong; a test sets it at any time. */
export interface KmsFaults {
  /** In place of what Status answers. */
  status?: Partial<KmsStatus>
  /** In place of what Encrypt answers. */
  encrypted?: Partial<Encrypted>
  /** Every call ends with this error. */
  error?: GrpcError
  /** No call is answered. */
  isSilent?: boolean
}

export interface KmsPlugin extends AsyncDisposable {
  /** For the configuration: `unix:///tmp/…/kms.sock`. */
  readonly endpoint: string
  readonly path: string
  faults: KmsFaults
  /** How often each method was called. */
  readonly calls: Readonly<Record<'Status' | 'Encrypt' | 'Decrypt', number>>
  /** All that it was asked to encrypt: no seed may show anywhere else. */
  readonly seeds: readonly Buffer[]
  readonly keyId: string
  /** Makes a new key, which encrypts from now on. The old ones decrypt. */
  rotate(): string
  /** Forgets a key: what it encrypted is lost. */
  forget(keyId: string): void
  /** Cuts all connections off and stops listening; the keys stay. */
  stop(): Promise<void>
  /** Resolves when it listens. */
  start(): Promise<void>
}

const tagBytes = 16
const versionAnnotation = 'version.encryption.example.com'

function seal(key: Buffer, plaintext: Buffer): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

function unseal(key: Buffer, sealed: Buffer): Buffer {
  const options = { authTagLength: tagBytes }
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12), options)
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(12, -tagBytes)), decipher.final()])
}

const invalid = (why: string): GrpcError => new GrpcError(grpcCode.invalidArgument, why)

/** The plugin without its socket. */
function createKeys() {
  const keys = new Map<string, Buffer>()
  let keyId = ''
  const annotations: Annotations = new Map([[versionAnnotation, Buffer.from('1')]])
  return {
    get keyId() {
      return keyId
    },
    rotate: (): string => {
      keyId = `key-${randomBytes(4).toString('hex')}`
      keys.set(keyId, randomBytes(32))
      return keyId
    },
    forget: (id: string) => keys.delete(id),
    encrypt: (plaintext: Buffer): Encrypted => {
      const key = keys.get(keyId)
      if (key === undefined) throw invalid('there is no key')
      return { ciphertext: seal(key, plaintext), keyId, annotations }
    },
    decrypt: (encrypted: Encrypted): Buffer => {
      const key = keys.get(encrypted.keyId)
      if (key === undefined) throw invalid('the key is unknown')
      if (encrypted.annotations.get(versionAnnotation)?.toString() !== '1')
        throw invalid('the annotation is missing')
      return unseal(key, encrypted.ciphertext)
    },
  }
}

/** Starts one, on a socket of its own unless `path` names one (with a NUL at the start: an abstract one). */
export async function startKmsPlugin(
  options: { path?: string; isStopped?: boolean } = {},
): Promise<KmsPlugin> {
  const path = options.path ?? join(temporaryFolder('kms'), 'kms.sock')
  const keys = createKeys()
  keys.rotate()
  const calls = { Status: 0, Encrypt: 0, Decrypt: 0 }
  const seeds: Buffer[] = []
  let faults: KmsFaults = {}
  let served: Promise<void> = Promise.resolve()
  let stopping = new AbortController()

  const method =
    (name: keyof typeof calls, answer: GrpcMethod): GrpcMethod =>
    async (message) => {
      calls[name] += 1
      if (faults.error !== undefined) throw faults.error
      if (faults.isSilent === true) await new Promise(() => {})
      return await answer(message)
    }
  const methods = {
    '/v2.KeyManagementService/Status': method('Status', () => {
      const status = { version: 'v2', healthz: 'ok', keyId: keys.keyId, ...faults.status }
      const { version, healthz, keyId } = status
      return protobufMessage([1, version], [2, healthz], [3, keyId])
    }),
    '/v2.KeyManagementService/Encrypt': method('Encrypt', (message) => {
      const fields = readFields(message)
      if (fields.text(2) === '') throw invalid('there is no uid')
      const plaintext = Buffer.from(fields.bytes(1))
      seeds.push(plaintext)
      const { ciphertext, keyId, annotations } = { ...keys.encrypt(plaintext), ...faults.encrypted }
      return protobufMessage([1, ciphertext], [2, keyId], ...mapFields(3, annotations))
    }),
    '/v2.KeyManagementService/Decrypt': method('Decrypt', (message) => {
      const fields = readFields(message)
      if (fields.text(2) === '') throw invalid('there is no uid')
      const plaintext = keys.decrypt({
        ciphertext: fields.bytes(1),
        keyId: fields.text(3),
        annotations: fields.map(4),
      })
      return protobufMessage([1, plaintext])
    }),
  }
  const start = async (): Promise<void> => {
    stopping = new AbortController()
    served = serveGrpc({ path, methods, log: silentLog }, stopping.signal)
    if (path.startsWith('\0')) return
    await Promise.race([
      served,
      eventually(() => {
        if (!existsSync(path)) throw new Error(`nothing listens on ${path}`)
      }),
    ])
  }
  const stop = async (): Promise<void> => {
    stopping.abort()
    await served
  }
  if (options.isStopped !== true) await start()
  return {
    path,
    endpoint: path.startsWith('\0') ? `unix:///@${path.slice(1)}` : `unix://${path}`,
    calls,
    seeds,
    get faults() {
      return faults
    },
    set faults(to) {
      faults = to
    },
    get keyId() {
      return keys.keyId
    },
    rotate: keys.rotate,
    forget: (id) => void keys.forget(id),
    start,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** A `kms` provider of an EncryptionConfiguration. */
export function kmsProvider(
  name: string,
  plugin: Pick<KmsPlugin, 'endpoint'>,
  more: Readonly<Record<string, unknown>> = {},
): unknown {
  return { kms: { apiVersion: 'v2', name, endpoint: plugin.endpoint, ...more } }
}
