import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'

const id = 'abc123'
const secret = '0123456789abcdef'

describe.each(['kubernetes', 'svc'] as const)('--enable-bootstrap-token-auth (%s)', (dialect) => {
  it('[BOOT-012] with the flag a bootstrap token is a user, without it 401', async () => {
    await using server = await startApiServer({
      dialect,
      store: 'sqlite',
      flags: ['--enable-bootstrap-token-auth=true'],
    })
    const { systemNamespace, labelDomain } = server.dialect
    await server.ok('POST', `/api/v1/namespaces/${systemNamespace}/secrets`, {
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        type: `bootstrap.${labelDomain}/token`,
        metadata: { name: `bootstrap-token-${id}` },
        stringData: {
          'token-id': id,
          'token-secret': secret,
          'usage-bootstrap-authentication': 'true',
        },
      },
    })
    const review = {
      body: {
        apiVersion: `${server.group('authentication')}/v1`,
        kind: 'SelfSubjectReview',
      },
      as: { token: `${id}.${secret}` },
    }
    const path = `/apis/${server.group('authentication')}/v1/selfsubjectreviews`
    const known = await server.request('POST', path, review)
    expect(known.status).toBe(201)
    expect(known.body.status.userInfo.username).toBe(`system:bootstrap:${id}`)

    await server.restart({ flags: ['--enable-bootstrap-token-auth=false'] })
    const unknown = await server.request('POST', path, review)
    expect(unknown.status).toBe(401)
    expect(unknown.body.reason).toBe('Unauthorized')
  })
})
