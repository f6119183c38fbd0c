/** CertificateApproval, CertificateSigning and CertificateSubjectRestriction: who may act for which signer. */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { CertificateSigningRequest } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import { goQuote } from '../../machinery/values/go-syntax.ts'
import { deepEqual } from '../../machinery/objects/object.ts'
import { pemBlocks } from '../x509/pem.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

const privilegedGroup = 'system:masters'
/** DER of the attribute type organizationName. */
const ORGANIZATION = Buffer.from('060355040a', 'hex')
const UTF16_TAG = 0x1e

/**
 * Whether the request's DER names the organization. It looks for the attribute itself, whatever surrounds it: type,
 * string tag, length, text. Every strict encoding of that organization holds these very bytes.
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

/** `spec.request` is base64 of PEM, of whose blocks the first counts, as in validation. */
function requestDer(csr: CertificateSigningRequest): Buffer {
  const pem = Buffer.from(csr.spec.request, 'base64').toString('latin1')
  return pemBlocks(pem)[0]?.der ?? Buffer.alloc(0)
}

export function certificateRequestAdmission(
  authorizer: Authorizer,
  dialect: Dialect,
): { approval: AdmissionPlugin; signing: AdmissionPlugin; subject: AdmissionPlugin } {
  const { certificateSigningRequests } = resourcesOf(dialect)
  const group = apiGroup(dialect, 'certificates')

  async function mayActFor(
    request: AdmissionRequest,
    verb: 'approve' | 'sign',
    signerName: string,
  ): Promise<boolean> {
    const domain = signerName.slice(0, signerName.indexOf('/'))
    for (const name of [signerName, `${domain}/*`]) {
      const decision = await authorizer.authorize({
        user: request.user,
        verb,
        isResourceRequest: true,
        group,
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

  const isUpdateOf = (request: AdmissionRequest, subresource: string): boolean =>
    request.operation === 'UPDATE' &&
    request.resource === certificateSigningRequests &&
    request.subresource === subresource

  async function check(request: AdmissionRequest, verb: 'approve' | 'sign'): Promise<void> {
    // The stored name counts: a sub-resource cannot change it.
    const { signerName } = (request.old as CertificateSigningRequest).spec
    if (await mayActFor(request, verb, signerName)) return
    const why = `user not permitted to ${verb} requests with signerName ${goQuote(signerName)}`
    throw admissionForbidden(request, why)
  }

  return {
    approval: {
      name: 'CertificateApproval',
      validate: (request) =>
        isUpdateOf(request, 'approval') ? check(request, 'approve') : undefined,
    },
    signing: {
      name: 'CertificateSigning',
      validate(request) {
        if (!isUpdateOf(request, 'status')) return undefined
        const [old, written] = [request.old, request.object] as CertificateSigningRequest[]
        const isSame =
          deepEqual(old?.status?.certificate, written?.status?.certificate) &&
          deepEqual(old?.status?.conditions ?? [], written?.status?.conditions ?? [])
        return isSame ? undefined : check(request, 'sign')
      },
    },
    subject: {
      name: 'CertificateSubjectRestriction',
      validate(request) {
        const { operation, resource, subresource } = request
        if (operation !== 'CREATE' || resource !== certificateSigningRequests) return
        const csr = request.object as CertificateSigningRequest | undefined
        const clientSigner = `${dialect.labelDomain}/kube-apiserver-client`
        if (subresource !== '' || csr?.spec.signerName !== clientSigner) return
        if (namesOrganization(requestDer(csr), privilegedGroup)) {
          const why = `use of ${clientSigner} signer with ${privilegedGroup} group is not allowed`
          throw admissionForbidden(request, why)
        }
      },
    },
  }
}
