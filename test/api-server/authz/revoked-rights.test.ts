/** A certificate holds until it expires; what its user and groups may do ends with their bindings, on open connections too. */
import { expect, it } from 'vitest'
import { user } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

describeDialects('a certificate whose account was revoked', (server) => {
  it('is still somebody’s, and may nothing from the next request on', async () => {
    const ns = await server().namespace()
    const group = server().group('rbac.authorization')
    const at = `/apis/${group}/v1/namespaces/${ns}`
    await server().ok('POST', `${at}/roles`, {
      body: {
        metadata: { name: 'readers' },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }],
      },
    })
    const bind = async (name: string, subject: object) => {
      await server().ok('POST', `${at}/rolebindings`, {
        body: {
          metadata: { name },
          roleRef: { apiGroup: group, kind: 'Role', name: 'readers' },
          subjects: [{ apiGroup: group, ...subject }],
        },
      })
    }
    await bind('by-name', { kind: 'User', name: 'revoked' })
    await bind('by-group', { kind: 'Group', name: 'revoked-crew' })
    const as = user('revoked', 'revoked-crew')
    const path = `/api/v1/namespaces/${ns}/configmaps`
    const status = async () => (await server().request('GET', path, { as })).status
    expect(await status()).toBe(200)
    await server().ok('DELETE', `${at}/rolebindings/by-name`)
    expect(await status()).toBe(200)
    await server().ok('DELETE', `${at}/rolebindings/by-group`)
    expect(await status()).toBe(403)
    const review = `/apis/${server().group('authentication')}/v1/selfsubjectreviews`
    const who = await server().request('POST', review, { as, body: {} })
    expect([who.status, who.body.status.userInfo.username]).toEqual([201, 'revoked'])
  })
})
