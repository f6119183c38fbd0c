/** Warnings about Services: addresses that later releases reject, fields without effect (upstream: pkg/api/service/warnings.go). */
import { labelKey, type Dialect } from '../../../api/dialect.ts'
import type { Service } from '../../../api/generated/types.ts'
import { formatIpAddress, parseIpAddress } from '../../../machinery/validation/ip-address.ts'
import { goQuote } from '../../../machinery/values/go-syntax.ts'
import { isHeadless } from './service-fields.ts'

export function serviceWarnings(
  { metadata, spec = {} }: Service,
  dialect: Dialect,
): readonly string[] {
  const warnings: string[] = []
  const hints = labelKey(dialect, 'service', 'topology-aware-hints')
  if (metadata.annotations?.[hints] !== undefined) {
    const mode = labelKey(dialect, 'service', 'topology-mode')
    warnings.push(`annotation ${hints} is deprecated, please use ${mode} instead`)
  }
  const { type, clusterIPs = [], externalIPs = [], loadBalancerIP, externalName } = spec
  const headless = isHeadless(spec)
  if (!headless) warnings.push(...oddTexts('spec.clusterIPs', clusterIPs, oddAddress))
  const ignored = (field: string): void => {
    warnings.push(`spec.${field} is ignored for headless services`)
  }
  if (headless && loadBalancerIP) ignored('loadBalancerIP')
  if (headless && externalIPs.length > 0) ignored('externalIPs')
  if (headless && spec.sessionAffinity !== 'None') ignored('SessionAffinity')
  warnings.push(...oddTexts('spec.externalIPs', externalIPs, oddAddress))
  if (loadBalancerIP) warnings.push(...oddAddress('spec.loadBalancerIP', loadBalancerIP))
  const ranges = spec.loadBalancerSourceRanges ?? []
  warnings.push(...oddTexts('spec.loadBalancerSourceRanges', ranges, oddRange))
  const name = goQuote('ExternalName')
  if (type === 'ExternalName' && externalIPs.length > 0) {
    warnings.push(`spec.externalIPs is ignored when spec.type is ${name}`)
  }
  if (type !== 'ExternalName' && externalName) {
    warnings.push(`spec.externalName is ignored when spec.type is not ${name}`)
  }
  return warnings
}

function oddTexts(
  field: string,
  texts: readonly string[],
  warn: (at: string, text: string) => readonly string[],
): string[] {
  return texts.flatMap((text, i) => warn(`${field}[${i}]`, text))
}

/** Why the newer parser rejects the address: readers disagree about IPv4 numbers with leading zeros. */
function addressFault(address: string): string | undefined {
  if (address.includes(':') || !/(^|\.)0[0-9]/.test(address)) return undefined
  return `ParseAddr(${goQuote(address)}): IPv4 field has octet with leading zero`
}

/** The usual text of an IPv6 address that is written otherwise. */
function canonical(address: string): string | undefined {
  const parsed = parseIpAddress(address)
  if (parsed?.family !== 'IPv6') return undefined
  const text = formatIpAddress(parsed)
  return text === address ? undefined : text
}

const later = 'was accepted, but will be invalid in a future Kubernetes release'
const loops = 'which may cause controller apply-loops'

function oddAddress(at: string, address: string): readonly string[] {
  const fault = addressFault(address)
  if (fault !== undefined) return [`${at}: IP address ${later}: ${fault}`]
  const text = canonical(address)
  if (text === undefined) return []
  const format = `is not in RFC 5952 canonical format (${goQuote(text)})`
  return [`${at}: IPv6 address ${goQuote(address)} ${format}, ${loops}`]
}

function oddRange(at: string, range: string): readonly string[] {
  const [address = '', length = ''] = range.split('/')
  const fault = addressFault(address)
  if (fault !== undefined) {
    return [`${at}: IP prefix ${later}: netip.ParsePrefix(${goQuote(range)}): ${fault}`]
  }
  const text = canonical(address)
  if (text === undefined) return []
  const format = `is not in RFC 5952 canonical format (${goQuote(`${text}/${length}`)})`
  return [`${at}: IPv6 prefix ${goQuote(range)} ${format}, ${loops}`]
}
