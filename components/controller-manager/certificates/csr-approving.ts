/** CSR approving: node agents' client certificates, when the requester may have them (upstream: certificates/approver/sarapprove). */
import { apiGroup } from '../../api/dialect.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { CertificateSigningRequest, SubjectAccessReview } from '../../api/generated/types.ts'
import { runController, source } from '../../client/controller.ts'
import { timestamp } from '../../component-base/clock.ts'
import { parseRequestedNames, type RequestedNames } from '../../../certs/csr.ts'
import type { ControllerEntry } from '../controller-context.ts'
import { csrCondition, readRequest, withCsrCondition } from './csr-conditions.ts'
import { kubeletClientFault, signerOf } from './signer-rules.ts'

/** A right that approves a request: to `create` this sub-resource of certificatesigningrequests. */
export interface Approval {
  readonly subresource: 'selfnodeclient' | 'nodeclient'
  readonly message: string
}

/** The rights to ask about, in order; none for a request that is approved by hand. */
export function approvalsFor(
  csr: CertificateSigningRequest,
  request: RequestedNames,
  dialect: Dialect,
): Approval[] {
  const { signerName, usages = [], username = '' } = csr.spec
  if (signerOf(dialect, signerName) !== 'kube-apiserver-client-kubelet') return []
  if (kubeletClientFault(request, usages) !== undefined) return []
  const isSelf = request.subject.commonName === username
  const own: Approval = {
    subresource: 'selfnodeclient',
    message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
  }
  const any: Approval = {
    subresource: 'nodeclient',
    message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
  }
  return isSelf ? [own, any] : [any]
}

function reviewOf(
  csr: CertificateSigningRequest,
  approval: Approval,
  dialect: Dialect,
): SubjectAccessReview {
  const { username, groups, uid, extra } = csr.spec
  return {
    metadata: {},
    spec: {
      ...(username && { user: username }),
      ...(groups && { groups }),
      ...(uid && { uid }),
      ...(extra && { extra }),
      resourceAttributes: {
        group: apiGroup(dialect, 'certificates'),
        resource: 'certificatesigningrequests',
        verb: 'create',
        subresource: approval.subresource,
      },
    },
  }
}

export const csrApproving: ControllerEntry = {
  name: 'certificatesigningrequest-approving-controller',
  aliases: ['csrapproving'],
  defaultOn: true,
  start: async ({ client, informers, dialect, resources, clock, log, queues }, signal) => {
    const requests = client.resource<CertificateSigningRequest>(
      resources.certificateSigningRequests,
    )
    const reviews = client.resource<SubjectAccessReview>(resources.subjectAccessReviews)
    const informer = informers.informer<CertificateSigningRequest>(
      resources.certificateSigningRequests,
    )
    await runController(
      {
        queues,
        name: 'certificatesigningrequest-approving-controller',
        informers: [source(informer)],
        reconcile: async (key) => {
          const csr = informer.get(key)
          const isOpen =
            csr !== undefined &&
            !csr.status?.certificate &&
            csrCondition(csr, 'Approved') === undefined &&
            csrCondition(csr, 'Denied') === undefined
          if (!isOpen || signerOf(dialect, csr.spec.signerName) === undefined) return undefined
          // The API server has checked the signature, and the signer does so again.
          const approvals = approvalsFor(csr, readRequest(csr, parseRequestedNames), dialect)
          for (const approval of approvals) {
            const review = await reviews.create(reviewOf(csr, approval, dialect), { signal })
            if (review.status?.allowed !== true) continue
            const approved = withCsrCondition(csr, {
              type: 'Approved',
              reason: 'AutoApproved',
              message: approval.message,
              now: timestamp(clock.now()),
            })
            await requests.update(approved, { subresource: 'approval', signal })
            log.info('certificate signing request approved', { csr: key })
            return undefined
          }
          if (approvals.length === 0) return undefined
          // Permissions may be granted later, and no event reports that: retry, ever more slowly.
          const ageMs = clock.now() - Date.parse(csr.metadata.creationTimestamp ?? '')
          return { requeueAfterMs: Math.min(300_000, Math.max(1000, ageMs / 2)) }
        },
        workers: 5,
        clock,
        log,
      },
      signal,
    )
  },
}
