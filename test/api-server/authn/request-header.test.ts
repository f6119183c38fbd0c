import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAuthority, type Authority } from '../../../certs/authority.ts'
import { issue, type Credential } from '../../../certs/pki.ts'
import { clientProfile } from '../../../certs/profiles.ts'
import { startApiServer, user } from '../../support/api-server.ts'
import { askWith, whoIs } from '../../support/certificate-client.ts'
import { run } from '../../e2e/program.ts'
import { describeDialects, sharedServer } from '../../support/shared-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('request-header')

const nowMs = Date.now()
const proxies = createAuthority({ commonName: 'front-proxy-ca', nowMs })
const strangers = createAuthority({ commonName: 'strangers', nowMs })
const shownBy = (authority: Authority, commonName: string): Credential =>
  issue(authority, { profile: clientProfile({ commonName, organizations: [] }), nowMs })
const proxy = shownBy(proxies, 'proxy')

const caFile = join(folder, 'proxies.crt')
writeFileSync(caFile, proxies.certificatePem)
const authority = `--requestheader-client-ca-file=${caFile}`
const flags = [
  authority,
  '--requestheader-username-headers=X-Remote-User,X-Other-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-,X-More-',
]
const jane = { 'X-Remote-User': 'jane' }

describeDialects(
  'an authenticating proxy',
  (server) => {
    it('[AUTHN-039] acts as the user it names', async () => {
      expect(await whoIs(server(), proxy, jane)).toEqual({
        status: 201,
        username: 'jane',
        groups: ['system:authenticated'],
      })
      const { status, body } = await askWith(server(), proxy, {
        path: '/api/v1/pods',
        headers: jane,
      })
      expect(status).toBe(403)
      expect(body.message).toContain('User "jane" cannot list')
    })

    it('[AUTHN-041] names him in the first of several headers that has a value', async () => {
      const other = { 'X-Other-User': 'bob' }
      expect((await whoIs(server(), proxy, other)).username).toBe('bob')
      expect((await whoIs(server(), proxy, { ...other, ...jane })).username).toBe('jane')
      expect((await whoIs(server(), proxy, { ...other, 'X-Remote-User': '' })).username).toBe('bob')
    })

    it('[AUTHN-042] gives groups in any number of headers, each value as it is', async () => {
      const headers = { ...jane, 'X-Remote-Group': ['devs', 'ops, and more', ''] }
      expect((await whoIs(server(), proxy, headers)).groups).toEqual([
        'devs',
        'ops, and more',
        'system:authenticated',
      ])
    })

    it('[AUTHN-043][AUTHN-044] gives extra values under lowercased, percent-decoded keys', async () => {
      const headers = {
        ...jane,
        'X-Remote-Extra-Scopes': 'a',
        'X-More-Scopes': 'b',
        'X-Remote-Extra-Acme.com%2Fproject': ['p', 'q, r'],
        'X-Remote-Extra-50%': 'raw',
        'X-Remote-Extra-__proto__': 'x',
      }
      expect((await whoIs(server(), proxy, headers)).extra).toEqual({
        scopes: ['a', 'b'],
        'acme.com/project': ['p', 'q, r'],
        '50%': ['raw'],
        ['__proto__']: ['x'],
      })
    })

    it('[AUTHN-045] must show a certificate of its authority: headers of others are ignored', async () => {
      expect((await whoIs(server(), undefined, jane)).status).toBe(403)
      const carl = server().credential(user('carl'))
      expect((await whoIs(server(), carl, jane)).username).toBe('carl')
      expect((await whoIs(server(), shownBy(strangers, 'proxy'), jane)).status).toBe(401)
    })

    it('is nobody itself', async () => {
      expect((await whoIs(server(), proxy)).status).toBe(401)
      expect((await whoIs(server(), proxy, { 'X-Remote-User': '' })).status).toBe(401)
    })

    it('sends names beyond ASCII as UTF-8, and only the first of repeated names counts', async () => {
      const headers = { 'x-rEMOTE-uSER': ['jäne, 日本', 'admin'], 'x-remote-group': 'größe' }
      const found = await whoIs(server(), proxy, headers)
      expect(found.username).toBe('jäne, 日本')
      expect(found.groups).toContain('größe')
      // Percent signs mean nothing in names.
      expect((await whoIs(server(), proxy, { 'X-Remote-User': 'a%64min' })).username).toBe(
        'a%64min',
      )
    })

    it('cannot be outdone by a caller of its own who says who he is', async () => {
      const headers = { ...jane, Authorization: 'Bearer none' }
      expect((await whoIs(server(), proxy, headers)).username).toBe('jane')
    })

    it('finds its authority among those that the server names to clients', async () => {
      // Go's clients send no certificate of an authority that is not named.
      const { stdout } = await run(
        'openssl',
        ['s_client', '-connect', `127.0.0.1:${server().port}`, '-tls1_2'],
        { timeoutMs: 90_000, input: '' },
      )
      expect(stdout).toContain('Acceptable client certificate CA names')
      expect(stdout).toContain('CN = front-proxy-ca')
      const { subject } = new X509Certificate(server().pki.authority.certificatePem)
      expect(stdout).toContain(subject.replaceAll('=', ' = '))
    })
  },
  { flags },
)

describe('flags of authenticating proxies', () => {
  it('[AUTHN-040] without headers of user names the method is off', async () => {
    await using server = await startApiServer({ flags: [authority, flags[2] ?? ''] })
    const { status } = await whoIs(server, proxy, { ...jane, 'X-Remote-Group': 'devs' })
    expect(status).toBe(401)
    expect((await whoIs(server, server.credential(user('carl')), jane)).username).toBe('carl')
  })

  it('uids are taken with the gate RemoteRequestHeaderUID alone, and then published', async () => {
    const uid = '--requestheader-uid-headers=X-Remote-Uid'
    await expect(startApiServer({ flags: [...flags, uid] })).rejects.toThrow(
      '--requestheader-uid-headers requires the RemoteRequestHeaderUID feature to be enabled',
    )
    const gate = '--feature-gates=RemoteRequestHeaderUID=true'
    await using server = await startApiServer({ flags: [...flags, uid, gate] })
    const review = await askWith(server, proxy, {
      method: 'POST',
      path: `/apis/${server.group('authentication')}/v1/selfsubjectreviews`,
      headers: { ...jane, 'X-Remote-Uid': '42' },
      body: { apiVersion: `${server.group('authentication')}/v1`, kind: 'SelfSubjectReview' },
    })
    expect(review.body.status.userInfo).toMatchObject({ username: 'jane', uid: '42' })
    const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    const { data } = await server.ok('GET', path)
    expect(JSON.parse(data['requestheader-uid-headers'])).toEqual(['X-Remote-Uid'])
  })

  describe('[AUTHN-046] common names', () => {
    const named = sharedServer({ flags: [...flags, '--requestheader-allowed-names=proxy,second'] })
    const any = sharedServer({ flags })
    it('are those of the list, or any', async () => {
      const other = shownBy(proxies, 'other')
      expect((await whoIs(named(), proxy, jane)).username).toBe('jane')
      expect((await whoIs(named(), shownBy(proxies, 'second'), jane)).username).toBe('jane')
      expect((await whoIs(named(), other, jane)).status).toBe(401)
      expect((await whoIs(any(), other, jane)).username).toBe('jane')
    })
  })
})
