/** Compact JWS beside jose, another implementation: each reads what the other signs, and neither what was changed. */
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { CompactSign, compactVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import {
  parseJws,
  signJws,
  verifiedClaims,
} from '../../../components/api-server/authn/compact-jws.ts'
import type { JwsAlgorithm } from '../../../components/api-server/authn/compact-jws.ts'

const pairs: Readonly<Record<JwsAlgorithm, { publicKey: KeyObject; privateKey: KeyObject }>> = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'secp384r1' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'secp521r1' }),
}
const algorithms = Object.keys(pairs) as JwsAlgorithm[]
const claims = { iss: 'https://issuer', sub: 'jürgen', aud: ['a', 'b'], exp: 1 }

const signed = (algorithm: JwsAlgorithm): string =>
  signJws(claims, { key: pairs[algorithm].privateKey, algorithm, header: { kid: 'k' } })

function read(token: string, algorithm: JwsAlgorithm): Record<string, unknown> | undefined {
  const jws = parseJws(token)
  return jws && verifiedClaims(jws, { key: pairs[algorithm].publicKey, algorithm })
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe.each(algorithms)('a token signed with %s', (algorithm) => {
  it('is read by jose, and jose’s is read here', async () => {
    const { publicKey, privateKey } = pairs[algorithm]
    const { payload, protectedHeader } = await compactVerify(signed(algorithm), publicKey)
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual(claims)
    expect(protectedHeader).toEqual({ alg: algorithm, kid: 'k' })
    const theirs = await new CompactSign(Buffer.from(JSON.stringify(claims)))
      .setProtectedHeader({ alg: algorithm })
      .sign(privateKey)
    expect(read(theirs, algorithm)).toEqual(claims)
  })

  it('holds for its own bytes, key and algorithm alone', () => {
    const token = signed(algorithm)
    const [head = '', payload = '', signature = ''] = token.split('.')
    expect(read(token, algorithm)).toEqual(claims)
    const other = encoded({ ...claims, sub: 'root' })
    for (const changed of [
      `${head}.${other}.${signature}`,
      `${encoded({ alg: algorithm, kid: 'other' })}.${payload}.${signature}`,
      `${encoded({ alg: 'none' })}.${payload}.`,
      `${encoded({ alg: 'none' })}.${payload}.${signature}`,
      `${encoded({ alg: 'HS256' })}.${payload}.${signature}`,
      `${head}.${payload}.${signature.slice(0, -4)}`,
      `${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
    ])
      expect(read(changed, algorithm)).toBeUndefined()
    for (const one of algorithms.filter((name) => name !== algorithm))
      expect(read(token, one)).toBeUndefined()
  })
})

it('what is no compact JWS, or has to be understood, is not read', () => {
  const [, payload = '', signature = ''] = signed('ES256').split('.')
  for (const text of [
    '',
    'a',
    'a.b',
    'a.b.c',
    '..',
    `${signed('ES256')}.more`,
    ` ${signed('ES256')}`,
    `${encoded([])}.${payload}.${signature}`,
    `${encoded({ alg: 'ES256', crit: ['exp'] })}.${payload}.${signature}`,
    `${encoded({ alg: 'ES256', b64: false })}.${payload}.${signature}`,
  ])
    expect(parseJws(text)).toBeUndefined()
})

it('claims have to be an object', () => {
  const key = pairs.ES256.privateKey
  const token = signJws([] as unknown as Record<string, unknown>, {
    key,
    algorithm: 'ES256',
    header: {},
  })
  expect(read(token, 'ES256')).toBeUndefined()
})
