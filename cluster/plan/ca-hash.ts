/** CaHash: the digest by which a joining node knows the cluster's authority (upstream: kubeadm util/pubkeypin). */
import { createHash } from 'node:crypto'
import type { Authority } from '../../certs/authority.ts'
import { publicKeyInfo } from '../../certs/keys.ts'

/** `sha256:<hex>` of a CA's public key: what `--discovery-token-ca-cert-hash` takes. */
export function caHashOf(authority: Authority): string {
  const digest = createHash('sha256').update(publicKeyInfo(authority.publicKey)).digest('hex')
  return `sha256:${digest}`
}
