/** The certificate of the node's own server: files given by flags, one the cluster signed, or a self-signed one (upstream's default). */
import { createAuthority, sign } from '../../../certs/authority.ts'
import { generateKeyPair, privateKeyPem } from '../../../certs/keys.ts'
import { nodeSubject, servingProfile } from '../../../certs/profiles.ts'
import type { Dialect } from '../../api/dialect.ts'
import { labelKey } from '../../api/dialect.ts'
import type { CertificateWish, IssuedCertificate } from './certificate-request.ts'

export interface ServingNames {
  readonly nodeName: string
  readonly dnsNames: readonly string[]
  readonly ipAddresses: readonly string[]
}

/** The request to the cluster's signer of serving certificates. */
export function servingWish(dialect: Dialect, names: ServingNames): CertificateWish {
  return {
    signerName: labelKey(dialect, '', 'kubelet-serving'),
    subject: nodeSubject(names.nodeName),
    usages: ['digital signature', 'server auth'],
    dnsNames: names.dnsNames,
    ipAddresses: names.ipAddresses,
  }
}

/** A certificate of an authority made for it alone; the authority's certificate follows it. */
export function selfSignedServing(names: ServingNames, nowMs: number): IssuedCertificate {
  const authority = createAuthority({
    commonName: `${names.nodeName}-ca@${Math.floor(nowMs / 1000)}`,
    nowMs,
  })
  const keys = generateKeyPair('ec')
  const cert = sign(authority, {
    profile: servingProfile({
      subject: { commonName: `${names.nodeName}@${Math.floor(nowMs / 1000)}`, organizations: [] },
      dnsNames: names.dnsNames,
      ipAddresses: names.ipAddresses,
    }),
    publicKey: keys.publicKey,
    nowMs,
  })
  return { cert: `${cert}${authority.certificatePem}`, key: privateKeyPem(keys.privateKey) }
}
