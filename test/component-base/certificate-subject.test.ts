/** Whom a certificate names, read in processes that have made no TLS connection yet. */
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { createAuthority, sign } from '../../certs/authority.ts'
import { generateKeyPair } from '../../certs/keys.ts'
import { clientProfile } from '../../certs/profiles.ts'
import { subjectOf } from '../../components/component-base/certificate-subject.ts'

const nowMs = Date.parse('2025-01-01T00:00:00Z')
const authority = createAuthority({ commonName: 'ca', nowMs })

function certificateOf(commonName: string, organizations: string[]): string {
  const profile = clientProfile({ commonName, organizations })
  return sign(authority, { profile, publicKey: generateKeyPair().publicKey, nowMs })
}

const subject = (commonName: string, organizations: string[]) =>
  subjectOf(new X509Certificate(certificateOf(commonName, organizations)))

test('values are whole, also with newlines and commas in them', () => {
  expect(subject('jane\nO=admins, CN=root', ['a', 'b\nCN=c'])).toEqual({
    commonName: 'jane\nO=admins, CN=root',
    organizations: ['a', 'b\nCN=c'],
  })
})

test('a certificate without organizations, or without a name, has none', () => {
  expect(subject('jane', [])).toEqual({ commonName: 'jane', organizations: [] })
  expect(subject('', ['a']).commonName).toBeUndefined()
})

test('a process that reads a subject before its first TLS connection can still make one', () => {
  const script = `
    import { X509Certificate } from 'node:crypto'
    import { subjectOf } from ${JSON.stringify(new URL('../../components/component-base/certificate-subject.ts', import.meta.url).href)}
    const { commonName } = subjectOf(new X509Certificate(process.env.PEM))
    const tls = await import('node:tls')
    tls.createServer({}).close()
    console.log(commonName)`
  const env = { ...process.env, NODE_OPTIONS: '', PEM: certificateOf('jane', []) }
  const out = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { env })
  expect(out.toString()).toBe('jane\n')
})
