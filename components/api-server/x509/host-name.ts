/** Whether a certificate is valid for a host, by its subject alternative names (Go: x509 VerifyHostname). */
import { isIP } from 'node:net'
import { parseIpAddress } from '../../machinery/validation/ip-address.ts'
import type { Certificate } from './certificate.ts'

/** The address as 4 or 16 bytes, 4 for an IPv4-mapped one; undefined for anything else, as for leading zeros. */
function bytesOf(host: string): Buffer | undefined {
  const address = isIP(host) === 0 ? undefined : parseIpAddress(host)
  if (address === undefined) return undefined
  const digits = address.family === 'IPv4' ? 8 : 32
  return Buffer.from(address.value.toString(16).padStart(digits, '0'), 'hex')
}

const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

/** An IPv4-mapped IPv6 address as the IPv4 address. */
const shortened = (ip: Buffer): Buffer =>
  ip.length === 16 && ip.subarray(0, 12).equals(mappedPrefix) ? ip.subarray(12) : ip

/** In the shortest form. */
function shown(ip: Buffer): string {
  if (ip.length === 4) return ip.join('.')
  const groups = ip.toString('hex').match(/.{4}/g) ?? []
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

/** Letters, digits, hyphens and underscores in labels; a pattern may begin with the label `*`. */
function isHostName(name: string, isPattern: boolean): boolean {
  const host = isPattern ? name : name.replace(/\.$/, '')
  if (host === '' || host === '*') return false
  return host
    .split('.')
    .every((label, i) => (isPattern && i === 0 && label === '*') || /^\w[\w-]*$/.test(label))
}

function matches(pattern: string, name: string): boolean {
  const [wanted, given] = [pattern, name.replace(/\.$/, '')].map((one) =>
    one.toLowerCase().split('.'),
  )
  if (wanted === undefined || given?.length !== wanted.length) return false
  return wanted.every((label, i) => (i === 0 && label === '*') || label === given[i])
}

/** Why the certificate is not valid for the host, in Go's words; undefined when it is. */
export function hostFault({ names, x509 }: Certificate, host: string): string | undefined {
  const { dns = [], ips = [] } = names ?? {}
  const ip = bytesOf(host.replace(/^\[(.*)\]$/, '$1'))
  if (ip !== undefined) {
    if (ips.some((one) => shortened(one).equals(ip))) return undefined
  } else {
    const isName = isHostName(host, false)
    const isMatch = dns.some((pattern) =>
      isName && isHostName(pattern, true)
        ? matches(pattern, host)
        : pattern !== '' && pattern !== '.' && pattern.toLowerCase() === host.toLowerCase(),
    )
    if (isMatch) return undefined
  }
  const commonName = /^CN=(.*)$/m.exec(x509.subject ?? '')?.[1]
  if (names === undefined && commonName !== undefined && matches(commonName, host)) {
    return 'x509: certificate relies on legacy Common Name field, use SANs instead'
  }
  if (ip !== undefined && ips.length === 0) {
    return `x509: cannot validate certificate for ${host} because it doesn't contain any IP SANs`
  }
  const valid = (ip === undefined ? dns : ips.map(shown)).join(', ')
  return valid === ''
    ? `x509: certificate is not valid for any names, but wanted to match ${host}`
    : `x509: certificate is valid for ${valid}, not ${host}`
}
