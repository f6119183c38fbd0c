/** Clients of a cluster for its owner: with the administrator's certificate, or as any user, signed by the cluster's own CA. */
import { loadAuthority } from '../certs/authority.ts'
import { issue } from '../certs/pki.ts'
import { clientProfile } from '../certs/profiles.ts'
import { createClient } from '../components/client/client.ts'
import type { Client } from '../components/client/client.ts'
import type { Credentials } from '../components/client/rest-client.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { readAuthorityPem, readCheckedCredential } from './state/check-pki.ts'
import { dialectOf, serverUrl } from './plan/cluster-config.ts'
import type { ClusterConfig } from './plan/cluster-config.ts'
import type { StatePaths } from './state/state-dir.ts'

export interface ClusterPlace {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly clock: Clock
}

/** Who a client of the cluster is. A user needs nothing in the cluster but what RBAC says about it. */
export type Identity =
  | 'admin'
  | 'anonymous'
  | { readonly token: string }
  | { readonly user: string; readonly groups?: readonly string[] }

function credentialsOf({ paths, clock }: ClusterPlace, identity: Identity): Credentials {
  if (identity === 'anonymous') return {}
  if (identity === 'admin') {
    const { certificatePem, privateKeyPem } = readCheckedCredential(paths, 'admin')
    return { cert: certificatePem, key: privateKeyPem }
  }
  if ('token' in identity) return { token: identity.token }
  const authority = loadAuthority(readCheckedCredential(paths, 'ca'))
  const { user, groups = [] } = identity
  const subject = { commonName: user, organizations: groups }
  const issued = issue(authority, { profile: clientProfile(subject), nowMs: clock.now() })
  return { cert: issued.certificatePem, key: issued.privateKeyPem }
}

/** A client that opens no connection before its first request; the caller closes it. */
export function clusterClient(place: ClusterPlace, identity: Identity = 'admin'): Client {
  return createClient({
    server: serverUrl(place.config),
    ca: readAuthorityPem(place.paths),
    credentials: credentialsOf(place, identity),
    dialect: dialectOf(place.config),
    // A server that is stopped keeps its connections; a caller that waits for it gets an error.
    timeoutMs: 15_000,
    clock: place.clock,
  })
}
