/** The pki of etcd: an authority of its own, and certificates of its members and of the API servers (kubeadm's phase `certs`). */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Authority } from './authority.ts'
import { createAuthority, loadAuthority } from './authority.ts'
import { privateKeyPem } from './keys.ts'
import type { Credential } from './pki.ts'
import { issue } from './pki.ts'
import { readCredential, writeCredential } from './pki-files.ts'
import { clientProfile, etcdMemberProfile } from './profiles.ts'
import type { Profile } from './profiles.ts'

/** Named as their files in the pki folder: `<name>.crt` and `<name>.key`. */
export const etcdCredentialNames = ['etcd/server', 'etcd/peer', 'apiserver-etcd-client'] as const
export type EtcdCredentialName = (typeof etcdCredentialNames)[number]

export interface EtcdPki {
  readonly authority: Authority
  readonly credentials: Readonly<Record<EtcdCredentialName, Credential>>
}

function profileOf(name: EtcdCredentialName, addresses: readonly string[]): Profile {
  if (name !== 'apiserver-etcd-client') return etcdMemberProfile(addresses)
  return clientProfile({ commonName: 'kube-apiserver-etcd-client', organizations: [] })
}

function issueAll(
  authority: Authority,
  { addresses, nowMs }: { readonly addresses: readonly string[]; readonly nowMs: number },
): EtcdPki['credentials'] {
  const pairs = etcdCredentialNames.map((name) => {
    return [name, issue(authority, { profile: profileOf(name, addresses), nowMs })] as const
  })
  return Object.fromEntries(pairs) as Record<EtcdCredentialName, Credential>
}

/**
 * New credentials, under a new authority or a given one, which the members of other machines trust. The members listen at these
 * addresses, besides those of loopback.
 */
export function createEtcdPki(options: {
  readonly addresses: readonly string[]
  readonly nowMs: number
  readonly authority?: Authority | undefined
}): EtcdPki {
  const { authority = createAuthority({ commonName: 'etcd-ca', nowMs: options.nowMs }) } = options
  return { authority, credentials: issueAll(authority, options) }
}

async function writeCredentials(
  folder: string,
  credentials: EtcdPki['credentials'],
): Promise<void> {
  await Promise.all(
    etcdCredentialNames.map((name) => writeCredential(folder, name, credentials[name])),
  )
}

/** Writes it into a pki folder, which is made if needed. */
export async function writeEtcdPki(folder: string, pki: EtcdPki): Promise<void> {
  await mkdir(join(folder, 'etcd'), { recursive: true, mode: 0o700 })
  const { certificatePem, privateKey } = pki.authority
  const authority = { certificatePem, privateKeyPem: privateKeyPem(privateKey) }
  await Promise.all([
    writeCredential(folder, 'etcd/ca', authority),
    writeCredentials(folder, pki.credentials),
  ])
}

/** Issues the certificates anew under the folder's own authority, which stays. */
export async function renewEtcdPki(
  folder: string,
  options: { readonly addresses: readonly string[]; readonly nowMs: number },
): Promise<void> {
  const authority = loadAuthority(await readCredential(folder, 'etcd/ca'))
  await writeCredentials(folder, issueAll(authority, options))
}
