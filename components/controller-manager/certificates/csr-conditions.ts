/** Conditions of certificate signing requests, pure. */
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../api/generated/types.ts'
import { TerminalError } from '../../client/controller.ts'

type Csr = CertificateSigningRequest
export type CsrConditionType = 'Approved' | 'Denied' | 'Failed'

/** The condition of that type, if it is there; for these types being there means it is true. */
export function csrCondition(
  csr: Csr,
  type: CsrConditionType,
): CertificateSigningRequestCondition | undefined {
  return csr.status?.conditions?.find((condition) => condition.type === type)
}

/** Approved, not denied, not failed, and without a certificate yet. */
export function awaitsCertificate(csr: Csr): boolean {
  return (
    csrCondition(csr, 'Approved') !== undefined &&
    csrCondition(csr, 'Denied') === undefined &&
    csrCondition(csr, 'Failed') === undefined &&
    !csr.status?.certificate
  )
}

/** The request with one more condition, which is true from now. */
export function withCsrCondition(
  csr: Csr,
  condition: { type: CsrConditionType; reason: string; message: string; now: string },
): Csr {
  const { type, reason, message, now } = condition
  const added = {
    type,
    status: 'True',
    reason,
    message,
    lastUpdateTime: now,
    lastTransitionTime: now,
  }
  const conditions = [...(csr.status?.conditions ?? []), added]
  return { ...csr, status: { ...csr.status, conditions } }
}

/**
 * Parses the request with `parse`, which throws for an unreadable one. That is a TerminalError: a request does not change.
 */
export function readRequest<T>(csr: Csr, parse: (pem: string) => T): T {
  try {
    return parse(Buffer.from(csr.spec.request, 'base64').toString('utf8'))
  } catch (error) {
    throw new TerminalError('the certificate request cannot be read', error)
  }
}
