import { describe, expect, it } from 'vitest'
import { admin, user } from '../../support/api-server.ts'
import { whoIs } from '../../support/certificate-client.ts'
import { allowEverywhere } from '../../support/grants.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { whoami } from '../../support/whoami.ts'

describeDialects('impersonation', (server) => {
  let callers = 0
  /** A user who may impersonate what the rules say. */
  const caller = async (
    ...rules: { resources: string[]; isCore?: false; resourceNames?: string[] }[]
  ) =>
    (await allowEverywhere(
      server(),
      `caller-${(callers += 1)}`,
      rules.map(({ isCore, ...rule }) => ({
        apiGroups: [isCore === false ? server().group('authentication') : ''],
        verbs: ['impersonate'],
        ...rule,
      })),
    )) as { user: string }
  const users = { resources: ['users'] }
  const statusOf = async (
    as: { user: string } | { token: string },
    headers: Readonly<Record<string, string | string[]>>,
  ) => (await whoami(server(), as, headers)).status

  it('[IMP-001][IMP-002] by user, and by any number of groups', async () => {
    const { user: alone } = await whoami(server(), admin, { 'impersonate-user': 'jane' })
    expect(alone).toEqual({ username: 'jane', groups: ['system:authenticated'] })
    const { user: grouped } = await whoami(server(), admin, {
      'impersonate-user': 'jane',
      'impersonate-group': ['devs', 'ops, and more'],
    })
    expect(grouped?.groups).toEqual(['devs', 'ops, and more', 'system:authenticated'])
  })

  it('[IMP-003][IMP-006][IMP-008] groups, extra values and uid need a user', async () => {
    for (const header of ['impersonate-group', 'impersonate-extra-a', 'impersonate-uid']) {
      const { status, body } = await server().request('GET', '/api/v1/pods', {
        headers: { [header]: 'x' },
      })
      expect([header, status]).toEqual([header, 400])
      expect(body.message).toContain('without impersonating a user')
    }
  })

  it('[IMP-004][IMP-005] extra values under lowercased, percent-decoded names', async () => {
    const headers = {
      'Impersonate-User': 'jane',
      'Impersonate-Extra-Scopes': ['a', 'b, c'],
      'Impersonate-Extra-Acme.com%2Fproject': 'p',
      'Impersonate-Extra-100%zz': 'raw',
      'Impersonate-Extra-__proto__': 'x',
    }
    const wanted = {
      scopes: ['a', 'b, c'],
      'acme.com/project': ['p'],
      '100%zz': ['raw'],
      ['__proto__']: ['x'],
    }
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    expect((await whoami(server(), admin, lower)).user?.extra).toEqual(wanted)
    expect((await whoIs(server(), server().credential(admin), headers)).extra).toEqual(wanted)
  })

  it('[IMP-007] any uid', async () => {
    const { user: found } = await whoami(server(), admin, {
      'impersonate-user': 'jane',
      'impersonate-uid': 'a uid, with {signs}',
    })
    expect(found?.uid).toBe('a uid, with {signs}')
  })

  it('[IMP-009] callers prove who they are first', async () => {
    expect(await statusOf({ token: 'nobody-knows-it' }, { 'impersonate-user': 'jane' })).toBe(401)
  })

  it('[IMP-010] callers have to be allowed', async () => {
    const headers = { 'impersonate-user': 'jane' }
    const { status, body } = await server().request('GET', '/version', {
      as: user('nobody'),
      headers,
    })
    expect(status).toBe(403)
    expect(body.message).toBe(
      'users "jane" is forbidden: User "nobody" cannot impersonate resource "users" in API group "" at the cluster scope',
    )
  })

  it('[IMP-011] nothing of the caller is left', async () => {
    const boss = { user: 'boss', groups: ['system:masters', 'chiefs'] }
    const { user: own } = await whoami(server(), boss)
    expect(JSON.stringify(own?.extra)).toContain('X509SHA256')
    const { user: other } = await whoami(server(), boss, { 'impersonate-user': 'jane' })
    expect(other).toEqual({ username: 'jane', groups: ['system:authenticated'] })
    const secrets = await server().request('GET', '/api/v1/secrets', {
      as: boss,
      headers: { 'impersonate-user': 'jane' },
    })
    expect(secrets.status).toBe(403)
  })

  it('[IMP-013][IMP-014] users and groups are permissions of their own', async () => {
    const one = await caller(users)
    expect(await statusOf(one, { 'impersonate-user': 'jane' })).toBe(201)
    const both = { 'impersonate-user': 'jane', 'impersonate-group': 'devs' }
    expect(await statusOf(one, both)).toBe(403)
    expect(await statusOf(await caller(users, { resources: ['groups'] }), both)).toBe(201)
    expect(
      await statusOf(await caller({ resources: ['groups'] }), { 'impersonate-user': 'jane' }),
    ).toBe(403)
  })

  it('[IMP-015] service accounts are a permission of their own, with the groups they have', async () => {
    const account = { 'impersonate-user': 'system:serviceaccount:a:b' }
    const one = await caller({ resources: ['serviceaccounts'] })
    expect((await whoami(server(), one, account)).user).toEqual({
      username: 'system:serviceaccount:a:b',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:a', 'system:authenticated'],
    })
    expect(await statusOf(await caller(users), account)).toBe(403)
  })

  it('a user whose name only looks like an account has none of its groups', async () => {
    const one = await caller(users)
    for (const name of [
      'system:serviceaccount:a:b:c',
      'system:serviceaccount:a',
      'system:serviceaccount:a:',
      'system:serviceaccount::b',
      'system:serviceaccount:A:b',
    ]) {
      const { user: found } = await whoami(server(), one, { 'impersonate-user': name })
      expect(found).toEqual({ username: name, groups: ['system:authenticated'] })
    }
  })

  it('[IMP-016][IMP-017] extra keys and uids are permissions of their own', async () => {
    const scopes = { 'impersonate-user': 'jane', 'impersonate-extra-scopes': 'x' }
    const one = await caller(users, { resources: ['userextras/scopes'], isCore: false })
    expect(await statusOf(one, scopes)).toBe(201)
    expect(await statusOf(one, { ...scopes, 'impersonate-extra-other': 'x' })).toBe(403)
    expect(await statusOf(await caller(users), scopes)).toBe(403)
    const core = await caller(users, { resources: ['userextras/scopes', 'uids'] })
    expect(await statusOf(core, scopes)).toBe(403)
    const uid = { 'impersonate-user': 'jane', 'impersonate-uid': '1' }
    expect(await statusOf(core, uid)).toBe(403)
    const another = await caller(users, { resources: ['uids'], isCore: false })
    expect(await statusOf(another, uid)).toBe(201)
  })

  it('[IMP-018] permissions may be for certain users, groups, values and uids', async () => {
    const one = await caller(
      { ...users, resourceNames: ['jane'] },
      { resources: ['groups'], resourceNames: ['devs'] },
      { resources: ['userextras/scopes'], isCore: false, resourceNames: ['view'] },
      { resources: ['uids'], isCore: false, resourceNames: ['1'] },
    )
    const jane = { 'impersonate-user': 'jane' }
    for (const [name, good, bad] of [
      ['impersonate-user', 'jane', 'bob'],
      ['impersonate-group', 'devs', 'system:masters'],
      ['impersonate-extra-scopes', 'view', 'edit'],
      ['impersonate-uid', '1', '2'],
    ] as const) {
      expect([name, await statusOf(one, { ...jane, [name]: good })]).toEqual([name, 201])
      expect([name, await statusOf(one, { ...jane, [name]: bad })]).toEqual([name, 403])
    }
    const several = { ...jane, 'impersonate-group': ['devs', 'system:masters'] }
    expect(await statusOf(one, several)).toBe(403)
  })

  it('of repeated user headers the first one is checked and counts', async () => {
    const one = await caller({ ...users, resourceNames: ['jane'] })
    const shown = server().credential(one)
    const found = await whoIs(server(), shown, { 'iMPERSONATE-uSER': ['jane', 'admin'] })
    expect(found.username).toBe('jane')
    expect((await whoIs(server(), shown, { 'Impersonate-User': ['admin', 'jane'] })).status).toBe(
      403,
    )
    // One value with a comma is one name.
    expect((await whoIs(server(), shown, { 'Impersonate-User': 'jane, admin' })).status).toBe(403)
  })

  it('names beyond ASCII are what they say, and different from those without accents', async () => {
    for (const name of ['jäne', '日本', 'a%20b']) {
      const found = await whoIs(server(), server().credential(admin), { 'Impersonate-User': name })
      expect(found.username).toBe(name)
    }
    const one = await caller({ ...users, resourceNames: ['jane'] })
    const shown = server().credential(one)
    expect((await whoIs(server(), shown, { 'Impersonate-User': 'jäne' })).status).toBe(403)
  })
})

describe('impersonation of the anonymous user', () => {
  describeDialects('keeps it out of the authenticated', (server) => {
    it('and asks for permission as for any user', async () => {
      const headers = { 'impersonate-user': 'system:anonymous' }
      expect((await whoami(server(), admin, headers)).status).toBe(403)
      const version = await server().request('GET', '/version', { headers })
      expect(version.status).toBe(200)
    })
  })
})
