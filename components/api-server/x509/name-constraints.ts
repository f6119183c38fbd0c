/** Name constraints: whether an authority may issue for the names in a certificate (RFC 5280, 4.2.1.10; Go: checkChainConstraints). */
import type { Certificate } from './certificate.ts'
import type { NameSet, SubjectNames } from './subject-names.ts'

/** ASCII without spaces, in labels that are not empty; it does not end with a dot. */
function isDomain(name: string): boolean {
  return name === '' || /^[!-\-/-~]+(\.[!-\-/-~]+)*$/.test(name)
}

/** A constraint covers the domain and its subdomains; with a leading dot only the subdomains. */
function isWithin(name: string, constraint: string): boolean {
  const [host, suffix] = [name.toLowerCase(), constraint.toLowerCase()]
  if (suffix === '') return true
  if (suffix.startsWith('.')) return host.endsWith(suffix)
  return host === suffix || host.endsWith(`.${suffix}`)
}

/** A wildcard covers every name in its place, including an excluded one. */
function coversByWildcard(name: string, constraint: string): boolean {
  const dot = constraint.indexOf('.')
  return (
    name.startsWith('*.') &&
    dot > 0 &&
    name.slice(1).toLowerCase() === constraint.slice(dot).toLowerCase()
  )
}

function isInRange(ip: Buffer, range: Buffer): boolean {
  if (range.length !== 2 * ip.length) return false
  return ip.every((byte, i) => {
    const mask = range[ip.length + i] ?? 0
    return (byte & mask) === ((range[i] ?? 0) & mask)
  })
}

/** Undefined for a mailbox that is not `local@domain`, and for quoted ones. */
function domainOf(mailbox: string): string | undefined {
  return /^[^"\\\s@]+@([^@\s]+)$/.exec(mailbox)?.[1]
}

function isMailbox(mailbox: string, constraint: string): boolean {
  const domain = domainOf(mailbox) ?? ''
  if (!constraint.includes('@')) return isWithin(domain, constraint)
  const local = (text: string): string => text.slice(0, text.lastIndexOf('@'))
  const isSameDomain = domain.toLowerCase() === domainOf(constraint)?.toLowerCase()
  return isSameDomain && local(mailbox) === local(constraint)
}

/** Undefined for a URI without a host, or whose host is an address. */
function hostOf(uri: string): string | undefined {
  const host = /^[^:/?#]+:\/\/(?:[^/?#]*@)?([^/?#:[\]]+)(?::\d*)?(?:[/?#]|$)/.exec(uri)?.[1]
  return host === undefined || /^[\d.]+$/.test(host) ? undefined : host.toLowerCase()
}

type Kind = keyof NameSet

/** Whether every name of the kind is permitted and none is excluded. */
function isAllowed<T>(
  kind: Kind,
  names: readonly T[],
  by: { permitted: NameSet | undefined; excluded: NameSet | undefined },
  covers: (name: T, constraint: never, isExcluding: boolean) => boolean,
): boolean {
  const permitted = by.permitted?.[kind] ?? []
  const excluded = by.excluded?.[kind] ?? []
  return names.every(
    (name) =>
      (permitted.length === 0 || permitted.some((one) => covers(name, one as never, false))) &&
      !excluded.some((one) => covers(name, one as never, true)),
  )
}

function areAllowed(names: SubjectNames, authority: Certificate): boolean {
  const { constraints } = authority
  if (constraints === undefined) return true
  const hosts = names.uris.map(hostOf)
  const isReadable =
    names.dns.every(isDomain) &&
    hosts.every((host) => host !== undefined && isDomain(host)) &&
    names.emails.every((mailbox) => domainOf(mailbox) !== undefined)
  return (
    isReadable &&
    isAllowed('ips', names.ips, constraints, isInRange) &&
    isAllowed(
      'dns',
      names.dns,
      constraints,
      (name, one: string, isExcluding) =>
        isWithin(name, one) || (isExcluding && coversByWildcard(name, one)),
    ) &&
    isAllowed('uris', hosts, constraints, (host, one: string) => isWithin(host ?? '', one)) &&
    isAllowed('emails', names.emails, constraints, isMailbox)
  )
}

/** Whether the authorities of a chain, which begins with its leaf, may issue for the names below them. */
export function respectsConstraints(chain: readonly Certificate[]): boolean {
  return chain.every(
    ({ names }, at) =>
      names === undefined || chain.slice(at + 1).every((authority) => areAllowed(names, authority)),
  )
}
