/** Identities: whom the API server sees in a client with their credentials. */
import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createIdentities, userNameOf } from '../../library/identities.ts'
import { createObjectClient } from '../../library/object-client.ts'
import type { Identity } from '../../library/types.ts'
import { sharedServer } from '../support/shared-server.ts'
import { authorityOf, optionsOf } from './place.ts'

describe('identities', () => {
  const server = sharedServer()

  async function seenAs(identity: Identity): Promise<{ username: string; groups: string[] }> {
    using api = createObjectClient(optionsOf(server(), identity))
    const review = await api.create({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
      metadata: {},
    })
    return (review as unknown as { status: { userInfo: { username: string; groups: string[] } } })
      .status.userInfo
  }

  it('the administrator is in system:masters', async () => {
    const { username, groups } = await seenAs('admin')
    expect(username).toBe('kubernetes-admin')
    expect(groups).toContain('system:masters')
  })

  it('a user has the groups given', async () => {
    const { username, groups } = await seenAs({ user: 'jane', groups: ['dev', 'ops'] })
    expect(username).toBe('jane')
    expect(groups).toEqual(['dev', 'ops', 'system:authenticated'])
  })

  it('a token is sent as it is', async () => {
    const namespace = await server().namespace()
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`
    const { status } = await server().ok('POST', path, { body: { spec: {} } })
    const { username } = await seenAs({ token: status.token })
    expect(username).toBe(`system:serviceaccount:${namespace}:default`)
  })

  it('the anonymous user shows nothing', async () => {
    using api = createObjectClient(optionsOf(server(), 'anonymous'))
    await expect(api.list({ kind: 'Secret' })).rejects.toMatchObject({
      name: 'StatusError',
      reason: 'Forbidden',
      message: expect.stringContaining('system:anonymous'),
    })
  })

  it('certificates last as long as the authority, from its start on', () => {
    const authority = authorityOf(server())
    const credentials = createIdentities(authority).credentialsOf({ user: 'jane' })
    const { cert } = credentials as { cert: string }
    const [issued, root] = [cert, authority.certificatePem].map((pem) => new X509Certificate(pem))
    expect([issued?.validFrom, issued?.validTo]).toEqual([root?.validFrom, root?.validTo])
  })

  it('kubeconfigs name users by name', () => {
    expect(
      ['admin', 'anonymous', { user: 'jane' }, { token: 'x' }].map((one) =>
        userNameOf(one as Identity),
      ),
    ).toEqual(['admin', 'anonymous', 'jane', 'token'])
  })
})
