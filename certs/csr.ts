/** Certificate signing requests (PKCS#10, RFC 2986): made with a key, read and checked. */
import { createPublicKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import {
  bitString,
  expect,
  explicit,
  octetString,
  oid,
  readAll,
  readOid,
  readOne,
  sequence,
  setOf,
  smallInteger,
  tag,
} from './der.ts'
import type { DerElement } from './der.ts'
import type { KeyPair } from './keys.ts'
import { publicKeyInfo, signatureAlgorithm, signBytes, verifyBytes } from './keys.ts'
import { decodePem, encodePem } from './pem.ts'
import { readSigningRequest, type SigningRequest } from './signing-request.ts'
import type { Subject, SubjectAlternativeNames } from './subject.ts'
import {
  decodeAlternativeNames,
  decodeSubject,
  encodeAlternativeNames,
  encodeSubject,
  noAlternativeNames,
} from './subject.ts'

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17'

/** What a signing request asks for. */
export interface RequestedNames extends SubjectAlternativeNames {
  readonly subject: Subject
}

/** The content of a signing request. The signature has been checked against `publicKey`. */
export interface CertificateRequest extends RequestedNames {
  readonly publicKey: KeyObject
  /** `ec`, `rsa` or `ed25519`. */
  readonly keyType: string
}

/** A request for the subject, signed with its own key, in PEM (`CERTIFICATE REQUEST`). */
export function createCertificateRequest(
  keys: KeyPair,
  wanted: { subject: Subject } & Partial<SubjectAlternativeNames>,
): string {
  const names = encodeAlternativeNames({ ...noAlternativeNames, ...wanted })
  const extensions =
    names === undefined
      ? []
      : [sequence(sequence(oid(SUBJECT_ALTERNATIVE_NAME), octetString(names)))]
  const attributes = extensions.map((list) => sequence(oid(EXTENSION_REQUEST), setOf(list)))
  const info = sequence(
    smallInteger(0),
    encodeSubject(wanted.subject),
    publicKeyInfo(keys.publicKey),
    explicit(0, ...attributes),
  )
  const der = sequence(
    info,
    signatureAlgorithm(keys.privateKey),
    bitString(signBytes(keys.privateKey, info)),
  )
  return encodePem('CERTIFICATE REQUEST', der)
}

function requestedNames(attributes: DerElement | undefined): SubjectAlternativeNames {
  if (attributes === undefined) return noAlternativeNames
  for (const attribute of readAll(expect(attributes, 0xa0).content)) {
    const [type, values] = readAll(expect(attribute, tag.sequence).content)
    if (readOid(type) !== EXTENSION_REQUEST) continue
    for (const list of readAll(expect(values, tag.set).content)) {
      for (const extension of readAll(expect(list, tag.sequence).content)) {
        const parts = readAll(expect(extension, tag.sequence).content)
        if (readOid(parts[0]) !== SUBJECT_ALTERNATIVE_NAME) continue
        const value = expect(parts.at(-1), tag.octetString)
        return decodeAlternativeNames(readOne(value.content, tag.sequence))
      }
    }
  }
  return noAlternativeNames
}

function readRequest(pem: string): SigningRequest {
  // Which of several counts is not the same for every reader: one may show a harmless request, another sign a different one.
  if (pem.split('-----BEGIN').length > 2) throw new Error('there is more than one PEM block')
  const [block] = decodePem(pem)
  if (block?.label !== 'CERTIFICATE REQUEST' && block?.label !== 'NEW CERTIFICATE REQUEST') {
    throw new Error('PEM block type must be CERTIFICATE REQUEST')
  }
  const request = readSigningRequest(readOne(block.der, tag.sequence).content)
  if (request.hasMore) throw new Error('the certificate request has parts that do not belong to it')
  return request
}

function namesOf({ name, attributes }: SigningRequest): RequestedNames {
  return { subject: decodeSubject(name), ...requestedNames(attributes) }
}

/**
 * Reads what a request in PEM asks for, without a look at its key and signature, which cost most of the time: for those who sign
 * nothing. Throws as parseCertificateRequest.
 */
export function parseRequestedNames(pem: string): RequestedNames {
  return namesOf(readRequest(pem))
}

/**
 * Reads a request in PEM and checks its signature. Throws an Error whose message says what is wrong: no
 * `CERTIFICATE REQUEST` block or more blocks than one, malformed DER, an unsupported key, or a signature that does not hold.
 */
export function parseCertificateRequest(pem: string): CertificateRequest {
  const request = readRequest(pem)
  const publicKey = createPublicKey({ key: request.keyInfo.raw, format: 'der', type: 'spki' })
  const signed = verifyBytes({
    algorithm: request.algorithm,
    key: publicKey,
    bytes: request.info.raw,
    signature: request.signature,
  })
  if (!signed) throw new Error('the signature of the certificate request does not hold')
  return { ...namesOf(request), publicKey, keyType: publicKey.asymmetricKeyType ?? '' }
}

/** True when two keys are the same public key. */
export function samePublicKey(a: KeyObject, b: KeyObject): boolean {
  return publicKeyInfo(a).equals(publicKeyInfo(b))
}
