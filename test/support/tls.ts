/** A small authority with certificates of two minutes' making, for tests that open sockets. */
import { createAuthority, sign } from '../../certs/authority.ts'
import type { Authority } from '../../certs/authority.ts'
import { generateKeyPair, privateKeyPem } from '../../certs/keys.ts'
import { clientProfile, servingProfile } from '../../certs/profiles.ts'

export interface TestPki {
  readonly authority: Authority
  readonly caPem: string
  readonly server: { readonly cert: string; readonly key: string }
  client(commonName: string, organizations?: readonly string[]): { cert: string; key: string }
}

/** A new authority; its serving certificate is for localhost and 127.0.0.1. */
export function createTestPki(): TestPki {
  const nowMs = Date.now()
  const authority = createAuthority({ commonName: 'test-ca', nowMs })
  const issue = (profile: Parameters<typeof sign>[1]['profile']) => {
    const keys = generateKeyPair()
    const cert = sign(authority, { profile, publicKey: keys.publicKey, nowMs })
    return { cert, key: privateKeyPem(keys.privateKey) }
  }
  return {
    authority,
    caPem: authority.certificatePem,
    server: issue(
      servingProfile({
        subject: { commonName: 'test-server', organizations: [] },
        dnsNames: ['localhost'],
        ipAddresses: ['127.0.0.1'],
      }),
    ),
    client: (commonName, organizations = []) => issue(clientProfile({ commonName, organizations })),
  }
}
