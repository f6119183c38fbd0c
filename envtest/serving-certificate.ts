/** ServingCertificate: the pair in --cert-dir, made when it is missing (upstream: apiserver pkg/server/options/serving.go). */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { createAuthority } from '../certs/authority.ts'
import { issue } from '../certs/pki.ts'
import { writeCredential } from '../certs/pki-files.ts'
import { apiServerProfile } from '../certs/profiles.ts'

/** The flags that name the pair. A new one is signed by an authority whose key is forgotten. */
export async function servingCertificateIn(
  folder: string,
  wanted: { serviceName: string; address: string; nowMs: number },
): Promise<{ readonly 'tls-cert-file': string; readonly 'tls-private-key-file': string }> {
  const files = {
    'tls-cert-file': join(folder, 'apiserver.crt'),
    'tls-private-key-file': join(folder, 'apiserver.key'),
  }
  if (Object.values(files).every((file) => existsSync(file))) return files
  const { serviceName, address, nowMs } = wanted
  const authority = createAuthority({ commonName: `${serviceName}-ca`, nowMs })
  const profile = apiServerProfile({
    serviceName,
    ipAddresses: isIP(address) === 0 ? [] : [address],
  })
  const { certificatePem, privateKeyPem } = issue(authority, { profile, nowMs })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeCredential(folder, 'apiserver', {
    certificatePem: certificatePem + authority.certificatePem,
    privateKeyPem,
  })
  return files
}
