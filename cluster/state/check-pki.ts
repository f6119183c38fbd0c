/** Checks a cluster's certificates, keys and kubeconfig before use; an error names the damaged file and what to do. */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { authorityFor, credentialNames, stageRunnerCredential } from '../../certs/pki.ts'
import type { Credential, CredentialName } from '../../certs/pki.ts'
import { ClusterError } from '../cluster-error.ts'
import { removeHint, withClearErrors } from './state-dir.ts'
import type { StatePaths } from './state-dir.ts'

function renewHint(paths: StatePaths, name: string): string {
  return `renew it with: skiff certs renew ${name} --name ${basename(paths.dir)}`
}

/** The hint for a damaged file, by its name without extension. CAs and service account keys cannot be renewed. */
export function hintFor(paths: StatePaths, name: string): string {
  const names: readonly string[] = [...credentialNames, stageRunnerCredential]
  return names.includes(name) ? renewHint(paths, name) : removeHint(paths)
}

function readText(path: string, hint: string): string {
  try {
    return withClearErrors(path, () => readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new ClusterError('failed', `${path} is missing`, { hint, cause: error })
  }
}

function parsed<T>(path: string, what: string, more: { hint: string; parse: () => T }): T {
  try {
    return more.parse()
  } catch (error) {
    throw new ClusterError('failed', `${path} is damaged: it contains no ${what}`, {
      hint: more.hint,
      cause: error,
    })
  }
}

interface CheckedCredential extends Credential {
  readonly certificate: X509Certificate
}

/** Reads `<name>.crt` and `<name>.key`. Throws a ClusterError unless both are valid and match. */
export function readCheckedCredential(paths: StatePaths, name: string): CheckedCredential {
  const hint = hintFor(paths, name)
  const [crt, key] = [join(paths.pki, `${name}.crt`), join(paths.pki, `${name}.key`)]
  const certificatePem = readText(crt, hint)
  const privateKeyPem = readText(key, hint)
  const certificate = parsed(crt, 'certificate', {
    hint,
    parse: () => new X509Certificate(certificatePem),
  })
  const secret = parsed(key, 'private key', { hint, parse: () => createPrivateKey(privateKeyPem) })
  if (!certificate.checkPrivateKey(secret)) {
    throw new ClusterError('failed', `${key} is damaged: it is not the key of ${crt}`, { hint })
  }
  return { certificatePem, privateKeyPem, certificate }
}

/** The cluster CA's certificate, in PEM. */
export function readAuthorityPem(paths: StatePaths): string {
  const path = join(paths.pki, 'ca.crt')
  const hint = removeHint(paths)
  const text = readText(path, hint)
  parsed(path, 'certificate', { hint, parse: () => new X509Certificate(text) })
  return text
}

/** Both CAs, checked with their keys; nothing can be renewed without them. */
export function checkAuthorities(paths: StatePaths): {
  authority: X509Certificate
  frontProxyAuthority: X509Certificate
} {
  return {
    authority: readCheckedCredential(paths, 'ca').certificate,
    frontProxyAuthority: readCheckedCredential(paths, 'front-proxy-ca').certificate,
  }
}

function checkTokenKeys(paths: StatePaths): void {
  const hint = removeHint(paths)
  const [key, pub] = [join(paths.pki, 'sa.key'), join(paths.pki, 'sa.pub')]
  const [keyText, pubText] = [readText(key, hint), readText(pub, hint)]
  const secret = parsed(key, 'private key', { hint, parse: () => createPrivateKey(keyText) })
  const known = parsed(pub, 'public key', { hint, parse: () => createPublicKey(pubText) })
  const der = (from: KeyObject): Buffer => from.export({ type: 'spki', format: 'der' })
  if (!der(createPublicKey(secret)).equals(der(known))) {
    throw new ClusterError('failed', `${pub} is damaged: it is not the public half of ${key}`, {
      hint,
    })
  }
}

function isKubeconfig(value: unknown): boolean {
  const { clusters, users } = (value ?? {}) as { clusters?: unknown; users?: unknown }
  return [clusters, users].every((list) => Array.isArray(list) && list.length > 0)
}

/** The administrator's kubeconfig as text. */
export async function readAdminKubeconfig(paths: StatePaths): Promise<string> {
  const hint = renewHint(paths, 'admin')
  const path = paths.adminKubeconfig
  const text = readText(path, hint)
  const { parseYaml } = await import('../yaml.ts')
  const value = parsed(path, 'kubeconfig', { hint, parse: () => parseYaml(text) })
  if (isKubeconfig(value)) return text
  throw new ClusterError('failed', `${path} is damaged: it contains no kubeconfig`, { hint })
}

/** Checks every file that a stored cluster's processes and commands read. Rejects with a ClusterError about the first damaged one. */
export async function checkPki(paths: StatePaths, nowMs: number): Promise<void> {
  const authorities = checkAuthorities(paths)
  const hasStages = existsSync(join(paths.pki, `${stageRunnerCredential}.crt`))
  const names = hasStages ? [...credentialNames, stageRunnerCredential] : credentialNames
  for (const name of names as readonly CredentialName[]) {
    const { certificate } = readCheckedCredential(paths, name)
    const crt = join(paths.pki, `${name}.crt`)
    const hint = renewHint(paths, name)
    if (!certificate.verify(authorityFor(authorities, name).publicKey)) {
      const message = `${crt} is damaged: it is not signed by the cluster's CA`
      throw new ClusterError('failed', message, { hint })
    }
    if (Date.parse(certificate.validTo) <= nowMs) {
      throw new ClusterError('failed', `${crt} has expired: ${certificate.validTo}`, { hint })
    }
  }
  checkTokenKeys(paths)
  await readAdminKubeconfig(paths)
}
