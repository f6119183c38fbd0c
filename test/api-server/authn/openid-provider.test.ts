/** Id tokens of a real OpenID provider: by the flags and by the configuration file, through new keys and its absence. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiGroup, dialects } from '../../../components/api/dialect.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { startOpenIdProvider, type OpenIdProvider } from '../../support/openid-provider.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

type DialectName = 'kubernetes' | 'svc'
const ways: Record<
  string,
  (provider: OpenIdProvider, folder: string, name: DialectName) => string[]
> = {
  'the flags': ({ url, ca, clientId }, folder) => {
    const path = join(folder, 'provider.crt')
    writeFileSync(path, ca)
    return [
      `--oidc-issuer-url=${url}`,
      `--oidc-client-id=${clientId}`,
      `--oidc-ca-file=${path}`,
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=openid:',
      '--oidc-required-claim=hd=example.com',
    ]
  },
  'the configuration file': ({ url, ca, clientId }, folder, name) => {
    const path = join(folder, 'authentication.yaml')
    const configuration = {
      apiVersion: `${apiGroup(dialects[name], 'apiserver.config')}/v1beta1`,
      kind: 'AuthenticationConfiguration',
      jwt: [
        {
          issuer: { url, certificateAuthority: ca, audiences: [clientId] },
          claimValidationRules: [{ expression: 'claims.hd == "example.com"', message: 'not ours' }],
          claimMappings: {
            username: { expression: `"${url}#" + claims.sub` },
            groups: { expression: 'claims.groups.map(g, "openid:" + g)' },
          },
        },
      ],
    }
    writeFileSync(path, JSON.stringify(configuration))
    return [`--authentication-config=${path}`]
  },
}

describe.each(Object.keys(ways))('a real OpenID provider, by %s', (way) => {
  describe.each(['kubernetes', 'svc'] as const)('dialect %s', (dialect) => {
    let provider: OpenIdProvider
    let server: TestApiServer
    let folder: string
    beforeAll(async () => {
      folder = temporaryFolder('openid-provider')
      provider = await startOpenIdProvider()
      const flags = ways[way]?.(provider, folder, dialect) ?? []
      server = await startApiServer({ dialect, flags })
    })
    afterAll(async () => {
      await server[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
      expect(server.faults).toEqual([])
    })
    const ours = { hd: 'example.com', name: 'Jane', groups: ['devs', 'ops'] }
    const isTaken = async (token: string): Promise<void> => {
      await eventually(async () => {
        const { status } = await whoami(server, token)
        if (status !== 201) throw new Error(`still ${status}`)
      })
    }
    const jane = (): unknown => ({
      status: 201,
      user: {
        username: `${provider.url}#jane`,
        groups: ['openid:devs', 'openid:ops', 'system:authenticated'],
      },
    })

    it('[OIDC-001] who logs in there is known here', async () => {
      const { id_token: token } = await provider.login('jane', ours)
      await isTaken(token)
      expect(await whoami(server, token)).toMatchObject(jane() as object)
      const path = '/api/v1/namespaces/default/configmaps'
      expect((await server.request('GET', path, { as: { token } })).status).toBe(403)
    })

    it('its access tokens, and id tokens without what is required, are refused', async () => {
      const { access_token: access } = await provider.login('jane', ours)
      expect((await whoami(server, access)).status).toBe(401)
      const { id_token: stranger } = await provider.login('eve', { ...ours, hd: 'elsewhere' })
      expect((await whoami(server, stranger)).status).toBe(401)
    })

    it('a token of a new key is taken at once, one of the withdrawn key no longer', async () => {
      const { id_token: before } = await provider.login('jane', ours)
      await isTaken(before)
      provider.rotate()
      const { id_token: after } = await provider.login('jane', ours)
      await isTaken(after)
      expect(await whoami(server, after)).toMatchObject(jane() as object)
      expect((await whoami(server, before)).status).toBe(401)
    })

    it('[OIDC-006] while the provider is gone its tokens go on, and no request asks for it', async () => {
      const { id_token: seen } = await provider.login('jane', ours)
      await isTaken(seen)
      const { id_token: fresh } = await provider.login('joe', ours)
      const asked = provider.requests.length
      expect((await whoami(server, seen)).status).toBe(201)
      await provider.goAway()
      expect((await whoami(server, seen)).status).toBe(201)
      expect((await whoami(server, fresh)).user?.username).toBe(`${provider.url}#joe`)
      await provider.comeBack()
      expect(provider.requests.length).toBe(asked)
    })

    it('keys that changed while it was gone are found when it is back', async () => {
      const { id_token: before } = await provider.login('jane', ours)
      await isTaken(before)
      provider.rotate()
      const { id_token: after } = await provider.login('jane', ours)
      await provider.goAway()
      expect((await whoami(server, after)).status).toBe(401)
      expect((await whoami(server, before)).status).toBe(201)
      await provider.comeBack()
      await isTaken(after)
    })
  })
})
