/** The messages of a KMS plugin's gRPC service (upstream: k8s.io/kms apis/v2/api.proto). Readers throw a ProtobufError. */
import { isUtf8 } from 'node:buffer'
import { eachField, ProtobufError, wire } from '../../../machinery/protobuf/wire-reader.ts'
import { bytesField, mapField, textField } from '../../../machinery/protobuf/wire-writer.ts'
import type { Annotations, Encrypted, KmsStatus } from './kms-service.ts'

export type LengthDelimited = ReadonlyMap<number, readonly Buffer[]>

/** The values of all length-delimited fields, in order, by number. Other fields go to `visit`, if given. */
export function readFields(
  message: Buffer,
  visit?: (number: number, value: number) => void,
): LengthDelimited {
  const fields = new Map<number, Buffer[]>()
  eachField(message, (number, type, cursor) => {
    if (type === wire.bytes) {
      const values = fields.get(number) ?? []
      values.push(cursor.slice())
      fields.set(number, values)
      return true
    }
    if (type !== wire.varint || visit === undefined) return false
    visit(number, cursor.varint())
    return true
  })
  return fields
}

export function bytesOf(fields: LengthDelimited, number: number): Buffer {
  return fields.get(number)?.at(-1) ?? Buffer.alloc(0)
}

export function textOf(fields: LengthDelimited, number: number): string {
  const bytes = bytesOf(fields, number)
  if (!isUtf8(bytes)) throw new ProtobufError('string field contains invalid UTF-8')
  return bytes.toString()
}

/** A `map<string, bytes>`. */
export function mapOf(fields: LengthDelimited, number: number): Annotations {
  const map = new Map<string, Buffer>()
  for (const entry of fields.get(number) ?? []) {
    const parts = readFields(entry)
    map.set(textOf(parts, 1), bytesOf(parts, 2))
  }
  return map
}

export const statusRequest = Buffer.alloc(0)

export function readStatusResponse(message: Buffer): KmsStatus {
  const fields = readFields(message)
  return { version: textOf(fields, 1), healthz: textOf(fields, 2), keyId: textOf(fields, 3) }
}

export function encryptRequest(uid: string, plaintext: Buffer): Buffer {
  return Buffer.concat([bytesField(1, plaintext), textField(2, uid)])
}

export function readEncryptResponse(message: Buffer): Encrypted {
  const fields = readFields(message)
  return {
    ciphertext: bytesOf(fields, 1),
    keyId: textOf(fields, 2),
    annotations: mapOf(fields, 3),
  }
}

export function decryptRequest(uid: string, encrypted: Encrypted): Buffer {
  const { ciphertext, keyId, annotations } = encrypted
  return Buffer.concat([
    bytesField(1, ciphertext),
    textField(2, uid),
    textField(3, keyId),
    mapField(4, annotations),
  ])
}

export function readDecryptResponse(message: Buffer): Buffer {
  return bytesOf(readFields(message), 1)
}
