/**
 * Chains of certificates, odd ones above all: what is found is what Go's x509 Certificate.Verify (1.26) says of each. `fault` in
 * test/cases/x509/chains.json is its error, which begins with ours; '' is a chain that it accepts on 2026-01-01.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readCertificate } from '../../../components/api-server/x509/certificate.ts'
import { hostFault } from '../../../components/api-server/x509/host-name.ts'
import {
  clientAuth,
  serverAuth,
  verifyChain,
} from '../../../components/api-server/x509/verify-chain.ts'

interface Case {
  readonly name: string
  /** '' asks for no host. */
  readonly host: string
  readonly use: 'server' | 'client'
  /** DER in base64, as all certificates here. */
  readonly leaf: string
  readonly intermediates: readonly string[]
  readonly roots: readonly string[]
  readonly fault: string
}

const path = new URL('../../cases/x509/chains.json', import.meta.url)
const cases = JSON.parse(readFileSync(path, 'utf8')) as readonly Case[]
const read = (base64: string) => readCertificate(Buffer.from(base64, 'base64'))

function faultOf({ host, use, leaf, intermediates, roots }: Case): string {
  const certificate = read(leaf)
  const chain = {
    roots: roots.map(read),
    intermediates: intermediates.map(read),
    use: use === 'client' ? clientAuth : serverAuth,
    nowMs: Date.UTC(2026, 0),
  }
  const answer = verifyChain(certificate, chain)
  const byHost = host === '' ? undefined : hostFault(certificate, host)
  return byHost ?? (answer.ok ? '' : answer.why)
}

describe('a chain is accepted or refused as Go does it', () => {
  test('there are cases', () => expect(cases.length).toBeGreaterThan(140))

  test.each(cases.map((one) => [one.name, one] as const))('%s', (_, one) => {
    if (one.fault.startsWith('malformed: ')) {
      expect(() => faultOf(one)).toThrow(/^x509: /)
      return
    }
    const fault = faultOf(one)
    if (one.fault === '') expect(fault).toBe('')
    else {
      expect(fault).not.toBe('')
      // Policies are not evaluated; an authority that requires them is refused for that.
      if (one.name.includes('requires policies')) return
      expect(one.fault.slice(0, fault.length)).toBe(fault)
    }
  })
})
