/** Who may use custom resources: rules name their group and plural like those of any other kind. */
import { describe, expect, it } from 'vitest'
import { define } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

describe('access to custom resources', () => {
  const server = sharedServer()

  it('is granted by group and plural, by sub-resource, and by wildcards', async () => {
    const group = 'access.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      version: { subresources: { status: {} } },
    })
    const ns = await server().namespace()
    const path = pathIn(ns)
    const body = { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' } }
    await server().ok('POST', path, { body })
    const rbac = `/apis/${server().group('rbac.authorization')}/v1/namespaces/${ns}`
    const allow = async (name: string, rule: object) => {
      await server().ok('POST', `${rbac}/roles`, { body: { metadata: { name }, rules: [rule] } })
      const apiGroup = server().group('rbac.authorization')
      await server().ok('POST', `${rbac}/rolebindings`, {
        body: {
          metadata: { name },
          roleRef: { apiGroup, kind: 'Role', name },
          subjects: [{ apiGroup, kind: 'User', name }],
        },
      })
    }
    await allow('reader', { apiGroups: [group], resources: ['things'], verbs: ['get'] })
    await allow('teller', { apiGroups: [group], resources: ['*/status'], verbs: ['patch'] })
    await allow('keeper', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] })
    const ask = async (user: string, method: string, at: string) => {
      const headers = { 'content-type': 'application/merge-patch+json' }
      const more = method === 'PATCH' ? { body: { status: { a: 'b' } }, headers } : {}
      return (await server().request(method, at, { as: { user }, ...more })).status
    }
    expect(await ask('reader', 'GET', `${path}/a`)).toBe(200)
    expect(await ask('reader', 'GET', path)).toBe(403)
    expect(await ask('reader', 'PATCH', `${path}/a/status`)).toBe(403)
    expect(await ask('teller', 'PATCH', `${path}/a/status`)).toBe(200)
    expect(await ask('teller', 'GET', `${path}/a`)).toBe(403)
    expect(await ask('keeper', 'DELETE', `${path}/a`)).toBe(200)
    expect(await ask('nobody', 'GET', path)).toBe(403)
  })
})
