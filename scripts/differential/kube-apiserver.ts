/** A real kube-apiserver, built from its source, on an etcd of its own. KUBE_APISERVER names a program that is there already. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort, startEtcd } from '../bench/etcd-process.ts'
import { endWithBench } from '../bench/leave-nothing.ts'
import { answerTo, openSession, type Endpoint } from '../bench/load.ts'

const module = join(import.meta.dirname, '../../test/clients/fixtures/kube-apiserver-1.32')
const token = 'differential'
const readyMs = 60_000

/** Go keeps what it has compiled: the first build takes four minutes on two cores. */
function programIn(folder: string): string {
  const given = process.env['KUBE_APISERVER']
  if (given !== undefined) return given
  console.log('building kube-apiserver with go; the first time takes minutes')
  const program = join(folder, 'kube-apiserver')
  const words = ['build', '-ldflags=-s -w', '-o', program, 'k8s.io/kubernetes/cmd/kube-apiserver']
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod' }
  execFileSync('go', words, { cwd: module, stdio: ['ignore', 'inherit', 'inherit'], env })
  return program
}

/** Ready, and open to `system:masters` by a token. Its log is in the folder. */
export async function startKubeApiServer(
  folder: string,
): Promise<{ readonly endpoint: Endpoint; stop(): Promise<void> }> {
  mkdirSync(folder, { recursive: true })
  const program = programIn(folder)
  const etcd = await startEtcd(join(folder, 'etcd'))
  const file = (name: string): string => join(folder, name)
  writeFileSync(file('tokens.csv'), `${token},admin,1,"system:masters"\n`)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file('sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }), {
    mode: 0o600,
  })
  const port = await freePort()
  const flags = [
    ...[`--etcd-servers=${etcd.url}`, `--cert-dir=${file('certs')}`, '--bind-address=127.0.0.1'],
    ...[`--secure-port=${port}`, `--token-auth-file=${file('tokens.csv')}`],
    ...[`--service-account-key-file=${file('sa.key')}`],
    ...[`--service-account-signing-key-file=${file('sa.key')}`],
    ...['--service-account-issuer=https://kubernetes.default.svc', '--authorization-mode=RBAC'],
    ...['--service-cluster-ip-range=10.96.0.0/16', '--disable-admission-plugins=ServiceAccount'],
  ]
  const log = openSync(file('kube-apiserver.log'), 'w')
  const child = spawn(program, flags, { stdio: ['ignore', log, log] })
  endWithBench(child)
  const exited = once(child, 'exit')
  const endpoint: Endpoint = { origin: `https://127.0.0.1:${port}`, token }
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
    await etcd.stop()
  }
  for (let waitedMs = 0; !(await isReady(endpoint)); waitedMs += 200) {
    if (child.exitCode !== null || waitedMs > readyMs)
      throw new Error(`kube-apiserver is not ready: see ${file('kube-apiserver.log')}`)
    await delay(200)
  }
  return { endpoint, stop }
}

async function isReady(endpoint: Endpoint): Promise<boolean> {
  const session = openSession(endpoint)
  session.on('error', () => {})
  try {
    const { status } = await answerTo(session, { method: 'GET', path: '/readyz', token })
    return status === 200
  } catch {
    return false
  } finally {
    session.destroy()
  }
}
