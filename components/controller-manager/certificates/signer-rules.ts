/** The rules of the built-in signers, pure (upstream: apis/certificates helpers.go; texts are upstream's, clients show them). */
import { labelKey } from '../../api/dialect.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { RequestedNames } from '../../../certs/csr.ts'

export type SignerName =
  'kube-apiserver-client' | 'kube-apiserver-client-kubelet' | 'kubelet-serving' | 'legacy-unknown'

export const signerNames: readonly SignerName[] = [
  'kube-apiserver-client',
  'kube-apiserver-client-kubelet',
  'kubelet-serving',
  'legacy-unknown',
]

/** Which built-in signer a full name such as `kubernetes.io/kubelet-serving` means. */
export function signerOf(dialect: Dialect, fullName: string): SignerName | undefined {
  return signerNames.find((name) => labelKey(dialect, '', name) === fullName)
}

function usagesFault(usages: readonly string[], purpose: string): string | undefined {
  const given = new Set(usages)
  // Elliptic-curve keys encipher nothing, so that usage may be left out.
  given.delete('key encipherment')
  const fits = given.size === 2 && given.has('digital signature') && given.has(purpose)
  return fits ? undefined : `usages did not match [${purpose} digital signature key encipherment]`
}

function nodeSubjectFault({ subject }: RequestedNames): string | undefined {
  const { organizations, commonName } = subject
  if (organizations.length !== 1 || organizations[0] !== 'system:nodes')
    return 'subject organization is not system:nodes'
  return commonName.startsWith('system:node:')
    ? undefined
    : 'subject common name does not begin with system:node: '
}

/** Why the request is not one of a node agent for its client certificate; undefined when it is. */
export function kubeletClientFault(
  request: RequestedNames,
  usages: readonly string[],
): string | undefined {
  const { dnsNames, ipAddresses, emailAddresses, uris } = request
  if (request.subject.organizations.join() !== 'system:nodes') return nodeSubjectFault(request)
  if (dnsNames.length > 0) return 'DNS subjectAltNames are not allowed'
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (ipAddresses.length > 0) return 'IP subjectAltNames are not allowed'
  if (uris.length > 0) return 'URI subjectAltNames are not allowed'
  return nodeSubjectFault(request) ?? usagesFault(usages, 'client auth')
}

/** Why the request is not one of a node agent for its serving certificate; undefined when it is. */
export function kubeletServingFault(
  request: RequestedNames,
  usages: readonly string[],
): string | undefined {
  const { dnsNames, ipAddresses, emailAddresses, uris } = request
  if (request.subject.organizations.join() !== 'system:nodes') return nodeSubjectFault(request)
  if (dnsNames.length === 0 && ipAddresses.length === 0)
    return 'DNS or IP subjectAltName is required'
  if (emailAddresses.length > 0) return 'Email subjectAltNames are not allowed'
  if (uris.length > 0) return 'URI subjectAltNames are not allowed'
  return usagesFault(usages, 'server auth') ?? nodeSubjectFault(request)
}

function clientFault(usages: readonly string[]): string | undefined {
  const allowed = ['digital signature', 'key encipherment', 'client auth']
  const other = usages.find((usage) => !allowed.includes(usage))
  if (other !== undefined) return `invalid usage for client certificate: ${other}`
  return usages.includes('client auth')
    ? undefined
    : 'missing required usage for client certificate: client auth'
}

/** Why a signer refuses an approved request; undefined when it signs it. */
export function signerFault(
  signer: SignerName,
  request: RequestedNames,
  usages: readonly string[],
): string | undefined {
  switch (signer) {
    case 'kube-apiserver-client':
      return clientFault(usages)
    case 'kube-apiserver-client-kubelet':
      return kubeletClientFault(request, usages)
    case 'kubelet-serving':
      return kubeletServingFault(request, usages)
    case 'legacy-unknown':
      return undefined
  }
}
