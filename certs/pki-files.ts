/** A pki folder: kubeadm's file names, keys readable by the owner alone, every file replaced in one step. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { replaceFile } from '../components/component-base/replace-file.ts'
import { loadAuthority } from './authority.ts'
import { privateKeyPem } from './keys.ts'
import type { Credential, Pki } from './pki.ts'
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
    await replaceFile(temporary, path)
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

/** The pairs of a pki folder, by the name of their files. */
function pkiPairs(pki: Pki): (readonly [name: string, pair: Credential])[] {
  const authority = ({ certificatePem, privateKey }: Pki['authority']): Credential => ({
    certificatePem,
    privateKeyPem: privateKeyPem(privateKey),
  })
  return [
    ['ca', authority(pki.authority)],
    ['front-proxy-ca', authority(pki.frontProxyAuthority)],
    ...Object.entries(pki.credentials),
  ]
}

/** The files of a pki folder and their contents, for whoever keeps them elsewhere. */
export function pkiTexts(pki: Pki): [name: string, text: string][] {
  return [
    ['sa.key', pki.serviceAccountKey.privateKeyPem],
    ['sa.pub', pki.serviceAccountKey.publicKeyPem],
    ...pkiPairs(pki).flatMap(([name, pair]): [string, string][] => [
      [`${name}.key`, pair.privateKeyPem],
      [`${name}.crt`, pair.certificatePem],
    ]),
  ]
}

/** Writes the whole pki into `folder`, which is made if needed (mode 0700). */
export async function writePki(folder: string, pki: Pki): Promise<void> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  const { serviceAccountKey } = pki
  await Promise.all([
    writeFileAtomically(join(folder, 'sa.key'), serviceAccountKey.privateKeyPem, KEY_MODE),
    writeFileAtomically(join(folder, 'sa.pub'), serviceAccountKey.publicKeyPem, CERTIFICATE_MODE),
    ...pkiPairs(pki).map(([name, pair]) => writeCredential(folder, name, pair)),
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
    ) as Pki['credentials'],
  }
}
