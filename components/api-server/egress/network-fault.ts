/** network-fault: connection errors in Go's words, which people and clients match on. */
import { CertificateError } from './verified-connection.ts'

const unknownAuthority = 'x509: certificate signed by unknown authority'
const certificateFaults: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  CERT_HAS_EXPIRED: 'x509: certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'x509: certificate has expired or is not yet valid',
}

interface NetworkError {
  readonly code?: string
  readonly message?: string
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
  readonly errors?: readonly NetworkError[]
}

/** Undefined for other errors. */
export function networkFault(error: unknown): string | undefined {
  if (error instanceof CertificateError) return error.message
  const given = (error ?? {}) as NetworkError
  const fault = given.errors?.[0] ?? given
  const { code = '', address, port } = fault
  const certificate = certificateFaults[code]
  if (certificate !== undefined) return `tls: failed to verify certificate: ${certificate}`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `tls: failed to verify certificate: x509: ${fault.message ?? code}`
  }
  if (code === 'ECONNREFUSED') {
    const host = address?.includes(':') === true ? `[${address}]` : address
    return `dial tcp ${host ?? ''}:${port ?? ''}: connect: connection refused`
  }
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${fault.hostname ?? ''}: no such host`
  if (code === 'ECONNRESET') return 'EOF'
  return undefined
}
