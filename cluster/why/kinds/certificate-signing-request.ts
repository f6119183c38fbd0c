/** CertificateSigningRequests without a certificate: not approved, denied, refused by their signer, or not signed yet. */
import { labelKey } from '../../../components/api/dialect.ts'
import type { CertificateSigningRequest } from '../../../components/api/generated/types.ts'
import { conditionOf, conditionsSeen, seen } from '../evidence.ts'
import { defineExplainer } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { sentence } from '../names.ts'
import type { Related } from '../related.ts'

type Request = CertificateSigningRequest

/** An answer of these types is final (upstream: certificates/v1 RequestConditionType). */
function refusedFinding(request: Request, evidence: Evidence[]): Finding | undefined {
  const denied = conditionOf(request, 'Denied')
  const failed = conditionOf(request, 'Failed')
  const condition = denied ?? failed
  if (condition === undefined) return undefined
  const who = denied === undefined ? 'The signer refused the request' : 'The request was denied'
  return {
    cause: condition.reason || condition.type,
    message: sentence(condition.message ? `${who}: ${condition.message}` : who),
    evidence,
    next: ['this answer is final: correct what it names, and create a new request'],
  }
}

function unsignedFinding(request: Request, evidence: Evidence[], { dialect }: Related): Finding {
  const { signerName } = request.spec
  const isOwn = signerName.startsWith(labelKey(dialect, '', ''))
  return {
    cause: 'NotSigned',
    message: `The request is approved, and the signer ${signerName} has not signed it.`,
    evidence,
    next: [
      isOwn
        ? 'check that the controller manager runs, and that it has --cluster-signing-cert-file: skiff status'
        : `check that the controller of the signer ${signerName} runs: this cluster has none for it`,
    ],
  }
}

function explainRequest(request: Request, related: Related): Finding[] {
  if (request.status?.certificate) return []
  const { signerName, username = '' } = request.spec
  const evidence = [
    seen(request, `user ${username || '(none)'} asks the signer ${signerName}`),
    ...conditionsSeen(request, 'Approved', 'Denied', 'Failed'),
  ]
  const refused = refusedFinding(request, evidence)
  if (refused !== undefined) return [refused]
  if (conditionOf(request, 'Approved') !== undefined) {
    return [unsignedFinding(request, evidence, related)]
  }
  return [
    {
      cause: 'NotApproved',
      message: 'The request waits for approval.',
      evidence,
      next: [
        `approve it if the user may have the certificate: kubectl certificate approve ${request.metadata.name}`,
      ],
    },
  ]
}

export const certificateSigningRequest = defineExplainer<Request>({
  needs: () => [],
  explain: explainRequest,
  state: ({ status }) => {
    const types = (status?.conditions ?? []).map(({ type }) => type)
    return [...types, ...(status?.certificate ? ['Issued'] : [])].join(', ') || 'Pending'
  },
})
