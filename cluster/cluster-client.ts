/** Clients of a cluster for its owner: with the administrator's certificate, or as any user, signed by the cluster's own CA. */
import { loadAuthority } from '../certs/authority.ts'
import { issue } from '../certs/pki.ts'
import { clientProfile } from '../certs/profiles.ts'
import { createClient } from '../components/client/client.ts'
import type { Client } from '../components/client/client.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { readAuthorityPem, readCheckedCredential } from './state/check-pki.ts'
import { credentialsOf } from './identity.ts'
import type { CertificateSource, Identity } from './identity.ts'
import { dialectOf, serverNameOf, serverUrl } from './plan/cluster-config.ts'
import type { ClusterConfig } from './plan/cluster-config.ts'
import type { StatePaths } from './state/state-dir.ts'

export interface ClusterPlace {
  readonly config: ClusterConfig
  readonly paths: StatePaths
  readonly clock: Clock
}

function certificatesOf({ paths, clock }: ClusterPlace): CertificateSource {
  return {
    admin: () => readCheckedCredential(paths, 'admin'),
    issue: (subject) => {
      const authority = loadAuthority(readCheckedCredential(paths, 'ca'))
      return issue(authority, { profile: clientProfile(subject), nowMs: clock.now() })
    },
  }
}

/** A server that is stopped keeps its connections; a caller that waits for it gets an error. */
export const answerWithinMs = 15_000

/** A client that opens no connection before its first request; the caller closes it. */
export function clusterClient(
  place: ClusterPlace,
  identity: Identity = 'admin',
  timeoutMs = answerWithinMs,
): Client {
  const serverName = serverNameOf(place.config)
  return createClient({
    server: serverUrl(place.config),
    ...(serverName === undefined ? {} : { serverName }),
    ca: readAuthorityPem(place.paths),
    credentials: credentialsOf(identity, certificatesOf(place)) ?? {},
    dialect: dialectOf(place.config),
    timeoutMs,
    clock: place.clock,
  })
}
