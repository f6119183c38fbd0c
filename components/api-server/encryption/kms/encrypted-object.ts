/**
 * EncryptedObject: what the store holds of an object that a KMS provider encrypted (upstream: envelope/kmsv2/v2/api.proto and
 * the checks of envelope/kmsv2/envelope.go).
 */
import { createHash } from 'node:crypto'
import { validateFullyQualifiedDomain } from '../../../machinery/validation/domain-names.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { protobufMessage } from '../../../component-base/grpc/protobuf-fields.ts'
import { mapFields, readFields } from './kms-messages.ts'
import type { Annotations, Encrypted } from './kms-service.ts'

/** How the decrypted source makes the data's key: it is the key (older releases), or the seed of one key for each write. */
export const sourceType = { aesGcmKey: 0, hkdfSha256Seed: 1 } as const

/** What the key of the data is made from. The plugin decrypts `ciphertext`. */
export interface DekSource extends Encrypted {
  /** One of `sourceType`, or a number of a newer release. */
  readonly type: number
}

export interface EncryptedObject {
  readonly source: DekSource
  readonly data: Buffer
}

const mostKeyIdBytes = 1024
const mostSourceBytes = 1024
const mostAnnotationBytes = 32 * 1024

export function encodeEncryptedObject({ source, data }: EncryptedObject): Buffer {
  const { keyId, ciphertext, annotations, type } = source
  return protobufMessage([1, data], [2, keyId], [3, ciphertext], ...mapFields(4, annotations), [
    5,
    type,
  ])
}

/** Throws an Error for other bytes, without anything of them. Check the result's source with `sourceFault`. */
export function readEncryptedObject(stored: Buffer): EncryptedObject {
  const fields = readFields(stored)
  return {
    data: fields.bytes(1),
    source: {
      keyId: fields.text(2),
      ciphertext: fields.bytes(3),
      annotations: fields.map(4),
      type: fields.integer(5),
    },
  }
}

/** What is wrong with a key id, and its code in metrics. */
export function keyIdFault(
  keyId: string,
): { readonly code: 'empty' | 'too_long'; readonly why: string } | undefined {
  if (keyId === '') return { code: 'empty', why: 'keyID is empty' }
  const bytes = Buffer.byteLength(keyId)
  if (bytes <= mostKeyIdBytes) return undefined
  return {
    code: 'too_long',
    why: `keyID is ${bytes} bytes, which exceeds the max size of ${mostKeyIdBytes}`,
  }
}

function annotationsFault(annotations: Annotations): string | undefined {
  const at = FieldPath.root('annotations')
  let bytes = 0
  for (const [name, value] of annotations) {
    validateFullyQualifiedDomain(name, at)
    bytes += Buffer.byteLength(name) + value.length
  }
  const faults = at.errors.map(({ field, message }) => `${field}: ${message}`)
  if (bytes > mostAnnotationBytes) {
    faults.push(
      `total size of annotations is ${bytes}, which exceeds the max size of ${mostAnnotationBytes}`,
    )
  }
  return faults.length > 1 ? `[${[...new Set(faults)].join(', ')}]` : faults[0]
}

function ciphertextFault({ length }: Buffer): string | undefined {
  if (length === 0) return 'encrypted DEK source is empty'
  if (length <= mostSourceBytes) return undefined
  return `encrypted DEK source is ${length} bytes, which exceeds the max size of ${mostSourceBytes}`
}

/** What is wrong with a source, be it from the plugin or from the store. */
export function sourceFault(source: DekSource): string | undefined {
  const { type, ciphertext, keyId, annotations } = source
  if (type !== sourceType.aesGcmKey && type !== sourceType.hkdfSha256Seed)
    return `unknown encryptedDEKSourceType: ${type}`
  const ofCiphertext = ciphertextFault(ciphertext)
  if (ofCiphertext !== undefined) return `failed to validate encrypted DEK source: ${ofCiphertext}`
  const ofKeyId = keyIdFault(keyId)
  if (ofKeyId !== undefined) return `failed to validate key id: ${ofKeyId.why}`
  const ofAnnotations = annotationsFault(annotations)
  return ofAnnotations && `failed to validate annotations: ${ofAnnotations}`
}

/** Equal for equal sources only: a digest of all parts, each with its length. */
export function sourceDigest({ type, ciphertext, keyId, annotations }: DekSource): string {
  const hash = createHash('sha256')
  const add = (part: Buffer | string): void => {
    hash.update(`${Buffer.byteLength(part)}:`).update(part)
  }
  for (const part of [String(type), ciphertext, keyId]) add(part)
  const byName = [...annotations].toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, value] of byName) {
    add(name)
    add(value)
  }
  return hash.digest('base64')
}

/** How metrics, logs and errors name a key id (upstream: GetHashIfNotEmpty). */
export function hashed(text: string): string {
  return text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`
}
