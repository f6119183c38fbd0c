/** Tokens kept in Secrets: the server notes their use, and since when it does. */
import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { legacyToken } from '../../support/legacy-token.ts'
import { describeDialects } from '../../support/shared-server.ts'

describeDialects('legacy tokens', (server) => {
  const today = (): string => new Date().toISOString().slice(0, 10)

  it('the Secret of a token that is used carries the day', async () => {
    const namespace = await server().namespace()
    const token = await legacyToken(server(), namespace)
    const label = `${server().dialect.labelDomain}/legacy-token-last-used`
    const at = `/api/v1/namespaces/${namespace}/secrets/robot-token`
    expect((await server().ok('GET', at)).metadata.labels?.[label]).toBeUndefined()
    await server().ok('GET', '/version', { as: { token } })
    await eventually(async () => {
      expect((await server().ok('GET', at)).metadata.labels).toEqual({ [label]: today() })
    })
    const { resourceVersion } = (await server().ok('GET', at)).metadata
    await server().ok('GET', '/version', { as: { token } })
    const other = await server().namespace()
    const later = await legacyToken(server(), other)
    await server().ok('GET', '/version', { as: { token: later } })
    // Later uses are noted after earlier ones.
    await eventually(async () => {
      const { metadata } = await server().ok(
        'GET',
        `/api/v1/namespaces/${other}/secrets/robot-token`,
      )
      expect(metadata.labels?.[label]).toBe(today())
    })
    expect((await server().ok('GET', at)).metadata.resourceVersion).toBe(resourceVersion)
  })

  it('a ConfigMap says since when, and comes back with a day that can be read', async () => {
    const { systemNamespace } = server().dialect
    const at =
      `/api/v1/namespaces/${systemNamespace}/configmaps/` +
      'kube-apiserver-legacy-service-account-token-tracking'
    const since = async (): Promise<unknown> => {
      const { status, body } = await server().request('GET', at)
      return status === 200 ? body.data : undefined
    }
    const good = { since: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/) as unknown }
    await eventually(async () => expect(await since()).toEqual(good))
    await server().ok('PATCH', at, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { since: 'soon' } },
    })
    await eventually(async () => expect(await since()).toEqual(good))
    await server().ok('DELETE', at)
    await eventually(async () => expect(await since()).toEqual(good))
  })
})
