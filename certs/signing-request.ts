/** The parts of a signing request (PKCS#10, RFC 2986, 4.2), as its DER has them; nothing is verified. */
import { expect, readAll, readBits, readOid, tag, type DerElement } from './der.ts'

export interface SigningRequest {
  /** The bytes that the signature covers. */
  readonly info: DerElement
  readonly name: DerElement
  /** SubjectPublicKeyInfo. */
  readonly keyInfo: DerElement
  /** Undefined where the encoder left out the empty set. */
  readonly attributes: DerElement | undefined
  /** The signature algorithm's dotted identifier. */
  readonly algorithm: string
  readonly signature: Buffer
  /** Whether the sequence goes on after the signature, which Go ignores. */
  readonly hasMore: boolean
}

/** Reads the content of the outer sequence. Throws DerError when the parts do not have their types. */
export function readSigningRequest(content: Buffer): SigningRequest {
  const [info, algorithm, signature, ...more] = readAll(content)
  const parts = readAll(expect(info, tag.sequence).content)
  const [version, name, keyInfo, attributes] = parts
  expect(version, tag.integer)
  return {
    info: expect(info, tag.sequence),
    name: expect(name, tag.sequence),
    keyInfo: expect(keyInfo, tag.sequence),
    attributes,
    algorithm: readOid(readAll(expect(algorithm, tag.sequence).content)[0]),
    signature: readBits(signature),
    hasMore: more.length > 0,
  }
}
