/** A pki folder: kubeadm's file names, keys readable by the owner alone, every file replaced in one step. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { loadAuthority } from './authority.ts'
import { privateKeyPem } from './keys.ts'
import type { Credential, CredentialName, Pki } from './pki.ts'
import { credentialNames } from './pki.ts'

const KEY_MODE = 0o600
const CERTIFICATE_MODE = 0o644
const FOLDER_MODE = 0o700

/**
 * Replaces the file in one step: a reader sees the old or the new content, whole, and the new one has reached
 * the disk. The temporary file lies beside it and is removed on failure.
 */
export async function writeFileAtomically(
  path: string,
  content: string | Buffer,
  mode: number,
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/** Writes `<name>.crt` and `<name>.key`, the key first, so that a certificate never lies there without its key. */
export async function writeCredential(
  folder: string,
  name: string,
  credential: Credential,
): Promise<void> {
  await writeFileAtomically(join(folder, `${name}.key`), credential.privateKeyPem, KEY_MODE)
  await writeFileAtomically(
    join(folder, `${name}.crt`),
    credential.certificatePem,
    CERTIFICATE_MODE,
  )
}

/** Reads `<name>.crt` and `<name>.key`. Rejects with the file system's error when one is missing. */
export async function readCredential(folder: string, name: string): Promise<Credential> {
  const [certificatePem, privateKeyPem] = await Promise.all([
    readFile(join(folder, `${name}.crt`), 'utf8'),
    readFile(join(folder, `${name}.key`), 'utf8'),
  ])
  return { certificatePem, privateKeyPem }
}

/** The files of a pki folder, by name; of a pair, the key first. */
export function pkiTexts(pki: Pki): [name: string, text: string][] {
  const pair = (name: string, { certificatePem, privateKeyPem: key }: Credential) =>
    [
      [`${name}.key`, key],
      [`${name}.crt`, certificatePem],
    ] satisfies [string, string][]
  const authority = (name: string, { certificatePem, privateKey }: Pki['authority']) =>
    pair(name, { certificatePem, privateKeyPem: privateKeyPem(privateKey) })
  return [
    ...authority('ca', pki.authority),
    ...authority('front-proxy-ca', pki.frontProxyAuthority),
    ['sa.key', pki.serviceAccountKey.privateKeyPem],
    ['sa.pub', pki.serviceAccountKey.publicKeyPem],
    ...credentialNames.flatMap((name) => pair(name, pki.credentials[name])),
  ]
}

/** Writes the whole pki into `folder`, which is made if needed (mode 0700). */
export async function writePki(folder: string, pki: Pki): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  const authorityFiles = (authority: Pki['authority']): Credential => ({
    certificatePem: authority.certificatePem,
    privateKeyPem: privateKeyPem(authority.privateKey),
  })
  const { serviceAccountKey } = pki
  await Promise.all([
    writeCredential(folder, 'ca', authorityFiles(pki.authority)),
    writeCredential(folder, 'front-proxy-ca', authorityFiles(pki.frontProxyAuthority)),
    writeFileAtomically(join(folder, 'sa.key'), serviceAccountKey.privateKeyPem, KEY_MODE),
    writeFileAtomically(join(folder, 'sa.pub'), serviceAccountKey.publicKeyPem, CERTIFICATE_MODE),
    ...credentialNames.map((name) => writeCredential(folder, name, pki.credentials[name])),
  ])
}

/** Both authorities of a folder. Rejects when a file is missing or a key does not fit. */
export async function readAuthorities(
  folder: string,
): Promise<Pick<Pki, 'authority' | 'frontProxyAuthority'>> {
  const [authority, frontProxyAuthority] = await Promise.all([
    readCredential(folder, 'ca'),
    readCredential(folder, 'front-proxy-ca'),
  ])
  return {
    authority: loadAuthority(authority),
    frontProxyAuthority: loadAuthority(frontProxyAuthority),
  }
}

/** Reads a folder that `writePki` wrote. Rejects when a file is missing or an authority's key does not fit. */
export async function readPki(folder: string): Promise<Pki> {
  const [authorities, tokenKey, tokenPublicKey, ...credentials] = await Promise.all([
    readAuthorities(folder),
    readFile(join(folder, 'sa.key'), 'utf8'),
    readFile(join(folder, 'sa.pub'), 'utf8'),
    ...credentialNames.map((name) => readCredential(folder, name)),
  ])
  return {
    ...authorities,
    serviceAccountKey: { privateKeyPem: tokenKey, publicKeyPem: tokenPublicKey },
    credentials: Object.fromEntries(
      credentialNames.map((name, index) => [name, credentials[index]]),
    ) as Record<CredentialName, Credential>,
  }
}
