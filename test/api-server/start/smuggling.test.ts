/** Headers and paths that say one thing to whoever checks and another to whoever serves: none of them gives anything. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import { user } from '../../support/api-server.ts'
import { whoIs } from '../../support/certificate-client.ts'
import { allow } from '../../support/grants.ts'
import { describeDialects } from '../../support/shared-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'smuggling-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const authorityFile = join(folder, 'proxies.crt')
const proxies = createAuthority({ commonName: 'proxies', nowMs: Date.now() })
writeFileSync(authorityFile, proxies.certificatePem)

const marker = Buffer.from('what nobody may see').toString('base64')

describeDialects(
  'a caller with few rights',
  (server) => {
    /** Everything that comes back for bytes that are sent as they are, by the user jane. */
    function raw(bytes: string): Promise<string> {
      const shown = server().credential(user('jane'))
      return new Promise((resolve) => {
        const chunks: Buffer[] = []
        const socket = connect(
          {
            host: '127.0.0.1',
            port: server().port,
            ca: server().pki.authority.certificatePem,
            ALPNProtocols: ['http/1.1'],
            cert: shown?.certificatePem,
            key: shown?.privateKeyPem,
          },
          () => socket.end(bytes, 'latin1'),
        )
        socket.on('data', (chunk: Buffer) => chunks.push(chunk))
        // A server that refuses may reset what it has not read; what it said before counts.
        socket.on('error', () => {})
        socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
      })
    }

    it.each([
      [{ 'X-Remote-User': 'root', 'X-Remote-Group': 'system:masters' }],
      [{ 'x-rEmOtE-uSeR': 'root', 'X-REMOTE-GROUP': ['system:masters', 'system:nodes'] }],
      [{ X_Remote_User: 'root' }],
      [{ 'X-Remote%2DUser': 'root' }],
      [{ 'X-Remote-Extra-scopes': 'all', 'X-Remote-Uid': '0' }],
      [{ Impersonate_User: 'root' }],
      [{ 'Impersonate%2DUser': 'root' }],
      [{ 'X-Impersonate-User': 'root' }],
      [{ 'X-Original-URL': '/api/v1/secrets', 'X-Rewrite-URL': '/api/v1/secrets' }],
      [{ 'X-HTTP-Method-Override': 'DELETE', 'X-Forwarded-User': 'root' }],
    ])('is himself with the headers %j', async (headers) => {
      const found = await whoIs(server(), server().credential(user('jane')), headers)
      expect([found.status, found.username, found.groups, found.extra?.['scopes']]).toEqual([
        201,
        'jane',
        ['system:authenticated'],
        undefined,
      ])
    })

    it.each([
      [{ 'Impersonate-User': 'root' }],
      [{ 'iMpErSoNaTe-UsEr': 'root' }],
      [{ 'IMPERSONATE-USER': ['root', 'jane'] }],
      [{ 'Impersonate-User': 'jane', 'impersonate-GROUP': 'system:masters' }],
      [{ 'Impersonate-User': 'jane', 'Impersonate-Extra-%73copes': 'all' }],
      [{ 'Impersonate-User': 'jäne' }],
      [{ 'Impersonate-User': 'jane', 'Impersonate-Uid': '0' }],
      [{ 'Impersonate-User': 'system:serviceaccount:kube-system:x' }],
      [{ 'Impersonate-Group': 'system:masters' }],
      [{ 'Impersonate-User': '', 'Impersonate-Group': 'system:masters' }],
    ])('is nobody else with the headers %j', async (headers) => {
      const found = await whoIs(server(), server().credential(user('jane')), headers)
      // Without a user to act as, the headers are a fault of the request; empty ones are none.
      expect([403, 500, 400]).toContain(found.status)
      expect(found.username).toBeUndefined()
    })

    it('has one request read as one, whatever its framing says', async () => {
      const hidden = `GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nImpersonate-User: admin\r\n\r\n`
      const both = `POST /version HTTP/1.1\r\nHost: x\r\nContent-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`
      const twice = `POST /version HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`
      const oddCoding = `POST /version HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${hidden}`
      const folded = `GET /version HTTP/1.1\r\nHost: x\r\nX-Pad: a\r\n Impersonate-User: root\r\n\r\n`
      const bareLine = `GET /version HTTP/1.1\r\nHost: x\r\nX-Pad: a\nImpersonate-User: root\r\n\r\n`
      const spaced = `GET /version HTTP/1.1\r\nHost: x\r\nImpersonate-User : root\r\n\r\n`
      for (const bytes of [both, twice, oddCoding, folded, bareLine, spaced]) {
        const answers = (await raw(bytes))
          .split(/(?=HTTP\/1\.1 \d{3})/)
          .map((one) => one.slice(9, 12))
        expect(answers.length, bytes).toBeLessThanOrEqual(1)
        if (answers[0] !== '') expect(['400', '403', '405'], bytes).toContain(answers[0])
      }
    })

    it('reads nothing by a path that means another to the router than to the authorizer', async () => {
      const ns = await server().namespace()
      const secrets = `/api/v1/namespaces/${ns}/secrets`
      await server().ok('POST', secrets, {
        body: { metadata: { name: 'one' }, data: { own: marker } },
      })
      const as = await allow(server(), ns, {
        name: 'reader',
        rules: [{ resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
      })
      expect((await server().request('GET', `${secrets}/one`, { as })).status).toBe(403)
      const pieces = [
        'api',
        'v1',
        'apis',
        'namespaces',
        ns,
        'secrets',
        'configmaps',
        'one',
        '',
        '.',
        '..',
        '%2e',
        '%2e%2e',
        '%2E%2E',
        '..%2f',
        '%2f',
        '%5c..',
        '%73ecrets',
        'secrets%2Fone',
        'configmaps%2f..%2fsecrets',
        'configmaps;secrets',
        'secrets%00',
        'secrets%20',
        'SECRETS',
        'watch',
        'proxy',
        'status',
        'secrets?watch=1',
        'configmaps#secrets',
      ]
      const middle = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 })
      const paths = fc.oneof(
        middle.map((parts) => `/api/v1/namespaces/${ns}/${parts.join('/')}`),
        middle.map((parts) => `/api/v1/namespaces/${ns}/configmaps/${parts.join('/')}`),
        middle.map((parts) => `/${parts.join('/')}${secrets}/one`),
      )
      const seen: string[] = []
      for (let round = 0; round < 8; round++) {
        const some = fc.sample(paths, { numRuns: 50, seed: round })
        const replies = await Promise.all(
          some.map((path) => {
            const isWatch = path.includes('watch=')
            return server().request('GET', isWatch ? `${path}&timeoutSeconds=1` : path, { as })
          }),
        )
        for (const [i, { status, text }] of replies.entries()) {
          if (text.includes(marker) || status >= 500) seen.push(`${status} ${some[i]}`)
        }
      }
      expect(seen).toEqual([])
    }, 170_000)
  },
  {
    flags: [
      `--requestheader-client-ca-file=${authorityFile}`,
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    ],
  },
)
