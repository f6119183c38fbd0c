/** The messages of a KMS plugin's gRPC service (upstream: k8s.io/kms apis/v2/api.proto). Readers throw an Error for bytes that are not protobuf. */
import { isUtf8 } from 'node:buffer'
import { protobufFields, protobufMessage } from '../../../component-base/grpc/protobuf-fields.ts'
import type { Annotations, Encrypted, KmsStatus } from './kms-service.ts'

/** The last value of each field, but for maps: all of them. */
export interface Fields {
  bytes(number: number): Buffer
  text(number: number): string
  integer(number: number): number
  /** A `map<string, bytes>`. */
  map(number: number): Annotations
}

/** Throws an Error, without anything of the bytes, for what is no message. */
export function readFields(message: Buffer): Fields {
  const values = new Map<number, (number | Buffer)[]>()
  for (const { number, value } of protobufFields(message)) {
    const before = values.get(number)
    if (before === undefined) values.set(number, [value])
    else before.push(value)
  }
  const bytes = (number: number): Buffer => {
    const value = values.get(number)?.at(-1)
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
  }
  const text = (number: number): string => {
    const encoded = bytes(number)
    if (!isUtf8(encoded)) throw new Error('string field contains invalid UTF-8')
    return encoded.toString()
  }
  return {
    bytes,
    text,
    integer: (number) => {
      const value = values.get(number)?.at(-1)
      return typeof value === 'number' ? value : 0
    },
    map: (number) => {
      const entries = (values.get(number) ?? []).filter((value) => Buffer.isBuffer(value))
      return new Map(
        entries.map((entry) => {
          const parts = readFields(entry)
          return [parts.text(1), parts.bytes(2)]
        }),
      )
    },
  }
}

/** A `map<string, bytes>` as fields of that number; as upstream, an entry has its value even if it is empty. */
export function mapFields(number: number, map: Annotations): (readonly [number, Buffer])[] {
  return [...map].map(([key, value]) => [number, protobufMessage([1, key], [2, value])])
}

export const statusRequest = Buffer.alloc(0)

export function readStatusResponse(message: Buffer): KmsStatus {
  const fields = readFields(message)
  return { version: fields.text(1), healthz: fields.text(2), keyId: fields.text(3) }
}

export function encryptRequest(uid: string, plaintext: Buffer): Buffer {
  return protobufMessage([1, plaintext], [2, uid])
}

export function readEncryptResponse(message: Buffer): Encrypted {
  const fields = readFields(message)
  return { ciphertext: fields.bytes(1), keyId: fields.text(2), annotations: fields.map(3) }
}

export function decryptRequest(uid: string, encrypted: Encrypted): Buffer {
  const { ciphertext, keyId, annotations } = encrypted
  return protobufMessage([1, ciphertext], [2, uid], [3, keyId], ...mapFields(4, annotations))
}

export function readDecryptResponse(message: Buffer): Buffer {
  return readFields(message).bytes(1)
}
