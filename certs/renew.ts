/** Renewal: new keys and certificates with the identities a pki folder already has, before they expire. */
import { X509Certificate } from 'node:crypto'
import type { Credential, CredentialName, PkiOptions } from './pki.ts'
import { authorityFor, credentialNames, credentialProfile, issue } from './pki.ts'
import { readAuthorities, writeCredential } from './pki-files.ts'

/** True once less than `share` of the certificate's life is left (default a third), or it is not yet or no longer valid. */
export function needsRenewal(certificatePem: string, nowMs: number, share = 1 / 3): boolean {
  const certificate = new X509Certificate(certificatePem)
  const from = Date.parse(certificate.validFrom)
  const to = Date.parse(certificate.validTo)
  return nowMs < from || to - nowMs < (to - from) * share
}

/**
 * Issues the named component certificates anew (all by default) under the folder's own authorities and replaces
 * their files. The authorities and the service-account keys stay; the old component certificates may be damaged or missing. Returns what was written.
 */
export async function renewPki(
  folder: string,
  options: PkiOptions & { nowMs: number; names?: readonly CredentialName[] },
): Promise<Partial<Record<CredentialName, Credential>>> {
  const authorities = await readAuthorities(folder)
  const renewed: Partial<Record<CredentialName, Credential>> = {}
  for (const name of options.names ?? credentialNames) {
    const credential = issue(authorityFor(authorities, name), {
      profile: credentialProfile(name, options),
      nowMs: options.nowMs,
      ...(options.keyKind === undefined ? {} : { keyKind: options.keyKind }),
    })
    await writeCredential(folder, name, credential)
    renewed[name] = credential
  }
  return renewed
}
