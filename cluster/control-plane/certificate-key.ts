/** Certificate key: encrypts what a further machine of the control plane needs, on its way through a Secret (kubeadm: upload-certs). */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** A new key: 64 hexadecimal digits. */
export function createCertificateKey(clock: Pick<Clock, 'randomBytes'>): string {
  return clock.randomBytes(keyBytes).toString('hex')
}

/** The key's bytes; the message of the error never repeats what was given. */
export function parseCertificateKey(text: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(text.trim())) return Buffer.from(text.trim(), 'hex')
  throw new ClusterError('usage', 'invalid certificate key: must be 64 hexadecimal digits', {
    hint: 'print one on the cluster: skiff token create --control-plane',
  })
}

/** AES-256-GCM: a fresh nonce, the text, and its tag, in the order of kubeadm. `name` is bound to the text: one entry cannot stand in for another. */
export function sealed(
  text: string,
  name: string,
  { key, clock }: { readonly key: Buffer; readonly clock: Pick<Clock, 'randomBytes'> },
): Buffer {
  const nonce = clock.randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(name))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, body, cipher.getAuthTag()])
}

/** The text; throws a ClusterError when the key is another one, or the bytes were changed. */
export function opened(bytes: Buffer, name: string, key: Buffer): string {
  try {
    const nonce = bytes.subarray(0, nonceBytes)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(bytes.length - tagBytes))
    const body = bytes.subarray(nonceBytes, bytes.length - tagBytes)
    return Buffer.concat([decipher.update(body), decipher.final()]).toString()
  } catch (error) {
    throw new ClusterError('usage', 'the certificate key does not open the certificates', {
      hint: 'each `skiff token create --control-plane` makes a new key: use the last one',
      cause: error,
    })
  }
}
