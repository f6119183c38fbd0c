import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { createAuthority, sign } from '../../certs/authority.ts'
import { generateKeyPair } from '../../certs/keys.ts'
import { clientProfile, type Profile } from '../../certs/profiles.ts'
import { certificateUser } from '../../components/client/delegated-auth.ts'

const nowMs = Date.parse('2025-01-01T00:00:00Z')
const ca = createAuthority({ commonName: 'ca', nowMs })
const { publicKey } = generateKeyPair()

function userOf(changes: Partial<Profile>, from = ca) {
  const subject = { commonName: 'jane', organizations: ['devs'] }
  const profile = { ...clientProfile(subject), ...changes }
  const { raw: der } = new X509Certificate(sign(from, { profile, publicKey, nowMs }))
  return certificateUser(
    { der, intermediates: [] },
    [new X509Certificate(ca.certificatePem)],
    nowMs,
  )
}

test('a component takes its callers from client certificates as the API server does', () => {
  const jane = { username: 'jane', groups: ['devs', 'system:authenticated'] }
  expect(userOf({})).toEqual(jane)
  expect(userOf({ usages: ['any'] })).toEqual(jane)
  expect(userOf({ usages: ['digital signature'] })).toEqual(jane)
  expect(userOf({ usages: ['server auth'] })).toBeUndefined()
  expect(userOf({ subject: { commonName: '', organizations: ['devs'] } })).toBeUndefined()
  const stranger = createAuthority({ commonName: 'ca', nowMs })
  expect(userOf({}, stranger)).toBeUndefined()
})
