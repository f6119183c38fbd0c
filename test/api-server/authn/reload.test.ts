/** Certificates and authorities that change on disk while requests run. */
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { beforeAll, describe, expect, it } from 'vitest'
import { createAuthority, type Authority } from '../../../certs/authority.ts'
import { issue, type Credential } from '../../../certs/pki.ts'
import { clientProfile, servingProfile } from '../../../certs/profiles.ts'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { whoIs } from '../../support/certificate-client.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const nowMs = Date.now()
const authorityNamed = (commonName: string): Authority => createAuthority({ commonName, nowMs })
const shownBy = (authority: Authority, commonName: string): Credential =>
  issue(authority, { profile: clientProfile({ commonName, organizations: [] }), nowMs })

/** A file of the server that the test rewrites. */
interface Rewritten {
  readonly path: string
  write(text: string): void
}

let folder: string
beforeAll(() => {
  folder = temporaryFolder('reload')
})

let files = 0
function rewritten(text: string): Rewritten {
  files += 1
  const path = join(folder, `file-${files}.pem`)
  const write = (next: string): void => writeFileSync(path, next)
  write(text)
  return { path, write }
}

/** Sends reviews without pause until `stop`; their statuses. */
function keepAsking(server: TestApiServer): { stop(): Promise<number[]> } {
  let isOn = true
  const statuses: number[] = []
  const asking = (async () => {
    while (isOn) {
      const reply = await server.request('GET', '/api/v1/namespaces')
      statuses.push(reply.status)
    }
  })()
  return {
    stop: async () => {
      isOn = false
      await asking
      return statuses
    },
  }
}

const verbose = async (server: TestApiServer): Promise<string> =>
  (await server.request('GET', '/readyz?verbose')).text

describe('the file of --client-ca-file', () => {
  it('[AUTHN-009] holds any number of authorities, and is followed while requests run', async () => {
    const [one, two, three] = ['one', 'two', 'three'].map(authorityNamed) as [
      Authority,
      Authority,
      Authority,
    ]
    // The harness's clients need theirs all the time.
    await using probe = await startApiServer()
    const own = probe.pki.authority.certificatePem
    const bundle = (...authorities: Authority[]): string =>
      `# a comment\n${own}\n${authorities.map(({ certificatePem }) => certificatePem).join('\n')}`
    const file = rewritten(bundle(one, two))
    await using server = await startApiServer({ flags: [`--client-ca-file=${file.path}`] })
    const nameOf = async (authority: Authority) =>
      (await whoIs(server, shownBy(authority, 'jane'))).username
    expect([await nameOf(one), await nameOf(two), await nameOf(three)]).toEqual([
      'jane',
      'jane',
      undefined,
    ])
    const asking = keepAsking(server)
    file.write(bundle(two, three))
    await eventually(async () => {
      expect([await nameOf(one), await nameOf(two), await nameOf(three)]).toEqual([
        undefined,
        'jane',
        'jane',
      ])
    })
    const map = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
    await eventually(async () => {
      const { data } = await server.ok('GET', map)
      expect(data['client-ca-file']).toContain(three.certificatePem.trim())
    })
    file.write('-----BEGIN CERTIFICATE-----\nhalf of')
    await eventually(async () => {
      expect(await verbose(server)).toContain(
        `[+]certificate-files ok: the last one stays in use: --client-ca-file: ${file.path}: data does not contain any valid RSA or ECDSA certificates`,
      )
    })
    // Who may be anybody is not told which files there are.
    const { status, text } = await server.request('GET', '/readyz?verbose', { as: 'anonymous' })
    expect(status).toBe(200)
    expect(text).toContain('[+]certificate-files ok: the last one stays in use: reason withheld\n')
    expect(text).not.toContain(file.path)
    expect(await nameOf(three)).toBe('jane')
    file.write(bundle(one))
    await eventually(async () => {
      expect([await nameOf(one), await nameOf(three)]).toEqual(['jane', undefined])
    })
    expect(await verbose(server)).toContain('[+]certificate-files ok\n')
    const statuses = await asking.stop()
    expect(statuses.length).toBeGreaterThan(5)
    expect(new Set(statuses)).toEqual(new Set([200]))
  })

  it('counts at once on connections that are open', async () => {
    await using probe = await startApiServer()
    const own = probe.pki.authority.certificatePem
    const file = rewritten(own)
    await using server = await startApiServer({ flags: [`--client-ca-file=${file.path}`] })
    expect((await server.request('GET', '/api/v1/namespaces')).status).toBe(200)
    file.write(authorityNamed('another').certificatePem)
    await eventually(async () => {
      expect((await server.request('GET', '/api/v1/namespaces')).status).toBe(401)
    })
    file.write(own)
    await eventually(async () => {
      expect((await server.request('GET', '/api/v1/namespaces')).status).toBe(200)
    })
  })
})

describe('the file of --requestheader-client-ca-file', () => {
  it('is followed', async () => {
    const [one, two] = [authorityNamed('front-one'), authorityNamed('front-two')]
    const file = rewritten(one.certificatePem)
    await using server = await startApiServer({
      flags: [
        `--requestheader-client-ca-file=${file.path}`,
        '--requestheader-username-headers=X-Remote-User',
      ],
    })
    const nameBy = async (authority: Authority) =>
      (await whoIs(server, shownBy(authority, 'proxy'), { 'X-Remote-User': 'jane' })).username
    expect([await nameBy(one), await nameBy(two)]).toEqual(['jane', undefined])
    file.write(two.certificatePem)
    await eventually(async () => {
      expect([await nameBy(one), await nameBy(two)]).toEqual([undefined, 'jane'])
    })
  })
})

describe('the certificate of the listener', () => {
  const servingBy = (server: TestApiServer, commonName: string): Credential =>
    issue(server.pki.authority, {
      profile: servingProfile({
        subject: { commonName, organizations: [] },
        dnsNames: ['localhost'],
        ipAddresses: ['127.0.0.1'],
      }),
      nowMs,
    })
  const shownOn = async (server: TestApiServer): Promise<string> =>
    await new Promise((resolve, reject) => {
      const socket = connect({
        host: '127.0.0.1',
        port: server.port,
        ca: server.pki.authority.certificatePem,
      })
      socket.once('error', reject)
      socket.once('secureConnect', () => {
        const { raw } = socket.getPeerCertificate()
        socket.destroy()
        resolve(new X509Certificate(raw).subject)
      })
    })

  it('is followed with its key: new connections get it, open ones go on', async () => {
    await using probe = await startApiServer()
    const first = servingBy(probe, 'first')
    const cert = rewritten(first.certificatePem)
    const key = rewritten(first.privateKeyPem)
    await using server = await startApiServer({
      flags: [`--tls-cert-file=${cert.path}`, `--tls-private-key-file=${key.path}`],
    })
    expect(await shownOn(server)).toBe('CN=first')
    const watch = await server.watch('/api/v1/namespaces/default/configmaps?watch=1')
    const asking = keepAsking(server)
    const second = servingBy(server, 'second')
    cert.write(second.certificatePem)
    await eventually(async () => {
      expect(await verbose(server)).toContain(`${key.path} is not the key of ${cert.path}`)
    })
    expect(await shownOn(server)).toBe('CN=first')
    key.write(second.privateKeyPem)
    await eventually(async () => expect(await shownOn(server)).toBe('CN=second'))
    expect(await verbose(server)).toContain('[+]certificate-files ok\n')
    cert.write('nothing')
    await eventually(async () => {
      expect(await verbose(server)).toContain(`${cert.path} holds no certificate`)
    })
    // A chain that cannot be used as a whole.
    cert.write(
      `${second.certificatePem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
    )
    await eventually(async () => {
      expect(await verbose(server)).not.toContain('holds no certificate')
    })
    expect(await shownOn(server)).toBe('CN=second')
    await server.ok('POST', '/api/v1/namespaces/default/configmaps', {
      body: { metadata: { name: 'still-watched' } },
    })
    expect((await watch.next()).object.metadata.name).toBe('still-watched')
    watch.close()
    const statuses = await asking.stop()
    expect(new Set(statuses)).toEqual(new Set([200]))
  })
})
