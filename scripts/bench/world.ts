/** What the benches share: a folder with certificates, API servers on stores in it, a bare server, and a Pod as it is stored. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createPki, issue } from '../../certs/pki.ts'
import { clientProfile } from '../../certs/profiles.ts'
import { writePki } from '../../certs/pki-files.ts'
import { dialects } from '../../components/api/dialect.ts'
import { benchFolder, removeBenchFolder } from './leave-nothing.ts'
import { answerOf, exchange, openSession } from './load.ts'
import type { Subject } from './measured-load.ts'
import { peerOf, type Peer } from './peer.ts'
import { podManifest, podsPath } from './pod.ts'
import { serve, type Served } from './process.ts'

const root = join(import.meta.dirname, '../..')

export interface Running extends Subject {
  /** What its main thread has allocated on the JavaScript heap until its last collection. */
  allocatedBytes(): number
  stop(): Promise<void>
}

export interface World {
  readonly root: string
  /** The server that BENCH_PEER names. */
  readonly peer: Peer | undefined
  /** The bytes of a Pod as the API answers with it. */
  readonly pod: Buffer
  /** A path in the folder. */
  file(name: string): string
  /** A client certificate for that user, in no group; PEM. */
  credentialFor(user: string): { readonly cert: string; readonly key: string }
  /** A server on that store; an empty one if no store has that name yet. Flags win over the usual ones. */
  startServer(storeName: string, flags?: readonly string[], program?: string): Promise<Running>
  /** With the address of an etcd, what is posted is committed there before the answer. */
  startBare(etcdUrl?: string): Promise<Running>
  /** Stops everything and removes the folder. */
  close(): Promise<void>
}

/** Flags of an API server whose certificates and store lie in the folder. */
function serverFlags(file: World['file'], storeName: string): string[] {
  return [
    '--secure-port=0',
    `--store=sqlite:${file(storeName)}`,
    `--tls-cert-file=${file('pki/apiserver.crt')}`,
    `--tls-private-key-file=${file('pki/apiserver.key')}`,
    `--client-ca-file=${file('pki/ca.crt')}`,
    `--service-account-key-file=${file('pki/sa.pub')}`,
    `--service-account-signing-key-file=${file('pki/sa.key')}`,
    '--authorization-mode=Node,RBAC',
    '--disable-admission-plugins=ServiceAccount',
  ]
}

/** The bytes of a Pod as a server answers with it; the server is stopped afterwards. */
async function storedPod(server: Running): Promise<Buffer> {
  const session = openSession(server.endpoint)
  const body = Buffer.from(JSON.stringify(podManifest('one')))
  const { status } = await exchange(session, { method: 'POST', path: podsPath, body })
  if (status !== 201) throw new Error(`create answered ${status}`)
  const pod = await answerOf(session, `${podsPath}/one`)
  session.close()
  await server.stop()
  return pod
}

export async function createWorld(): Promise<World> {
  const peer = peerOf(process.env['BENCH_PEER'])
  const folder = benchFolder()
  const file = (name: string): string => join(folder, name)
  const running: Served[] = []
  const pki = createPki({
    nowMs: Date.now(),
    apiServer: { serviceName: dialects.kubernetes.apiServerService },
  })
  // As in a cluster, not beside the stores: a server watches the folder of its certificates.
  mkdirSync(file('pki'))
  await writePki(file('pki'), pki)
  const [ca, cert, key] = ['ca.crt', 'admin.crt', 'admin.key'].map((name) =>
    readFileSync(file(`pki/${name}`)),
  ) as [Buffer, Buffer, Buffer]
  const start = async (program: string, args: readonly string[]): Promise<Running> => {
    const served = await serve(resolve(root, program), args)
    running.push(served)
    const endpoint = { origin: `https://127.0.0.1:${served.port}`, ca, cert, key }
    const { allocatedBytes, stop } = served
    return { endpoint, pid: served.child.pid ?? 0, allocatedBytes, stop }
  }
  const startServer: World['startServer'] = (
    storeName,
    flags = [],
    program = 'dist/api-server.js',
  ) => start(program, [...serverFlags(file, storeName), ...flags])
  const close = async (): Promise<void> => {
    await Promise.all(running.map((one) => one.stop()))
    removeBenchFolder(folder)
    await peer?.clear()
  }
  try {
    const pod = await storedPod(await startServer('first.db'))
    writeFileSync(file('pod.json'), pod)
    const bareArgs = [file('pki/apiserver.crt'), file('pki/apiserver.key'), file('pod.json')]
    return {
      root,
      peer,
      pod,
      file,
      credentialFor: (user) => {
        const subject = { commonName: user, organizations: [] }
        const made = issue(pki.authority, { profile: clientProfile(subject), nowMs: Date.now() })
        return { cert: made.certificatePem, key: made.privateKeyPem }
      },
      startServer,
      startBare: (etcdUrl) =>
        start('scripts/bench/bare-server.ts', [
          ...bareArgs,
          ...(etcdUrl === undefined ? [] : [etcdUrl]),
        ]),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
