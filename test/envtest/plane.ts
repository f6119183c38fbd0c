/** Plane: etcd and kube-apiserver, started as envtest of controller-runtime 0.25 starts them. */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyPair, privateKeyPem, publicKeyPem } from '../../certs/keys.ts'
import { dialects } from '../../components/api/dialect.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { eventually } from '../support/eventually.ts'
import { ownPort } from '../support/own-port.ts'
import { createTestPki } from '../support/tls.ts'

export interface Started {
  readonly child: ChildProcess
  /** What it has written to standard error. */
  readonly errors: () => string
  /** Resolves with its exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>
}

export interface Plane extends AsyncDisposable {
  readonly etcdUrl: string
  readonly dataDir: string
  readonly certDir: string
  readonly port: number
  /** Program and words of each, in the order in which they start. */
  readonly commands: { readonly etcd: readonly string[]; readonly server: readonly string[] }
  startEtcd(): Promise<Started>
  /** Resolves when the server is healthy. */
  startServer(more?: readonly string[]): Promise<Started>
  /** A client as a member of system:masters. */
  admin(): Client
}

export function start(program: string, words: readonly string[], cwd = '/'): Started {
  const child = spawn(program, words, {
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    cwd,
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => resolve(code))
  })
  return { child, errors: () => errors, ended }
}

/** The status of a GET that verifies nothing, as envtest's health check. */
export async function statusOf(url: string): Promise<{ status: number; body: string }> {
  return await new Promise((resolve, reject) => {
    const take = (answer: IncomingMessage): void => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => (body += text))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }))
    }
    const asked = url.startsWith('https:')
      ? httpsRequest(url, { rejectUnauthorized: false, agent: false }, take)
      : httpRequest(url, { agent: false }, take)
    asked.on('error', reject).end()
  })
}

async function healthy(one: Started, url: string): Promise<Started> {
  await eventually(async () => {
    if (one.child.exitCode !== null) throw new Error(`it has ended: ${one.errors()}`)
    const { status } = await statusOf(url)
    if (status !== 200) throw new Error(`${url} answers ${status}`)
  }, 60_000)
  return one
}

let folders = 0

/** A folder as envtest makes them. */
function frameworkFolder(): string {
  folders += 1
  const folder = join(tmpdir(), `k8s_test_framework_${process.pid}${folders}`)
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

function writeCertificates(folder: string) {
  const serving = createTestPki()
  const users = createTestPki()
  const signer = generateKeyPair()
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  write('apiserver.crt', serving.server.cert)
  write('apiserver.key', serving.server.key)
  write('sa-signer.crt', publicKeyPem(signer.publicKey))
  write('sa-signer.key', privateKeyPem(signer.privateKey))
  write('client-cert-auth-ca.crt', users.caPem)
  return { ca: serving.caPem, admin: users.client('admin', ['system:masters']) }
}

/** Folders and flags of one; nothing runs yet. Disposing ends what was started. */
export function createPlane(assets: string): Plane {
  const [dataDir, certDir] = [frameworkFolder(), frameworkFolder()]
  const { ca, admin } = writeCertificates(certDir)
  const [etcdPort, peerPort, port] = [ownPort(), ownPort(), ownPort()]
  const etcdUrl = `http://127.0.0.1:${etcdPort}`
  const server = `https://127.0.0.1:${port}`
  const running: Started[] = []
  const clients: Client[] = []
  const commands = {
    etcd: [
      join(assets, 'etcd'),
      `--advertise-client-urls=${etcdUrl}`,
      `--data-dir=${dataDir}`,
      `--listen-client-urls=${etcdUrl}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
      '--unsafe-no-fsync=true',
    ],
    server: [
      join(assets, 'kube-apiserver'),
      '--allow-privileged=true',
      '--authorization-mode=RBAC',
      '--bind-address=127.0.0.1',
      `--cert-dir=${certDir}`,
      `--client-ca-file=${join(certDir, 'client-cert-auth-ca.crt')}`,
      '--disable-admission-plugins=ServiceAccount',
      `--etcd-servers=${etcdUrl}`,
      `--secure-port=${port}`,
      `--service-account-issuer=${server}/`,
      `--service-account-key-file=${join(certDir, 'sa-signer.crt')}`,
      `--service-account-signing-key-file=${join(certDir, 'sa-signer.key')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
    ],
  }
  const run = ([program = '', ...words]: readonly string[]): Started => {
    const one = start(program, words)
    running.push(one)
    return one
  }
  return {
    etcdUrl,
    dataDir,
    certDir,
    port,
    commands,
    startEtcd: async () => await healthy(run(commands.etcd), `${etcdUrl}/health`),
    startServer: async (more = []) =>
      await healthy(run([...commands.server, ...more]), `${server}/healthz`),
    admin: () => {
      const dialect = dialects.kubernetes
      const client = createClient({ server, ca, credentials: admin, dialect })
      clients.push(client)
      return client
    },
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.close()
      for (const { child } of running.toReversed()) child.kill('SIGTERM')
      await Promise.all(running.map(({ ended }) => ended))
      for (const folder of [dataDir, certDir]) rmSync(folder, { recursive: true, force: true })
    },
  }
}
