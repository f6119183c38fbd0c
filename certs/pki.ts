/** The whole pki of a cluster as a value: authorities, service-account keys, and one certificate per component. */
import type { Authority } from './authority.ts'
import { createAuthority, sign } from './authority.ts'
import type { KeyKind } from './keys.ts'
import { generateKeyPair, privateKeyPem, publicKeyPem } from './keys.ts'
import type { ApiServerNames, Profile } from './profiles.ts'
import {
  adminSubject,
  apiServerProfile,
  clientProfile,
  controllerManagerSubject,
  frontProxyClientSubject,
  kubeletClientSubject,
  schedulerSubject,
  servingProfile,
  stageRunnerSubject,
} from './profiles.ts'

/** A certificate and its key, both in PEM. */
export interface Credential {
  readonly certificatePem: string
  readonly privateKeyPem: string
}

/** The component certificates, named as their files: `<name>.crt` and `<name>.key`. */
export const credentialNames = [
  'apiserver',
  'apiserver-kubelet-client',
  'front-proxy-client',
  'controller-manager',
  'controller-manager-serving',
  'scheduler',
  'scheduler-serving',
  'admin',
] as const

/** Of a cluster that plays Stage files alone. */
export const stageRunnerCredential = 'stage-runner'

type CommonCredentialName = (typeof credentialNames)[number]
export type CredentialName = CommonCredentialName | typeof stageRunnerCredential

/** What every machine of a control plane has the same. */
export interface SharedPki {
  /** Signs everything but the front proxy's client. */
  readonly authority: Authority
  readonly frontProxyAuthority: Authority
  /** Signs service account tokens; the public half verifies them. */
  readonly serviceAccountKey: { readonly privateKeyPem: string; readonly publicKeyPem: string }
}

export interface Pki extends SharedPki {
  readonly credentials: Readonly<
    Record<CommonCredentialName, Credential> & { [stageRunnerCredential]?: Credential }
  >
}

export interface PkiOptions {
  readonly apiServer: ApiServerNames
  /** Whether the cluster plays Stage files. */
  readonly hasStages?: boolean
  /** Default `ec`. */
  readonly keyKind?: KeyKind
}

/** The profile of each component certificate. */
export function credentialProfile(name: CredentialName, options: PkiOptions): Profile {
  const { keyKind = 'ec', apiServer } = options
  const local = (commonName: string): Profile =>
    servingProfile(
      {
        subject: { commonName, organizations: [] },
        dnsNames: ['localhost', ...(apiServer.hostNames ?? [])],
        ipAddresses: [...new Set(['127.0.0.1', '::1', ...(apiServer.ipAddresses ?? [])])],
      },
      keyKind,
    )
  switch (name) {
    case 'apiserver':
      return apiServerProfile(apiServer, keyKind)
    case 'apiserver-kubelet-client':
      return clientProfile(kubeletClientSubject, keyKind)
    case 'front-proxy-client':
      return clientProfile(frontProxyClientSubject, keyKind)
    case 'controller-manager':
      return clientProfile(controllerManagerSubject, keyKind)
    case 'controller-manager-serving':
      return local('kube-controller-manager')
    case 'scheduler':
      return clientProfile(schedulerSubject, keyKind)
    case 'scheduler-serving':
      return local('kube-scheduler')
    case 'admin':
      return clientProfile(adminSubject, keyKind)
    case 'stage-runner':
      return clientProfile(stageRunnerSubject, keyKind)
  }
}

/** A new key and a certificate for it. */
export function issue(
  authority: Authority,
  wanted: { profile: Profile; nowMs: number; keyKind?: KeyKind },
): Credential {
  const keys = generateKeyPair(wanted.keyKind)
  return {
    certificatePem: sign(authority, {
      profile: wanted.profile,
      publicKey: keys.publicKey,
      nowMs: wanted.nowMs,
    }),
    privateKeyPem: privateKeyPem(keys.privateKey),
  }
}

/** Which authority signs it. */
export function authorityFor<T>(
  pki: { readonly authority: T; readonly frontProxyAuthority: T },
  name: CredentialName,
): T {
  return name === 'front-proxy-client' ? pki.frontProxyAuthority : pki.authority
}

/** New certificates of the components, under authorities that exist. */
export function issuePki(
  shared: SharedPki,
  options: PkiOptions & { nowMs: number; untilMs?: number },
): Pki {
  const { nowMs, untilMs, keyKind = 'ec' } = options
  const lasting = untilMs === undefined ? {} : { lifetimeMs: untilMs - nowMs }
  const names = [...credentialNames, ...(options.hasStages === true ? [stageRunnerCredential] : [])]
  const credentials = Object.fromEntries(
    (names as CredentialName[]).map((name) => [
      name,
      issue(authorityFor(shared, name), {
        profile: { ...credentialProfile(name, options), ...lasting },
        nowMs,
        keyKind,
      }),
    ]),
  ) as Pki['credentials']
  return { ...shared, credentials }
}

/**
 * Everything new: a few milliseconds with elliptic-curve keys. `untilMs`: when all certificates end; default as their profiles say,
 * and ten years for authorities.
 */
export function createPki(options: PkiOptions & { nowMs: number; untilMs?: number }): Pki {
  const { nowMs, untilMs, keyKind = 'ec' } = options
  const lasting = untilMs === undefined ? {} : { lifetimeMs: untilMs - nowMs }
  const own = { nowMs, keyKind, ...lasting }
  const tokenKeys = generateKeyPair(keyKind)
  const shared = {
    authority: createAuthority({ commonName: options.apiServer.serviceName, ...own }),
    frontProxyAuthority: createAuthority({ commonName: 'front-proxy-ca', ...own }),
    serviceAccountKey: {
      privateKeyPem: privateKeyPem(tokenKeys.privateKey),
      publicKeyPem: publicKeyPem(tokenKeys.publicKey),
    },
  }
  return issuePki(shared, options)
}
