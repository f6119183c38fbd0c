/** The place of a cluster elsewhere, as a command line names it: its URL and its CA pin. */
import { ClusterError } from '../cluster-error.ts'

/** The URL. Throws a ClusterError of kind `usage` for text that is not a URL. */
export function checkServer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'https:') return text
  throw new ClusterError('usage', `"${text}" is not the URL of an API server`, {
    hint: 'use a URL such as https://192.0.2.1:6443',
  })
}

/** The pin. Throws a ClusterError of kind `usage` for text that is not a pin. */
export function checkCaHash(pin: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(pin)) return pin
  throw new ClusterError(
    'usage',
    `invalid --discovery-token-ca-cert-hash "${pin}": must be sha256: and 64 hexadecimal digits`,
    { hint: 'print it on the cluster: skiff token create --print-join-command' },
  )
}
