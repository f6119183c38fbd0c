import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  admin,
  startApiServer,
  user,
  type Identity,
  type TestApiServer,
} from '../../support/api-server.ts'
import { allowEverywhere } from '../../support/grants.ts'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const at = '/api/v1/namespaces/verbs/configmaps'

/** What a client can do with config maps: what it sends, by name. Each must be a success when it is allowed. */
const requests: Readonly<Record<string, (server: TestApiServer, as: Identity) => Promise<number>>> =
  {
    POST: async (server, as) =>
      (
        await server.request('POST', `${at}?dryRun=All`, {
          as,
          body: { metadata: { name: 'new' } },
        })
      ).status,
    'GET item': async (server, as) => (await server.request('GET', `${at}/one`, { as })).status,
    'HEAD item': async (server, as) => (await server.request('HEAD', `${at}/one`, { as })).status,
    'GET collection': async (server, as) => (await server.request('GET', at, { as })).status,
    'HEAD collection': async (server, as) => (await server.request('HEAD', at, { as })).status,
    'GET watch': async (server, as) =>
      await server.watch(`${at}?watch=true`, { as }).then(
        (watch) => {
          watch.close()
          return 200
        },
        (error: unknown) => (error as { status: number }).status,
      ),
    PUT: async (server, as) =>
      (await server.request('PUT', `${at}/one`, { as, body: { metadata: { name: 'one' } } }))
        .status,
    PATCH: async (server, as) =>
      (
        await server.request('PATCH', `${at}/one`, {
          as,
          body: {},
          headers: { 'content-type': 'application/merge-patch+json' },
        })
      ).status,
    'DELETE item': async (server, as) =>
      (await server.request('DELETE', `${at}/one?dryRun=All`, { as })).status,
    'DELETE collection': async (server, as) =>
      (await server.request('DELETE', `${at}?dryRun=All`, { as })).status,
  }

describeDialects('verbs of requests', (server) => {
  beforeAll(async () => {
    await server().namespace('verbs')
    await server().ok('POST', at, { body: { metadata: { name: 'one' } } })
  })

  it.each([
    ['[AUTHZ-004]', 'create', ['POST']],
    ['[AUTHZ-005]', 'get', ['GET item', 'HEAD item']],
    ['[AUTHZ-006]', 'list', ['GET collection', 'HEAD collection']],
    ['[AUTHZ-007]', 'watch', ['GET watch']],
    ['[AUTHZ-008]', 'update', ['PUT']],
    ['[AUTHZ-009]', 'patch', ['PATCH']],
    ['[AUTHZ-010]', 'delete', ['DELETE item']],
    ['[AUTHZ-011]', 'deletecollection', ['DELETE collection']],
  ])('%s who may only %s may send %j, and nothing else', async (_, verb, expected) => {
    const as = await allowEverywhere(server(), `only-${verb}`, [
      { apiGroups: [''], resources: ['configmaps'], verbs: [verb] },
    ])
    const allowed: string[] = []
    for (const [name, send] of Object.entries(requests)) {
      const status = await send(server(), as)
      if (status === 403) continue
      expect([name, status]).toEqual([name, name === 'POST' ? 201 : 200])
      allowed.push(name)
    }
    expect(allowed).toEqual(expected)
  })

  it('[AUTHZ-012] other requests have the method for a verb, in small letters', async () => {
    const only = async (name: string, verb: string) =>
      await allowEverywhere(server(), name, [{ nonResourceURLs: ['/metrics'], verbs: [verb] }])
    const statuses = async (as: Identity) => [
      (await server().request('GET', '/metrics', { as })).status,
      (await server().request('HEAD', '/metrics', { as })).status,
      (await server().request('POST', '/metrics', { as })).status,
    ]
    expect(await statuses(await only('metrics-get', 'get'))).toEqual([200, 403, 403])
    expect(await statuses(await only('metrics-head', 'head'))).toEqual([403, 200, 403])
    // Allowed, but there is nothing to be posted.
    expect(await statuses(await only('metrics-post', 'post'))).toEqual([403, 403, 405])
  })
})

describeDialects('without the default grants to everybody', (server) => {
  const rbac = () => `/apis/${server().group('rbac.authorization')}/v1`
  beforeAll(async () => {
    for (const name of ['system:basic-user', 'system:discovery', 'system:public-info-viewer']) {
      await server().ok('DELETE', `${rbac()}/clusterrolebindings/${name}`)
    }
  })

  it('[AUTHZ-014] who has no binding may do nothing', async () => {
    const { groups } = await server().ok('GET', '/apis')
    const versions = [
      '/api/v1',
      ...(groups as { versions: { groupVersion: string }[] }[]).flatMap(({ versions: known }) =>
        known.map(({ groupVersion }) => `/apis/${groupVersion}`),
      ),
    ]
    const methods: Record<string, string> = {
      create: 'POST',
      list: 'GET',
      deletecollection: 'DELETE',
    }
    let asked = 0
    for (const version of versions) {
      const { resources } = await server().ok('GET', version)
      for (const { name, namespaced, verbs } of resources as {
        name: string
        namespaced: boolean
        verbs: string[]
      }[]) {
        if (name.includes('/')) continue
        for (const verb of verbs) {
          const path = `${version}${namespaced ? '/namespaces/default' : ''}/${name}`
          const method = methods[verb]
          const target = method === undefined ? `${path}/x` : path
          const sent = method ?? { update: 'PUT', patch: 'PATCH', delete: 'DELETE' }[verb] ?? 'GET'
          const { status } = await server().request(
            sent,
            verb === 'watch' ? `${path}?watch=1` : target,
            {
              as: user('nobody'),
            },
          )
          expect([sent, target, status]).toEqual([sent, target, 403])
          asked += 1
        }
      }
    }
    expect(asked).toBeGreaterThan(300)
  })

  it('[AUTHZ-018] what is no resource is judged by rules for paths only', async () => {
    const everything = await allowEverywhere(server(), 'all-resources', [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
    ])
    const paths = ['/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1', '/version', '/livez']
    const byPath = await allowEverywhere(server(), 'those-paths', [
      { nonResourceURLs: paths, verbs: ['get'] },
    ])
    for (const path of paths) {
      const statuses = [
        (await server().request('GET', path, { as: everything })).status,
        (await server().request('GET', path, { as: byPath })).status,
      ]
      expect([path, ...statuses]).toEqual([path, 403, 200])
    }
    expect((await server().request('GET', '/api/v1/pods', { as: everything })).status).toBe(200)
    expect((await server().request('GET', '/api/v1/pods', { as: byPath })).status).toBe(403)
  })
})

describe('modes', () => {
  const folder = temporaryFolder('modes')
  const pods = '/api/v1/namespaces/default/pods'
  const decides = async (server: TestApiServer): Promise<void> => {
    const reader = await allowEverywhere(server, 'reader', [
      { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
    ])
    expect((await server.request('GET', pods, { as: reader })).status).toBe(200)
    expect((await server.request('GET', pods, { as: user('other') })).status).toBe(403)
    expect((await server.request('GET', '/api/v1/secrets', { as: reader })).status).toBe(403)
    const node = { user: 'system:node:n1', groups: ['system:nodes'] }
    expect((await server.request('GET', '/api/v1/services', { as: node })).status).toBe(403)
  }

  it('[AUTHZ-022][RBAC-019] RBAC by flag', async () => {
    await using server = await startApiServer({ flags: ['--authorization-mode=RBAC'] })
    await decides(server)
  })

  it.each(['kubernetes', 'svc'] as const)(
    '[RBAC-018] RBAC by configuration file, dialect %s',
    async (dialect) => {
      await using probe = await startApiServer({ dialect })
      const path = join(folder, `${dialect}.json`)
      writeFileSync(
        path,
        JSON.stringify({
          apiVersion: `${probe.group('apiserver.config')}/v1`,
          kind: 'AuthorizationConfiguration',
          authorizers: [{ type: 'RBAC', name: 'roles' }],
        }),
      )
      await using server = await startApiServer({
        dialect,
        flags: ['--authorization-mode=', `--authorization-config=${path}`],
      })
      await decides(server)
    },
  )

  it('[AUTHZ-023] Node: agents of nodes are authorized, others are not', async () => {
    await using server = await startApiServer({ flags: ['--authorization-mode=Node'] })
    const node = { user: 'system:node:n1', groups: ['system:nodes'] }
    expect((await server.request('GET', '/api/v1/services', { as: node })).status).toBe(200)
    const body = { metadata: { name: 'n1' } }
    expect((await server.request('POST', '/api/v1/nodes', { as: node, body })).status).toBe(201)
    expect((await server.request('GET', '/api/v1/secrets', { as: node })).status).toBe(403)
    expect((await server.request('GET', '/api/v1/services', { as: user('jane') })).status).toBe(403)
  })
})

describe('what is authorized is what is served', () => {
  const server = sharedServer()
  const hidden = 'a-well-kept-secret'
  let paths: Identity
  let maps: Identity
  beforeAll(async () => {
    await server().namespace('open')
    await server().namespace('shut')
    await server().ok('POST', '/api/v1/namespaces/shut/secrets', {
      body: { metadata: { name: 's' }, stringData: { a: hidden }, type: hidden },
    })
    maps = await allowEverywhere(server(), 'maps', [
      { apiGroups: ['*'], resources: ['configmaps', 'pods'], verbs: ['*'] },
      { nonResourceURLs: ['/healthz/*', '/metrics/*', '/openapi/*'], verbs: ['*'] },
    ])
    paths = await allowEverywhere(server(), 'paths', [{ nonResourceURLs: ['*'], verbs: ['*'] }])
  })

  /** The target byte for byte, as no HTTP library would send it. */
  const raw = (target: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const shown = server().credential(maps)
      const socket = connect(
        {
          host: '127.0.0.1',
          port: server().port,
          ca: server().pki.authority.certificatePem,
          ALPNProtocols: ['http/1.1'],
          ...(shown && { cert: shown.certificatePem, key: shown.privateKeyPem }),
        },
        () => socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      )
      let text = ''
      socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
      socket.on('error', reject)
      socket.on('close', () => resolve(text))
    })

  it.each([
    '/api/v1/namespaces/open/configmaps/../../shut/secrets/s',
    '/api/v1/namespaces/open/configmaps/%2e%2e/secrets/s',
    '/api/v1/namespaces/shut/configmaps/..%2fsecrets%2fs',
    '/api/v1/namespaces/shut%2fsecrets/configmaps/s',
    '/api/v1/namespaces/shut/configmaps%2f..%2fsecrets/s',
    '/api/v1/namespaces/shut/%73ecrets/s',
    '/api/v1/namespaces/shut/%2573ecrets/s',
    '/api/v1/namespaces/shut//secrets/s',
    '/api/v1/namespaces//shut/secrets/s',
    '/api/v1//namespaces/shut/secrets/s',
    '//api/v1/namespaces/shut/secrets/s',
    '/healthz/../api/v1/namespaces/shut/secrets/s',
    '/healthz/%2e%2e/api/v1/namespaces/shut/secrets/s',
    '/./api/v1/namespaces/shut/secrets/s',
    '/api/v1/./namespaces/shut/secrets/s',
    '/api/v1/namespaces/shut/secrets/s/',
    '/api/v1/namespaces/shut/secrets/s?x=/api/v1/namespaces/open/configmaps/x',
    '/api/v1/namespaces/shut/secrets/s;/configmaps',
    '/api/v1/namespaces/shut/secrets\\s',
    '/api/v1/namespaces/shut/secrets/s%00',
    '/apis//v1/namespaces/shut/secrets/s',
    '/api/v1/watch/namespaces/shut/secrets',
    '/api/v1/watch/namespaces/shut/secrets/s',
    'https://x/api/v1/namespaces/shut/secrets/s',
    '/API/V1/namespaces/shut/secrets/s',
  ])('%s shows no secret to whom only config maps are allowed', async (target) => {
    const answer = await raw(target)
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(answer).not.toContain(hidden)
  })

  it.each(['/metrics/', '/metrics/.', '/healthz/../metrics', '/metrics//', '/openapi/../metrics'])(
    '%s is not /metrics, which other rules may cover',
    async (target) => {
      expect(await raw(target)).toMatch(/^HTTP\/1\.1 404 /)
    },
  )

  it('no path of any shape gets at a resource by rules for paths, or at another by rules for one', async () => {
    const piece = fc.constantFrom(
      'api',
      'apis',
      'v1',
      'watch',
      'proxy',
      'namespaces',
      'shut',
      'open',
      'secrets',
      's',
      'configmaps',
      '..',
      '.',
      '',
      '%2e%2e',
      '%2f',
      '%2F..%2F',
      '%73ecrets',
      'secrets%2Fs',
      'healthz',
      'status',
      ';',
      '%00',
      '%25',
    )
    const known = fc.constantFrom(
      ['api', 'v1', 'namespaces', 'shut', 'secrets', 's'],
      ['api', 'v1', 'namespaces', 'shut', 'configmaps', 's'],
      ['api', 'v1', 'secrets'],
    )
    /** A good path with pieces put in and taken out. */
    const path = fc
      .tuple(known, fc.array(fc.tuple(fc.nat(6), fc.nat(1), piece), { maxLength: 4 }))
      .map(([parts, edits]) => {
        const made: string[] = [...parts]
        for (const [where, taken, put] of edits) made.splice(where, taken, put)
        return `/${made.join('/')}`
      })
    await fc.assert(
      fc.asyncProperty(
        path,
        fc.constantFrom('', '&watch=0', '&fieldSelector=metadata.name%3Ds'),
        async (target, query) => {
          for (const as of [maps, paths]) {
            // Below /watch/ an answer lasts as long as this.
            const asked = `${target}?timeoutSeconds=1${query}`
            const { text } = await server().request('GET', asked, { as })
            expect(text).not.toContain(hidden)
          }
        },
      ),
      { numRuns: 400 },
    )
    const { text } = await server().request('GET', '/api/v1/namespaces/shut/secrets/s', {
      as: admin,
    })
    expect(text).toContain(hidden)
  })
})
