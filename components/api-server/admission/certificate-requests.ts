/**
 * CertificateApproval, CertificateSigning and CertificateSubjectRestriction: a user must be authorized for a signer (upstream:
 * plugin/pkg/admission/certificates).
 */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { CertificateSigningRequest } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { decodePem } from '../../../certs/pem.ts'
import type { UserInfo } from '../request/request.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

const privilegedGroup = 'system:masters'
/** DER of the attribute type organizationName. */
const ORGANIZATION = Buffer.from('060355040a', 'hex')
const UTF16_TAG = 0x1e

/**
 * Whether the request's DER names the organization. It searches for the bytes of the attribute: type, string tag,
 * length, text. Every strict encoding of that organization contains these bytes.
 */
function namesOrganization(der: Buffer, organization: string): boolean {
  const plain = Buffer.from(organization, 'latin1')
  const wide = Buffer.from(organization, 'utf16le').swap16()
  for (let at = der.indexOf(ORGANIZATION); at >= 0; at = der.indexOf(ORGANIZATION, at + 1)) {
    const start = at + ORGANIZATION.length
    const value = der[start] === UTF16_TAG ? wide : plain
    const isThere = der.subarray(start + 2, start + 2 + value.length).equals(value)
    if (isThere && der[start + 1] === value.length) return true
  }
  return false
}

/** The first PEM block of `spec.request`, which validation checks, too. */
function requestDer(csr: CertificateSigningRequest): Buffer {
  const pem = Buffer.from(csr.spec.request, 'base64').toString('latin1')
  return decodePem(pem)[0]?.der ?? Buffer.alloc(0)
}

interface SignerAccess {
  readonly authorizer: Authorizer
  readonly dialect: Dialect
}

type SignerVerb = 'approve' | 'sign' | 'attest'

/** Whether the user may act for the signer, by its name or by its domain (upstream: certificates.IsAuthorizedForSignerName). */
export async function isAuthorizedForSigner(
  { authorizer, dialect }: SignerAccess,
  { user, verb, signerName }: { user: UserInfo; verb: SignerVerb; signerName: string },
): Promise<boolean> {
  const domain = signerName.slice(0, signerName.indexOf('/'))
  for (const name of [signerName, `${domain}/*`]) {
    const decision = await authorizer.authorize({
      user,
      verb,
      isResourceRequest: true,
      group: apiGroup(dialect, 'certificates'),
      version: '*',
      resource: 'signers',
      subresource: '',
      namespace: '',
      name,
      path: '',
    })
    if (decision.decision === 'allow') return true
  }
  return false
}

/** Rejects with a 403 unless the user may act for the request's signer. */
async function checkSigner(
  access: SignerAccess,
  { request, verb }: { request: AdmissionRequest; verb: SignerVerb },
): Promise<void> {
  // The stored name counts: a sub-resource cannot change it.
  const { signerName } = (request.old as CertificateSigningRequest).spec
  if (await isAuthorizedForSigner(access, { user: request.user, verb, signerName })) return
  const why = `user not permitted to ${verb} requests with signerName ${goQuote(signerName)}`
  throw admissionForbidden(request, why)
}

function changesCertificate({ old, object }: AdmissionRequest): boolean {
  const before = (old as CertificateSigningRequest | undefined)?.status
  const after = (object as CertificateSigningRequest | undefined)?.status
  return (
    !deepEqual(before?.certificate, after?.certificate) ||
    !deepEqual(before?.conditions ?? [], after?.conditions ?? [])
  )
}

/** Throws a 403 if a request for a client certificate asks for the privileged group. */
function checkSubject(request: AdmissionRequest, dialect: Dialect): void {
  const csr = request.object as CertificateSigningRequest | undefined
  const clientSigner = `${dialect.labelDomain}/kube-apiserver-client`
  if (csr?.spec.signerName !== clientSigner) return
  if (namesOrganization(requestDer(csr), privilegedGroup)) {
    const why = `use of ${clientSigner} signer with ${privilegedGroup} group is not allowed`
    throw admissionForbidden(request, why)
  }
}

export function certificateRequestAdmission(
  authorizer: Authorizer,
  dialect: Dialect,
): { approval: AdmissionPlugin; signing: AdmissionPlugin; subject: AdmissionPlugin } {
  const access = { authorizer, dialect }
  const { certificateSigningRequests } = resourcesOf(dialect)
  const isUpdateOf = (request: AdmissionRequest, subresource: string): boolean =>
    request.operation === 'UPDATE' &&
    request.resource === certificateSigningRequests &&
    request.subresource === subresource

  return {
    approval: {
      name: 'CertificateApproval',
      validate: (request) =>
        isUpdateOf(request, 'approval')
          ? checkSigner(access, { request, verb: 'approve' })
          : undefined,
    },
    signing: {
      name: 'CertificateSigning',
      validate: (request) =>
        isUpdateOf(request, 'status') && changesCertificate(request)
          ? checkSigner(access, { request, verb: 'sign' })
          : undefined,
    },
    subject: {
      name: 'CertificateSubjectRestriction',
      validate(request) {
        const { operation, resource, subresource } = request
        const isCreate = operation === 'CREATE' && subresource === ''
        if (isCreate && resource === certificateSigningRequests) checkSubject(request, dialect)
      },
    },
  }
}
