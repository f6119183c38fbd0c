/** kubectl with credentials of every kind: certificates that openssl made, tokens, and plugins that hand them out. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { startApiServer, type TestApiServer } from '../support/api-server.ts'
import { eventually } from '../support/eventually.ts'
import {
  createOpensslAuthority,
  type CertificateFiles,
  type OpensslAuthority,
} from '../support/openssl-authority.ts'
import { requireKubectl } from './kubectl.ts'
import { run, type Outcome } from './program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const { path: kubectl, test } = requireKubectl()

type User = Readonly<Record<string, unknown>>

describe('kubectl and its credentials', () => {
  let folder: string
  let server: TestApiServer
  let authority: OpensslAuthority
  const log: string[] = []
  beforeAll(async () => {
    folder = temporaryFolder('kubectl-credentials')
    authority = createOpensslAuthority(join(folder, 'ours'), 'ours')
    server = await startApiServer({
      flags: [`--client-ca-file=${authority.ca}`],
      onLog: (line) => void log.push(line),
    })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    expect(server.faults).toEqual([])
  })

  let configurations = 0
  /** Runs kubectl as a user of a kubeconfig. */
  async function as(user: User, ...words: string[]): Promise<Outcome> {
    configurations += 1
    const home = join(folder, `home-${configurations}`)
    mkdirSync(home)
    const kubeconfig = join(home, 'config')
    const ca = server.pki.authority.certificatePem
    const cluster = {
      server: `https://127.0.0.1:${server.port}`,
      'certificate-authority-data': Buffer.from(ca).toString('base64'),
    }
    const configuration = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }
    writeFileSync(kubeconfig, JSON.stringify(configuration))
    const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig }
    return await run(kubectl, words, { env, timeoutMs: 90_000 })
  }
  const byFiles = ({ cert, key }: CertificateFiles): User => ({
    'client-certificate': cert,
    'client-key': key,
  })
  const whoami = [
    'auth',
    'whoami',
    '-o',
    'jsonpath={.status.userInfo.username} {.status.userInfo.groups}',
  ]
  const refused = 'error: You must be logged in to the server (Unauthorized)\n'

  /** Expects 401, and a line of the log that tells why. */
  async function isRefused(user: User, why: string): Promise<void> {
    const before = log.length
    const { code, stderr } = await as(user, ...whoami)
    expect([code, stderr]).toEqual([1, refused])
    await eventually(() => {
      const reasons = log
        .slice(before)
        .map((line) => JSON.parse(line) as { message: string; why?: string })
        .filter(({ message }) => message === 'unauthenticated')
        .map((line) => line.why)
      expect(reasons.join('\n')).toContain(why)
    })
  }

  test('a certificate of openssl names its user and groups', async () => {
    const files = authority.issue('jane', { subject: '/O=devs/CN=jane' })
    expect((await as(byFiles(files), ...whoami)).stdout).toBe(
      'jane ["devs","system:authenticated"]',
    )
  })

  test('certificates that do not hold are refused, and the log says why', async () => {
    const subject = '/O=system:masters/CN=jane'
    const dated = 'x509: certificate has expired or is not yet valid'
    const expired = authority.issue('expired', { subject, fromDay: -2, toDay: -1 })
    await isRefused(byFiles(expired), dated)
    const early = authority.issue('early', { subject, fromDay: 1, toDay: 2 })
    await isRefused(byFiles(early), dated)
    const serving = authority.issue('serving', { subject, usage: 'serverAuth' })
    await isRefused(byFiles(serving), 'x509: certificate specifies an incompatible key usage')
    const others = createOpensslAuthority(join(folder, 'theirs'), 'theirs')
    const stranger = others.issue('stranger', { subject })
    await isRefused(byFiles(stranger), 'x509: certificate signed by unknown authority')
    const namesake = createOpensslAuthority(join(folder, 'namesake'), 'ours')
    const forged = namesake.issue('forged', { subject })
    await isRefused(byFiles(forged), 'x509: certificate signed by unknown authority')
  })

  /** An administrator of this authority; the harness's own is a stranger here. */
  const boss = (): User =>
    byFiles(authority.issue('boss', { subject: '/O=system:masters/CN=boss' }))

  test('a token of an account that was deleted is refused, and one of its successor is not', async () => {
    const admin = boss()
    await as(admin, 'create', 'namespace', 'robots')
    const make = async (): Promise<string> => {
      await as(admin, '-n', 'robots', 'create', 'serviceaccount', 'r2')
      const { stdout } = await as(admin, '-n', 'robots', 'create', 'token', 'r2')
      return stdout.trim()
    }
    const token = await make()
    expect((await as({ token }, ...whoami)).stdout).toMatch(/^system:serviceaccount:robots:r2 /)
    await as(admin, '-n', 'robots', 'delete', 'serviceaccount', 'r2')
    await isRefused({ token }, 'r2')
    const next = await make()
    expect((await as({ token: next }, ...whoami)).stdout).toMatch(
      /^system:serviceaccount:robots:r2 /,
    )
    await isRefused({ token }, 'r2')
    for (const secret of [token, next]) expect(log.join('')).not.toContain(secret)
  })

  describe('an exec plugin', () => {
    const group = 'client.authentication.k8s.io'
    /** A plugin that keeps its input and prints this status. */
    function plugin(name: string, status: object, more: object = {}): User {
      const script = join(folder, `${name}.cjs`)
      const credential = { apiVersion: `${group}/v1`, kind: 'ExecCredential', status }
      writeFileSync(
        script,
        `require('node:fs').writeFileSync(${JSON.stringify(join(folder, `${name}.input`))}, process.env.KUBERNETES_EXEC_INFO ?? '')
process.stdout.write(${JSON.stringify(JSON.stringify(credential))})`,
      )
      const exec = {
        apiVersion: `${group}/v1`,
        command: process.execPath,
        args: [script],
        interactiveMode: 'Never',
        ...more,
      }
      return { exec }
    }

    test('hands kubectl a token, and is told of the cluster where that is wanted', async () => {
      const admin = boss()
      await as(admin, 'create', 'namespace', 'plugins')
      await as(admin, '-n', 'plugins', 'create', 'serviceaccount', 'bot')
      const { stdout } = await as(admin, '-n', 'plugins', 'create', 'token', 'bot')
      const user = plugin('token', { token: stdout.trim() }, { provideClusterInfo: true })
      expect((await as(user, ...whoami)).stdout).toMatch(/^system:serviceaccount:plugins:bot /)
      expect(JSON.parse(readFileSync(join(folder, 'token.input'), 'utf8'))).toMatchObject({
        apiVersion: `${group}/v1`,
        kind: 'ExecCredential',
        spec: { interactive: false, cluster: { server: `https://127.0.0.1:${server.port}` } },
      })
    })

    test('hands kubectl a certificate', async () => {
      const { cert, key } = authority.issue('plugged', { subject: '/O=devs/CN=plugged' })
      const user = plugin('certificate', {
        clientCertificateData: readFileSync(cert, 'utf8'),
        clientKeyData: readFileSync(key, 'utf8'),
      })
      expect((await as(user, ...whoami)).stdout).toBe('plugged ["devs","system:authenticated"]')
    })

    test('with a token that is not taken leaves kubectl unauthorized', async () => {
      const { code, stderr } = await as(plugin('bad', { token: 'made-up' }), ...whoami)
      expect([code, stderr]).toEqual([1, expect.stringContaining('(Unauthorized)')])
    })
  })
})
