/** nginx as the authenticating proxy: it knows the users, and the server believes its headers because of its certificate. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import { issue, type Credential } from '../../../certs/pki.ts'
import { clientProfile } from '../../../certs/profiles.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { requireNginx, startNginx, type Nginx, type ProxyAsk } from '../../support/nginx.ts'
import type { KnownUser } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const test = requireNginx()
const nowMs = Date.now()
const frontCa = createAuthority({ commonName: 'front-proxy-ca', nowMs })
const otherCa = createAuthority({ commonName: 'other-ca', nowMs })
const shown = (authority: typeof frontCa, commonName: string): Credential =>
  issue(authority, { profile: clientProfile({ commonName, organizations: [] }), nowMs })

/** What an operator would write: nothing of the client's headers passes but these. */
const onlyKnownHeaders = [
  'proxy_pass_request_headers off;',
  'proxy_set_header Accept $http_accept;',
  'proxy_set_header Content-Type $content_type;',
  'proxy_set_header Content-Length $content_length;',
]
const identity = [
  'proxy_set_header X-Remote-User $known_as;',
  'proxy_set_header X-Remote-Group $first_group;',
  'proxy_set_header X-Remote-Group $second_group;',
  'proxy_set_header X-Remote-Extra-Scopes openid;',
  'proxy_set_header X-Remote-Extra-Scopes profile;',
  'proxy_set_header X-Remote-Extra-Acme.com%2Fproject "$second_group";',
]
const maps = [
  'map $remote_user $known_as { default $remote_user; doe "Doe, Jane"; juergen "Jürgen"; }',
  'map $remote_user $first_group { default staff; doe "CN=devs, OU=people"; }',
  'map $remote_user $second_group { default ""; jane devs; }',
]

describe('behind nginx', () => {
  describe.each(['kubernetes', 'svc'] as const)('dialect %s', (dialect) => {
    let folder: string
    let server: TestApiServer
    let nginx: Nginx
    const flags = (...more: string[]): string[] => [
      `--requestheader-client-ca-file=${join(folder, 'front.crt')}`,
      ...more,
    ]
    const headerFlags = [
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    ]
    const proxyOf = async (port: number, name: string): Promise<Nginx> => {
      const own = join(folder, name)
      mkdirSync(own)
      const lines = [...onlyKnownHeaders, ...identity]
      return await startNginx({
        folder: own,
        port,
        ca: server.pki.authority.certificatePem,
        users: { jane: 'a', joe: 'b', doe: 'c', juergen: 'd' },
        lines: maps,
        sites: {
          proxy: { credential: shown(frontCa, 'proxy'), lines },
          careless: { credential: shown(frontCa, 'proxy'), lines: identity },
          misnamed: { credential: shown(frontCa, 'other'), lines },
          foreign: { credential: shown(otherCa, 'proxy'), lines },
          bare: { lines },
          user: { credential: server.credential({ user: 'nginx' }), lines },
        },
      })
    }
    beforeAll(async () => {
      folder = temporaryFolder('nginx-proxy')
      writeFileSync(join(folder, 'front.crt'), frontCa.certificatePem)
      server = await startApiServer({
        dialect,
        flags: flags(...headerFlags, '--requestheader-allowed-names=proxy'),
      })
      nginx = await proxyOf(server.port, 'first')
    })
    afterAll(async () => {
      await nginx[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      expect(server.faults).toEqual([])
    })
    const who = async (
      site: string,
      ask: ProxyAsk = {},
      proxy = nginx,
    ): Promise<{ status: number; user: KnownUser | undefined }> => {
      const path = `/apis/${server.group('authentication')}/v1/selfsubjectreviews`
      const { status, body } = await proxy.request(site, path, { method: 'POST', body: {}, ...ask })
      const found = body as { status?: { userInfo?: KnownUser } }
      return { status, user: status === 201 ? found.status?.userInfo : undefined }
    }

    test('[AUTHN-039][AUTHN-042][AUTHN-043][AUTHN-044] its user, groups and extras are the request’s', async () => {
      expect(await who('proxy', { user: 'jane' })).toEqual({
        status: 201,
        user: {
          username: 'jane',
          groups: ['staff', 'devs', 'system:authenticated'],
          extra: { scopes: ['openid', 'profile'], 'acme.com/project': ['devs'] },
        },
      })
      const path = '/api/v1/namespaces/default/pods'
      const denied = await nginx.request('proxy', path, { user: 'joe' })
      expect(denied).toMatchObject({
        status: 403,
        body: { message: expect.stringContaining('User "joe" cannot list') as string },
      })
    })

    test('many users on the few connections of the proxy are not mixed up', async () => {
      const names = Array.from({ length: 60 }, (_, at) => (at % 3 === 0 ? 'jane' : 'joe'))
      const seen = await Promise.all(names.map(async (user) => await who('proxy', { user })))
      expect(seen.map(({ user }) => user?.username)).toEqual(names)
      expect(seen.map(({ user }) => user?.groups.includes('devs'))).toEqual(
        names.map((name) => name === 'jane'),
      )
    })

    test('a comma or a letter beyond ASCII in a name is part of it', async () => {
      expect((await who('proxy', { user: 'doe' })).user).toMatchObject({
        username: 'Doe, Jane',
        groups: ['CN=devs, OU=people', 'system:authenticated'],
      })
      expect((await who('proxy', { user: 'juergen' })).user?.username).toBe('Jürgen')
    })

    test('who nginx does not know does not come through, and nobody brings an identity along', async () => {
      expect((await who('proxy')).status).toBe(401)
      const forged = {
        'X-Remote-User': 'admin',
        'X-Remote-Group': 'system:masters',
        'x-remote-group': 'system:masters',
        X_Remote_Group: 'system:masters',
        'Impersonate-User': 'admin',
      }
      const { user } = await who('proxy', {
        user: 'joe',
        headers: { ...forged, 'X-Remote-Extra-A': 'b' },
      })
      expect(user).toMatchObject({ username: 'joe', groups: ['staff', 'system:authenticated'] })
      expect(Object.keys(user?.extra ?? {})).toEqual(['scopes'])
      const { 'Impersonate-User': _, ...passed } = forged
      expect((await who('careless', { user: 'joe', headers: passed })).user).toMatchObject({
        username: 'joe',
        groups: ['staff', 'system:authenticated'],
      })
      expect((await who('careless', { user: 'joe', headers: forged })).status).toBe(403)
    })

    test('[AUTHN-045] without a certificate of its authority the headers are ignored', async () => {
      const path = '/api/v1/namespaces/default/pods'
      const { body } = await nginx.request('bare', path, { user: 'jane' })
      expect(body).toMatchObject({ message: expect.stringContaining('system:anonymous') as string })
      expect((await who('foreign', { user: 'jane' })).status).toBe(401)
      expect((await who('user', { user: 'jane' })).user).toMatchObject({
        username: 'nginx',
        groups: ['system:authenticated'],
      })
    })

    test('[AUTHN-046] its certificate must have an allowed name, where names are given', async () => {
      expect((await who('misnamed', { user: 'jane' })).status).toBe(401)
      await using any = await startApiServer({ dialect, flags: flags(...headerFlags) })
      await using proxy = await proxyOf(any.port, 'any-name')
      expect((await who('misnamed', { user: 'jane' }, proxy)).user?.username).toBe('jane')
      expect((await who('proxy', { user: 'jane' }, proxy)).user?.username).toBe('jane')
    })

    test('[AUTHN-040] without headers for the name nothing of it is believed', async () => {
      await using deaf = await startApiServer({ dialect, flags: flags(...headerFlags.slice(1)) })
      await using proxy = await proxyOf(deaf.port, 'deaf')
      expect((await who('proxy', { user: 'jane' }, proxy)).status).toBe(401)
    })

    test('watches go through it, event by event', async () => {
      const namespace = await server.namespace()
      const path = `/api/v1/namespaces/${namespace}/configmaps`
      await server.ok(
        'POST',
        `/apis/${server.group('rbac.authorization')}/v1/clusterrolebindings`,
        {
          body: {
            metadata: { name: 'devs-view' },
            roleRef: {
              apiGroup: server.group('rbac.authorization'),
              kind: 'ClusterRole',
              name: 'system:aggregate-to-view',
            },
            subjects: [
              { apiGroup: server.group('rbac.authorization'), kind: 'Group', name: 'devs' },
            ],
          },
        },
      )
      const watch = await nginx.open('proxy', `${path}?watch=true`, { user: 'jane' })
      expect(watch.statusCode).toBe(200)
      let text = ''
      watch.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      for (const name of ['one', 'two']) {
        await server.ok('POST', path, { body: { metadata: { name } } })
        await eventually(() => {
          expect(text).toContain(`"name":"${name}"`)
        })
      }
      watch.destroy()
    })
  })
})
