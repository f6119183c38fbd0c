/** NodeCredential: the node's key and certificate on disk, and when they are due to be renewed. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { diskFiles } from '../../component-base/files.ts'
import type { Files } from '../../component-base/files.ts'
import { decodePem } from '../../../certs/pem.ts'
import type { IssuedCertificate } from './certificate-request.ts'

/** Certificate and key in one file, so that they are always replaced together; upstream's names. */
export const clientCredentialFile = 'kubelet-client-current.pem'
export const serverCredentialFile = 'kubelet-server-current.pem'

/** The pair in a PEM text; undefined when either is missing or damaged, or they do not belong together. */
export function splitCredential(pem: string): IssuedCertificate | undefined {
  const blocks = decodePem(pem)
  const has = (label: RegExp): boolean => blocks.some((block) => label.test(block.label))
  if (!has(/^CERTIFICATE$/) || !has(/PRIVATE KEY$/)) return undefined
  try {
    // Each reader takes the blocks it needs from the whole text.
    if (!new X509Certificate(pem).checkPrivateKey(createPrivateKey(pem))) return undefined
  } catch {
    return undefined // the PEM block is not a certificate or not a key
  }
  return { cert: pem, key: pem }
}

/** Reads the file; undefined for a missing or unusable one. */
export async function readNodeCredential(
  folder: string,
  file: string,
  files: Files = diskFiles,
): Promise<IssuedCertificate | undefined> {
  try {
    return splitCredential(await files.read(join(folder, file)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes the pair, mode 0600, whole or not at all; the folder is made if needed. Returns the path. */
export async function writeNodeCredential(
  folder: string,
  file: string,
  { cert, key }: IssuedCertificate,
  files: Files = diskFiles,
): Promise<string> {
  await files.makeFolder(folder)
  const path = join(folder, file)
  await files.write(path, `${cert.trimEnd()}\n${key}`)
  return path
}

/** From when to when the (first) certificate in the text holds. */
export function validityOf(cert: string): { fromMs: number; untilMs: number } {
  const { validFrom, validTo } = new X509Certificate(cert)
  return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) }
}

/** Upstream's time for renewal: somewhere between 70 and 90 % of the lifetime. `random` is in [0, 1). */
export function renewalTime(cert: string, random: number): number {
  const { fromMs, untilMs } = validityOf(cert)
  return fromMs + (untilMs - fromMs) * (0.7 + 0.2 * random)
}

/** Whether the pair can be used now. */
export function isCurrent({ cert }: IssuedCertificate, nowMs: number): boolean {
  const { fromMs, untilMs } = validityOf(cert)
  return fromMs <= nowMs && nowMs < untilMs
}
