/** Profiles: one identity per component, by upstream's names (kubeadm's certificates and the default RBAC users). */
import type { CertificateRequest } from './csr.ts'
import type { KeyKind } from './keys.ts'
import type { Subject, SubjectAlternativeNames } from './subject.ts'
import type { KeyUsage } from './usages.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** How long component certificates live. */
export const LEAF_LIFETIME_MS = 365 * DAY_MS
/** How long authorities live. */
export const AUTHORITY_LIFETIME_MS = 10 * 365 * DAY_MS

/** The content of a certificate, apart from its key, its issuer and its dates. */
export interface Profile extends Partial<SubjectAlternativeNames> {
  readonly subject: Subject
  readonly usages: readonly KeyUsage[]
  readonly lifetimeMs: number
  readonly isAuthority?: boolean
}

/** Elliptic-curve keys only sign; RSA keys may also wrap a key. */
function keyUsages(keyKind: KeyKind): KeyUsage[] {
  return keyKind === 'rsa' ? ['digital signature', 'key encipherment'] : ['digital signature']
}

export function authorityProfile(commonName: string, lifetimeMs = AUTHORITY_LIFETIME_MS): Profile {
  return {
    subject: { commonName, organizations: [] },
    dnsNames: [commonName],
    usages: ['digital signature', 'key encipherment', 'cert sign'],
    lifetimeMs,
    isAuthority: true,
  }
}

/** An identity that only calls: user `commonName` in the groups `organizations`. */
export function clientProfile(subject: Subject, keyKind: KeyKind = 'ec'): Profile {
  return { subject, usages: [...keyUsages(keyKind), 'client auth'], lifetimeMs: LEAF_LIFETIME_MS }
}

/** A certificate for a listener. */
export function servingProfile(
  names: { subject: Subject; dnsNames: readonly string[]; ipAddresses: readonly string[] },
  keyKind: KeyKind = 'ec',
): Profile {
  return { ...names, usages: [...keyUsages(keyKind), 'server auth'], lifetimeMs: LEAF_LIFETIME_MS }
}

/** A member of etcd, which serves clients and other members, and calls those. */
export function etcdMemberProfile(addresses: readonly string[]): Profile {
  const serving = servingProfile({
    subject: { commonName: 'etcd', organizations: [] },
    dnsNames: ['localhost'],
    ipAddresses: [...new Set(['127.0.0.1', '::1', ...addresses])],
  })
  return { ...serving, usages: [...serving.usages, 'client auth'] }
}

/** Where the API server can be reached. */
export interface ApiServerNames {
  /** Name of its Service in namespace `default`: `kubernetes` in the stock dialect. */
  readonly serviceName: string
  /** The service's address: the first of the service range. Default 10.96.0.1. */
  readonly serviceIp?: string
  /** Default `cluster.local`. */
  readonly clusterDomain?: string
  /** Further names and addresses, besides localhost and the loopback addresses. */
  readonly hostNames?: readonly string[]
  readonly ipAddresses?: readonly string[]
}

/** `CN=kube-apiserver` with all names that clients in and outside the cluster use. */
export function apiServerProfile(names: ApiServerNames, keyKind: KeyKind = 'ec'): Profile {
  const { serviceName, clusterDomain = 'cluster.local', serviceIp = '10.96.0.1' } = names
  const dnsNames = [
    serviceName,
    `${serviceName}.default`,
    `${serviceName}.default.svc`,
    `${serviceName}.default.svc.${clusterDomain}`,
    'localhost',
    ...(names.hostNames ?? []),
  ]
  const ipAddresses = [serviceIp, '127.0.0.1', '::1', ...(names.ipAddresses ?? [])]
  return servingProfile(
    {
      subject: { commonName: 'kube-apiserver', organizations: [] },
      dnsNames: [...new Set(dnsNames)],
      ipAddresses: [...new Set(ipAddresses)],
    },
    keyKind,
  )
}

/** The API server when it calls node agents. */
export const kubeletClientSubject: Subject = {
  commonName: 'kube-apiserver-kubelet-client',
  organizations: ['kubeadm:cluster-admins'],
}

/** The API server when it calls aggregated servers; signed by the front-proxy authority. */
export const frontProxyClientSubject: Subject = {
  commonName: 'front-proxy-client',
  organizations: [],
}

export const controllerManagerSubject: Subject = {
  commonName: 'system:kube-controller-manager',
  organizations: [],
}

export const schedulerSubject: Subject = { commonName: 'system:kube-scheduler', organizations: [] }

/** Plays Stage files of kwok, in clusters that have some. */
export const stageRunnerSubject: Subject = {
  commonName: 'system:stage-runner',
  organizations: [],
}

/** Passes every authorization check. */
export const adminSubject: Subject = {
  commonName: 'kubernetes-admin',
  organizations: ['system:masters'],
}

/** A node agent: the only user the Node authorizer lets act for that node. */
export function nodeSubject(nodeName: string): Subject {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }
}

/** The certificate that a signer issues for an approved request: its subject and names, but usages and lifetime of the signer's choice. */
export function profileOfRequest(
  request: CertificateRequest,
  granted: { usages: readonly KeyUsage[]; lifetimeMs: number },
): Profile {
  const { subject, dnsNames, ipAddresses, emailAddresses, uris } = request
  return { subject, dnsNames, ipAddresses, emailAddresses, uris, ...granted }
}
