/** slimToken: a bootstrap token's Secret without the secret (upstream: cluster-bootstrap/token/api). Pure. */
import type { Secret } from '../../components/api/generated/types.ts'
import type { SlimToken } from '../protocol/lab.ts'

const usagePrefix = 'usage-bootstrap-'

export function slimToken({ data = {} }: Secret): SlimToken {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString()
  const usages = Object.keys(data)
    .filter((key) => key.startsWith(usagePrefix) && text(key) === 'true')
    .map((key) => key.slice(usagePrefix.length))
  const expiresMs = Date.parse(text('expiration'))
  return {
    id: text('token-id'),
    description: text('description'),
    usages,
    ...(Number.isNaN(expiresMs) ? {} : { expiresMs }),
  }
}
