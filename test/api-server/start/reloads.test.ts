/** Every followed file is exchanged over and over while clients go on: no request fails, and each sees one configuration whole. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import { issue } from '../../../certs/pki.ts'
import { clientProfile, servingProfile } from '../../../certs/profiles.ts'
import { apiGroup, dialects } from '../../../components/api/dialect.ts'
import { startApiServer, user, type TestApiServer } from '../../support/api-server.ts'
import { whoIs } from '../../support/certificate-client.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { encryptionConfig, provider } from '../../support/raw-store.ts'
import { startIssuerHost, type IssuerHost } from '../../support/token-issuer.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const rounds = 4

describe.each([dialects.kubernetes, dialects.svc])(
  'reloads under load, dialect $name',
  (dialect) => {
    const clock = new FakeClock(Date.now())
    const nowMs = Date.now()
    const group = apiGroup(dialect, 'apiserver.config')
    let folder: string
    let host: IssuerHost
    let server: TestApiServer

    const path = (name: string): string => join(folder, name)
    /** As careful writers do: the old content or the new, never a part. */
    const put = (name: string, text: string): string => {
      writeFileSync(`${path(name)}.next`, text, { mode: 0o600 })
      renameSync(`${path(name)}.next`, path(name))
      return path(name)
    }

    /** A name and a group that belong together, and rules that hold for both versions. */
    const authentication = (version: string): string =>
      JSON.stringify({
        apiVersion: `${group}/v1beta1`,
        kind: 'AuthenticationConfiguration',
        jwt: [
          {
            issuer: {
              url: host.at('/i').url,
              certificateAuthority: host.ca,
              audiences: ['client'],
            },
            claimMappings: {
              username: { expression: `"${version}:" + claims.sub` },
              groups: { expression: `["${version}", "openid"]` },
            },
          },
        ],
        anonymous: { enabled: true },
      })
    const authorization = (version: string): string => {
      const types = version === 'a' ? ['RBAC'] : ['Node', 'RBAC']
      const authorizers = types.map((type) => ({ type, name: `${type.toLowerCase()}-${version}` }))
      return JSON.stringify({
        apiVersion: `${group}/v1beta1`,
        kind: 'AuthorizationConfiguration',
        authorizers,
      })
    }
    const keys = (version: string): Record<string, string>[] =>
      version === 'a' ? [{ k1: 'a' }, { k2: 'b' }] : [{ k2: 'b' }, { k1: 'a' }]
    const encryption = (version: string): string =>
      encryptionConfig(dialect.apiDomain, {
        resources: ['secrets'],
        providers: keys(version).map((own) => provider('aescbc', own)),
      })
    const extra = createAuthority({ commonName: 'extra', nowMs })
    const proxies = createAuthority({ commonName: 'proxies', nowMs })
    const proxy = issue(proxies, {
      profile: clientProfile({ commonName: 'proxy', organizations: [] }),
      nowMs,
    })
    const authorities = (version: string, ours: string): string =>
      version === 'a' ? ours : `${extra.certificatePem}${ours}`

    /** The serial numbers of the serving certificates. */
    const serials: string[] = []
    const serving = (): { cert: string; key: string } => {
      const { certificatePem: cert, privateKeyPem: key } = issue(server.pki.authority, {
        profile: servingProfile({
          subject: { commonName: 'api', organizations: [] },
          dnsNames: ['localhost'],
          ipAddresses: ['127.0.0.1'],
        }),
        nowMs,
      })
      return { cert, key }
    }
    const serialNow = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const ca = server.pki.authority.certificatePem
        const socket = connect({ host: '127.0.0.1', port: server.port, ca }, () => {
          resolve(socket.getPeerCertificate().serialNumber)
          socket.destroy()
        })
        socket.on('error', reject)
      })

    beforeAll(async () => {
      folder = temporaryFolder('reloads')
      host = await startIssuerHost()
      const first = await startApiServer({ dialect: dialect.name })
      put('ca.crt', first.pki.authority.certificatePem)
      put('api.crt', first.pki.credentials.apiserver.certificatePem)
      put('api.key', first.pki.credentials.apiserver.privateKeyPem)
      await first[Symbol.asyncDispose]()
      server = await startApiServer({
        dialect: dialect.name,
        clock,
        flags: [
          '--authorization-mode=',
          `--authentication-config=${put('authentication.json', authentication('a'))}`,
          `--authorization-config=${put('authorization.json', authorization('a'))}`,
          `--encryption-provider-config=${put('encryption.json', encryption('a'))}`,
          '--encryption-provider-config-automatic-reload',
          `--client-ca-file=${path('ca.crt')}`,
          `--requestheader-client-ca-file=${put('front.crt', authorities('a', proxies.certificatePem))}`,
          '--requestheader-username-headers=X-Remote-User',
          `--tls-cert-file=${path('api.crt')}`,
          `--tls-private-key-file=${path('api.key')}`,
        ],
      })
    })
    afterAll(async () => {
      await server[Symbol.asyncDispose]()
      await host[Symbol.asyncDispose]()
    })

    it('no request fails, and none sees half of a configuration', async () => {
      const inTenDays = Math.floor(nowMs / 1000) + 864_000
      const token = host.at('/i').token({ exp: inTenDays })
      await eventually(async () => {
        await clock.step(11_000)
        expect((await whoami(server, token)).status).toBe(201)
      })
      const secrets = '/api/v1/namespaces/default/secrets'
      const rbac = `/apis/${server.group('rbac.authorization')}/v1/clusterrolebindings`
      const ref = { apiGroup: server.group('rbac.authorization') }
      await server.ok('POST', rbac, {
        body: {
          metadata: { name: 'jane-views' },
          roleRef: { ...ref, kind: 'ClusterRole', name: 'system:aggregate-to-view' },
          subjects: [{ ...ref, kind: 'User', name: 'jane' }],
        },
      })

      let isOver = false
      const counts = { tokens: 0, certificates: 0, proxied: 0, rights: 0, secrets: 0 }
      const failures: unknown[] = []
      const expectSame = (found: unknown, wanted: readonly unknown[], what: string): void => {
        const text = JSON.stringify(found)
        if (!wanted.some((one) => JSON.stringify(one) === text)) failures.push([what, found])
      }
      /** Does it again until all is over; what throws is a failure. */
      const goOn = async (count: keyof typeof counts, act: () => Promise<void>): Promise<void> => {
        while (!isOver) {
          try {
            await act()
          } catch (error) {
            failures.push([count, String(error)])
          }
          counts[count] += 1
          // Often enough to meet every exchange, and no load beside it.
          await pause(5)
        }
      }
      const shown = server.credential(user('jane', 'devs'))
      const identities = ['a', 'b'].map((version) => [
        `${version}:jane`,
        [version, 'openid', 'system:authenticated'],
      ])
      const clients = [
        goOn('tokens', async () => {
          const { status, user: found } = await whoami(server, token)
          expectSame([found?.username, found?.groups], identities, `token ${status}`)
        }),
        goOn('certificates', async () => {
          const { status, username, groups } = await whoIs(server, shown)
          const wanted = ['jane', ['devs', 'system:authenticated']]
          expectSame([username, groups], [wanted], `certificate ${status}`)
        }),
        goOn('proxied', async () => {
          const found = await whoIs(server, proxy, { 'X-Remote-User': 'through' })
          expectSame(found.username, ['through'], `proxied ${found.status}`)
          // Each is a handshake.
          await pause(25)
        }),
        goOn('rights', async () => {
          const as = user('jane')
          const statuses = await Promise.all(
            ['/api/v1/pods', secrets, '/api/v1/nodes', '/livez'].map(
              async (one) => (await server.request('GET', one, { as })).status,
            ),
          )
          expectSame(statuses, [[200, 403, 403, 200]], 'rights')
        }),
        goOn('secrets', async () => {
          const name = `s-${counts.secrets}`
          const body = { metadata: { name }, stringData: { own: name } }
          await server.ok('POST', secrets, { body })
          const { data } = await server.ok('GET', `${secrets}/${name}`)
          expectSame(data, [{ own: Buffer.from(name).toString('base64') }], 'secret')
          const { items } = await server.ok('GET', secrets)
          expectSame(items.length, [counts.secrets + 1], 'secrets')
        }),
      ]

      for (let round = 1; round <= rounds; round++) {
        const version = round % 2 === 0 ? 'a' : 'b'
        if (round % 4 === 0) {
          // What cannot be used changes nothing.
          put('authentication.json', '{"kind":')
          put('authorization.json', authorization('a').replace('RBAC', 'RABC'))
          put('encryption.json', 'kind: Nothing')
          put('ca.crt', 'no certificate')
          put('front.crt', 'no certificate')
          put('api.key', 'no key')
          for (let step = 0; step < 14; step++) {
            await clock.step(5_000)
            await pause(10)
          }
          put('api.key', '')
        }
        put('authentication.json', authentication(version))
        put('authorization.json', authorization(version))
        put('encryption.json', encryption(version))
        put('ca.crt', authorities(version, server.pki.authority.certificatePem))
        put('front.crt', authorities(version, proxies.certificatePem))
        const { cert, key } = serving()
        put('api.crt', cert)
        put('api.key', key)
        // In small steps: a request that waits across a minute would time out.
        await eventually(async () => {
          await clock.step(5_000)
          expect((await whoami(server, token)).user?.username).toBe(`${version}:jane`)
        })
        for (let step = 0; step < 14; step++) {
          await clock.step(5_000)
          await pause(5)
        }
        serials.push(await serialNow())
      }
      isOver = true
      await Promise.all(clients)

      expect(failures.slice(0, 5)).toEqual([])
      for (const count of Object.values(counts)) expect(count).toBeGreaterThan(rounds)
      expect(new Set(serials).size).toBe(rounds)
      const metrics = (await server.request('GET', '/metrics')).text
      const reloads = (prefix: string): number =>
        metrics
          .split('\n')
          .filter((line) => line.startsWith(prefix) && line.includes('success'))
          .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
      for (const kind of ['authentication', 'authorization']) {
        expect(
          reloads(`apiserver_${kind}_config_controller_automatic_reloads_total`),
        ).toBeGreaterThanOrEqual(rounds)
      }
      expect(
        reloads('apiserver_encryption_config_controller_automatic_reloads_total'),
      ).toBeGreaterThanOrEqual(rounds / 2)
    }, 240_000)
  },
)
