/** slimCsr: what the page shows of a CertificateSigningRequest. */
import { X509Certificate } from 'node:crypto'
import { parseCertificateRequest } from '../../certs/csr.ts'
import type { CertificateSigningRequest } from '../../components/api/generated/types.ts'
import type { SlimCsr } from '../protocol/lab.ts'

const nodePrefix = 'system:node:'

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString()

/** The node that asks; undefined for other subjects, and for what is not a request. */
function nodeOf(request: string): string | undefined {
  try {
    const { commonName } = parseCertificateRequest(textOf(request)).subject
    return commonName.startsWith(nodePrefix) ? commonName.slice(nodePrefix.length) : undefined
  } catch {
    return undefined // custom signers may take other bytes
  }
}

function endOf(certificate: string): number | undefined {
  try {
    return Date.parse(new X509Certificate(textOf(certificate)).validTo)
  } catch {
    return undefined // signers may write other bytes
  }
}

export function slimCsr({ metadata = {}, spec, status }: CertificateSigningRequest): SlimCsr {
  const verdict = status?.conditions?.at(-1)
  const { name = '', creationTimestamp } = metadata
  const createdMs = Date.parse(creationTimestamp ?? '')
  const expiresMs = status?.certificate ? endOf(status.certificate) : undefined
  const node = nodeOf(spec?.request ?? '')
  return {
    name,
    user: spec?.username ?? '',
    signer: spec?.signerName ?? '',
    createdMs,
    hasCertificate: Boolean(status?.certificate),
    ...(node === undefined ? {} : { node }),
    ...(expiresMs === undefined ? {} : { expiresMs }),
    ...(verdict === undefined
      ? {}
      : {
          verdict: {
            type: verdict.type,
            text: [verdict.reason, verdict.message].filter(Boolean).join(': '),
            atMs: verdict.lastUpdateTime ? Date.parse(verdict.lastUpdateTime) : createdMs,
          },
        }),
  }
}
