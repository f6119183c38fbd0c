/** From claims to a user, without an issuer: what names him, what refuses him. */
import { describe, expect, test } from 'vitest'
import {
  userOfClaims,
  type Claims,
} from '../../../components/api-server/authn/oidc/claim-mapping.ts'
import { compileCel, type CelProgram } from '../../../components/cel/cel.ts'
import { dyn } from '../../../components/cel/cel-types.ts'
import type { JwtAuthenticatorConfig } from '../../../components/api-server/authn/configuration/authentication-configuration.ts'

const over = (variable: string, expression: string): CelProgram =>
  compileCel(expression, { variables: { [variable]: dyn } })
const ofClaims = (expression: string) => ({ program: over('claims', expression) })

const base: JwtAuthenticatorConfig = {
  issuerUrl: 'https://issuer',
  discoveryUrl: undefined,
  certificateAuthority: undefined,
  audiences: ['client'],
  claimRules: [],
  username: { claim: 'sub', prefix: '' },
  groups: undefined,
  uid: undefined,
  extra: [],
  userRules: [],
}

/** The user, or why there is none. */
function outcome(config: Partial<JwtAuthenticatorConfig>, claims: Claims): unknown {
  try {
    return userOfClaims({ ...base, ...config }, { sub: 'jane', ...claims })
  } catch (error) {
    return (error as Error).message
  }
}

describe('the name', () => {
  const named = (username: JwtAuthenticatorConfig['username'], claims: Claims = {}) =>
    outcome({ username }, claims)

  test('is a claim behind its prefix', () => {
    expect(named({ claim: 'sub', prefix: '' })).toEqual({ name: 'jane', groups: [] })
    expect(named({ claim: 'sub', prefix: 'p:' })).toEqual({ name: 'p:jane', groups: [] })
  })

  test('is a text, there and not empty, whatever the prefix', () => {
    const of = (sub: unknown) => named({ claim: 'sub', prefix: 'p:' }, { sub })
    expect(of(undefined)).toBe('oidc: parse username claims "sub": claim not present')
    expect(of(7)).toBe('oidc: parse username claims "sub": claim is no string')
    expect(of('')).toBe('oidc: the username is empty')
  })

  test('may be what an expression makes of the claims', () => {
    expect(named(ofClaims('claims.sub + ":u"'))).toEqual({ name: 'jane:u', groups: [] })
    expect(named(ofClaims('""'))).toBe('oidc: the username is empty')
    expect(named(ofClaims('7'))).toBe('oidc: username claim expression is no string')
    expect(named(ofClaims('claims.none'))).toContain(
      'oidc: error evaluating username claim expression: ',
    )
  })

  test('may be an address, unless its issuer says that it is not verified', () => {
    const email = { claim: 'email', prefix: '' }
    const of = (more: Claims) => named(email, { email: 'a@b', ...more })
    expect(of({})).toMatchObject({ name: 'a@b' })
    expect(of({ email_verified: true })).toMatchObject({ name: 'a@b' })
    expect(of({ email_verified: false })).toBe('oidc: email not verified')
    for (const odd of ['true', 1, null]) {
      expect(of({ email_verified: odd })).toBe(
        "oidc: parse 'email_verified' claim: it is no boolean",
      )
    }
    expect(outcome({}, { email_verified: false })).toMatchObject({ name: 'jane' })
  })
})

describe('groups, uid and extra', () => {
  test('groups are a text or a list of texts, each behind its prefix', () => {
    const of = (groups: unknown) =>
      outcome({ groups: { claim: 'groups', prefix: 'g:' } }, { groups })
    expect(of('a')).toMatchObject({ groups: ['g:a'] })
    expect(of(['a', 'b'])).toMatchObject({ groups: ['g:a', 'g:b'] })
    expect(of(undefined)).toMatchObject({ groups: [] })
    expect(of(null)).toMatchObject({ groups: [] })
    for (const odd of [7, {}, ['a', 7], true]) {
      expect(of(odd)).toBe('oidc: groups claim "groups" is neither a string nor a list of strings')
    }
  })

  test('groups of an expression leave out what is empty', () => {
    const of = (expression: string) => outcome({ groups: ofClaims(expression) }, { a: ['x', ''] })
    expect(of('claims.a')).toMatchObject({ groups: ['x'] })
    expect(of('""')).toMatchObject({ groups: [] })
    expect(of('"y"')).toMatchObject({ groups: ['y'] })
    expect(of('7')).toBe('oidc: group claim expression is neither a string nor a list of strings')
  })

  test('a uid is a text, of a claim or an expression', () => {
    const claimed = (id: unknown) => outcome({ uid: { claim: 'id', prefix: '' } }, { id })
    expect(claimed('7')).toEqual({ name: 'jane', groups: [], uid: '7' })
    expect(claimed('')).toEqual({ name: 'jane', groups: [] })
    expect(claimed(7)).toBe('oidc: parse uid claims "id": claim is no string')
    expect(claimed(undefined)).toBe('oidc: parse uid claims "id": claim not present')
    expect(outcome({ uid: ofClaims('"u-" + claims.sub') }, {})).toMatchObject({ uid: 'u-jane' })
    expect(outcome({ uid: ofClaims('7') }, {})).toBe('oidc: uid claim expression is no string')
  })

  test('extra has the values that are not empty', () => {
    const extra = [
      { key: 'a', program: over('claims', '"x"') },
      { key: 'b', program: over('claims', '["y", "", "z"]') },
      { key: 'c', program: over('claims', '""') },
      { key: 'd', program: over('claims', 'null') },
    ]
    expect(outcome({ extra }, {})).toEqual({
      name: 'jane',
      groups: [],
      extra: { a: ['x'], b: ['y', 'z'] },
    })
    expect(outcome({ extra: extra.slice(2) }, {})).toEqual({ name: 'jane', groups: [] })
    expect(outcome({ extra: [{ key: 'a', program: over('claims', '7') }] }, {})).toBe(
      'oidc: extra claim expression "a" is neither a string nor a list of strings',
    )
  })
})

describe('rules', () => {
  test('a claim has the value that is required of it', () => {
    const of = (hd: unknown) =>
      outcome({ claimRules: [{ claim: 'hd', requiredValue: 'x' }] }, { hd })
    expect(of('x')).toMatchObject({ name: 'jane' })
    expect(of('y')).toBe('oidc: required claim "hd" value does not match')
    expect(of(undefined)).toBe('oidc: parse required claims "hd": claim not present')
    expect(of(['x'])).toBe('oidc: parse required claims "hd": claim is no string')
  })

  test('all expressions over the claims are true', () => {
    const rule = (expression: string, message = '') => ({ ...ofClaims(expression), message })
    const of = (...claimRules: ReturnType<typeof rule>[]) => outcome({ claimRules }, { a: 1 })
    expect(of(rule('claims.a == 1'), rule('true'))).toMatchObject({ name: 'jane' })
    expect(of(rule('claims.a == 1'), rule('claims.a == 2'))).toBe(
      "oidc: validation expression 'claims.a == 2' failed",
    )
    expect(of(rule('false', 'why not'))).toBe("oidc: validation expression 'false' failed: why not")
    expect(of(rule('"true"'))).toContain('failed')
    expect(of(rule('claims.none'))).toContain('error evaluating claim validation expression')
  })

  test('all expressions over the user are true', () => {
    const rule = (expression: string, message = '') => ({
      program: over('user', expression),
      message,
    })
    const of = (...userRules: ReturnType<typeof rule>[]) =>
      outcome(
        {
          userRules,
          groups: { claim: 'groups', prefix: 'g:' },
          uid: { claim: 'id', prefix: '' },
          extra: [{ key: 'k', program: over('claims', '"v"') }],
        },
        { groups: 'a', id: '7' },
      )
    const whole =
      'user.username == "jane" && user.uid == "7" && user.groups == ["g:a"] && user.extra.k == ["v"]'
    expect(of(rule(whole))).toMatchObject({ name: 'jane' })
    expect(of(rule('true'), rule('user.username == "bob"'))).toBe(
      `oidc: error evaluating user info validation rule: validation expression 'user.username == "bob"' failed`,
    )
    expect(of(rule('false', 'reserved'))).toContain(
      "validation expression 'false' failed: reserved",
    )
  })
})
