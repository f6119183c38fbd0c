import { beforeEach, describe, expect, test } from 'vitest'
import { bootstrapTokenAuthenticator } from '../../../components/api-server/authn/bootstrap-token.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { parseBootstrapToken } from '../../../components/node-agent/join/discovery.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { FakeReader } from '../../support/fake-reader.ts'

describe.each([dialects.kubernetes, dialects.svc])('in the $name dialect', (dialect) => {
  const token = 'abcdef.0123456789abcdef'
  let reader: FakeReader

  interface Change {
    name?: string
    namespace?: string
    type?: string
    deletionTimestamp?: string
    data?: Record<string, string | undefined>
  }

  function putToken(change: Change = {}): void {
    const data = {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
      ...change.data,
    }
    const present = Object.entries(data).filter(([, value]) => value !== undefined)
    reader.put(resourcesOf(dialect).secrets, {
      metadata: {
        name: change.name ?? 'bootstrap-token-abcdef',
        namespace: change.namespace ?? dialect.systemNamespace,
        ...(change.deletionTimestamp === undefined
          ? {}
          : { deletionTimestamp: change.deletionTimestamp }),
      },
      type: change.type ?? `bootstrap.${dialect.labelDomain}/token`,
      data: Object.fromEntries(
        present.map(([key, value]) => [key, Buffer.from(value as string).toString('base64')]),
      ),
    })
  }

  const ask = (presented = token) =>
    bootstrapTokenAuthenticator({
      reader,
      clock: new FakeClock('2025-06-01T00:00:00Z'),
      dialect,
    }).authenticateToken(presented, [])

  function outcome(change: Change): unknown {
    reader = new FakeReader()
    putToken(change)
    const result = ask() as { kind: string; user?: unknown }
    return result.kind === 'user' ? result.user : result.kind
  }

  const plainUser = { name: 'system:bootstrap:abcdef', groups: ['system:bootstrappers'] }

  beforeEach(() => {
    reader = new FakeReader()
  })

  test("[BOOT-014] a bootstrap token's user is system:bootstrap:<id>", () => {
    expect(outcome({})).toMatchObject({ name: 'system:bootstrap:abcdef' })
  })

  test('[BOOT-001] a token is a Secret in the system namespace; elsewhere it is ignored', () => {
    expect(outcome({})).toEqual(plainUser)
    expect(outcome({ namespace: 'default' })).toBe('failed')
  })

  test('[BOOT-002] a Secret of another type is no token', () => {
    expect(outcome({ type: 'Opaque' })).toBe('failed')
  })

  test('[BOOT-003] the Secret must be named after the token id', () => {
    expect(outcome({ name: 'bootstrap-token-zzzzzz' })).toBe('failed')
    expect(outcome({ data: { 'token-id': 'zzzzzz' } })).toBe('failed')
  })

  test('[BOOT-004] a description makes no difference', () => {
    expect(outcome({ data: { description: 'for the lab' } })).toEqual(plainUser)
  })

  test('[BOOT-005] token-id is required and must be the id presented', () => {
    for (const id of [undefined, '', 'abcde', 'abcdefg']) {
      expect(outcome({ data: { 'token-id': id } })).toBe('failed')
    }
  })

  test('[BOOT-006] token-secret is required and must be the secret presented', () => {
    for (const secret of [undefined, '', '0123456789abcde', '0123456789abcdef0', 'x'.repeat(16)]) {
      expect(outcome({ data: { 'token-secret': secret } })).toBe('failed')
    }
  })

  test('[BOOT-007] expiration is optional; malformed counts as expired', () => {
    expect(outcome({ data: { expiration: '2025-06-01T00:00:01Z' } })).toEqual(plainUser)
    for (const expiration of [
      '2025-06-01T01:00:01+01:00',
      '2025-05-31T14:00:01-10:00',
      '2025-06-01T00:00:00.25Z',
      '2025-06-01t00:00:01z',
    ]) {
      expect([expiration, outcome({ data: { expiration } })]).toEqual([expiration, plainUser])
    }
    for (const expiration of [
      'tomorrow',
      '2026-06-01',
      '2026',
      '2026-13-01T00:00:00Z',
      '2026-06-01T00:00:00',
      '2026-06-01 00:00:00Z',
      '2026-06-01T00:00:00+0100',
      '2026-06-01T00:00Z',
      '2026-06-01T00:00:00Z (noon)',
      '12026-06-01T00:00:00Z',
      '+012026-06-01T00:00:00Z',
    ]) {
      expect([expiration, outcome({ data: { expiration } })]).toEqual([expiration, 'failed'])
    }
  })

  test('[BOOT-016] a token whose expiration has passed is rejected', () => {
    expect(outcome({ data: { expiration: '2025-05-31T23:59:59Z' } })).toBe('failed')
    expect(outcome({ data: { expiration: '2025-06-01T00:00:00Z' } })).toBe('failed')
  })

  test('[BOOT-008] only usage-bootstrap-authentication=true lets a token authenticate', () => {
    for (const usage of [undefined, '', 'false', 'True', '1']) {
      expect(outcome({ data: { 'usage-bootstrap-authentication': usage } })).toBe('failed')
    }
  })

  test('[BOOT-010] [BOOT-015] the groups are system:bootstrappers and the extra ones', () => {
    const groups = 'system:bootstrappers:b,system:bootstrappers:a:x'
    expect(outcome({ data: { 'auth-extra-groups': groups } })).toEqual({
      name: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:bootstrappers:a:x', 'system:bootstrappers:b'],
    })
    const twice = 'system:bootstrappers:a,system:bootstrappers:a'
    expect(outcome({ data: { 'auth-extra-groups': twice } })).toMatchObject({
      groups: ['system:bootstrappers', 'system:bootstrappers:a'],
    })
    expect(outcome({ data: { 'auth-extra-groups': '' } })).toEqual(plainUser)
    const longest = `system:bootstrappers:${'a'.repeat(256)}`
    expect(outcome({ data: { 'auth-extra-groups': longest } })).toMatchObject({
      groups: ['system:bootstrappers', longest],
    })
  })

  test('[BOOT-011] an extra group outside system:bootstrappers: rejects the token', () => {
    for (const group of [
      'system:masters',
      'system:bootstrappers',
      'system:bootstrappers:',
      'system:bootstrappers:a:',
      'system:bootstrappers:a-',
      'system:bootstrappers:A',
      'system:bootstrappers:a b',
      'xsystem:bootstrappers:a',
      'system:bootstrappers:a\nsystem:masters',
      `system:bootstrappers:${'a'.repeat(257)}`,
      '',
      'a,b',
    ]) {
      const groups = `system:bootstrappers:ok,${group}`
      expect([group, outcome({ data: { 'auth-extra-groups': groups } })]).toEqual([group, 'failed'])
    }
  })

  test('[BOOT-013] only <6>.<16> of lower-case letters and digits is a token', () => {
    putToken()
    for (const text of [
      'ABCDEF.0123456789abcdef',
      'abcde.0123456789abcdef',
      'abcdef.0123456789abcde',
      'abcdef0123456789abcdef',
      'abcdef:0123456789abcdef',
      ' abcdef.0123456789abcdef',
      'abcdef.0123456789abcdef\n',
    ]) {
      expect(ask(text)).toMatchObject({ kind: 'none' })
    }
    expect(ask()).toMatchObject({ kind: 'user' })
  })

  test('[LIM-012] an id has 6 characters and a secret 16: other lengths are no token, whatever the Secret says', () => {
    for (const id of ['abcde', 'abcdef', 'abcdefg']) {
      for (const secret of ['0123456789abcde', '0123456789abcdef', '0123456789abcdef0']) {
        reader = new FakeReader()
        const data = { 'token-id': id, 'token-secret': secret }
        putToken({ name: `bootstrap-token-${id}`, data })
        const isToken = id.length === 6 && secret.length === 16
        const kind = isToken ? 'user' : 'none'
        expect(ask(`${id}.${secret}`), `${id}.${secret}`).toMatchObject({ kind })
        expect(parseBootstrapToken(`${id}.${secret}`) !== undefined).toBe(isToken)
      }
    }
  })

  test('a token whose Secret is being deleted is rejected', () => {
    expect(outcome({ deletionTimestamp: '2025-05-31T00:00:00Z' })).toBe('failed')
  })

  test('no reason ever shows the secret', () => {
    reader = new FakeReader()
    putToken({ data: { 'usage-bootstrap-authentication': 'no' } })
    expect(JSON.stringify(ask())).not.toContain('0123456789abcdef')
  })
})
