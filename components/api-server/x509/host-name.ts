/** Whether a certificate stands for a host (Go: x509 VerifyHostname): by its subject alternative names alone. */
import { isIP } from 'node:net'
import type { Certificate } from './certificate.ts'

/** The address as 4 or 16 bytes; undefined for what is no address. */
function bytesOf(host: string): Buffer | undefined {
  const family = isIP(host)
  if (family === 0 || host.includes('%')) return undefined
  if (family === 4) return Buffer.from(host.split('.').map(Number))
  const [head = '', tail] = host
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...four) => {
      const [a, b, c, d] = four.slice(0, 4).map(Number) as [number, number, number, number]
      return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    })
    .split('::')
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [front, back] = [groups(head), groups(tail ?? '')]
  const zeros = Array.from({ length: 8 - front.length - back.length }, () => '0')
  const all = tail === undefined ? front : [...front, ...zeros, ...back]
  const bytes = Buffer.alloc(16)
  for (const [i, group] of all.entries()) bytes.writeUInt16BE(parseInt(group, 16), 2 * i)
  return bytes
}

const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

/** An IPv4 address in IPv6 form is the IPv4 address. */
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

/** Why the certificate does not stand for the host, in Go's words; undefined when it does. */
export function hostFault({ names, x509 }: Certificate, host: string): string | undefined {
  const { dns = [], ips = [] } = names ?? {}
  const ip = bytesOf(host.replace(/^\[(.*)\]$/, '$1'))
  if (ip !== undefined) {
    if (ips.some((one) => shortened(one).equals(shortened(ip)))) return undefined
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
