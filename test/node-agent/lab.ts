/** Lab: an API server in this process with everything a node needs to join: token, cluster-info, roles, and a signer. */
import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { profileOfRequest } from '../../certs/profiles.ts'
import { parseCertificateRequest } from '../../certs/csr.ts'
import { sign } from '../../certs/authority.ts'
import { createPki } from '../../certs/pki.ts'
import { writePki } from '../../certs/pki-files.ts'
import type { KeyUsage } from '../../certs/usages.ts'
import { formatToken, parseToken, tokenSecret } from '../../cluster/plan/bootstrap-token.ts'
import { createObjects, discoveryKubeconfig, joinObjects } from '../../cluster/plan/join-objects.ts'
import { runApiServer } from '../../components/api-server/start/api-server.ts'
import { apiServerFlags } from '../../components/api-server/configuration/options.ts'
import { dialects } from '../../components/api/dialect.ts'
import type { CertificateSigningRequest } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { createClient } from '../../components/client/client.ts'
import { createInformer } from '../../components/client/informer.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { commonFlags } from '../../components/component-base/component.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { silentLog } from '../../components/component-base/log.ts'
import type { Log } from '../../components/component-base/log.ts'
import { pinOf } from '../../components/node-agent/join/discovery.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

export const token = parseToken('abcdef.0123456789abcdef')

export interface Lab {
  readonly server: string
  readonly dir: string
  readonly pki: string
  readonly pin: string
  readonly ca: string
  /** system:masters */
  readonly admin: Client
  readonly adminCredentials: { readonly cert: string; readonly key: string }
  readonly signal: AbortSignal
  /** What the signer does with requests from now on; default `sign` for the life given. */
  policy: 'sign' | 'deny' | 'ignore'
  lifetimeMs: number
  /** Signs cluster-info with a token, in place of the controller. */
  publish(signedWith?: string): Promise<void>
  stop(): Promise<void>
}

const { kubernetes: dialect } = dialects

/** A running server; `port` 0 picks a free one. */
export async function startLab(options: { port?: number; log?: Log } = {}): Promise<Lab> {
  const log = options.log ?? silentLog
  const dir = temporaryFolder('skiff-lab')
  const pkiDir = join(dir, 'pki')
  const pki = createPki({
    nowMs: Date.now(),
    apiServer: { serviceName: 'kubernetes', ipAddresses: ['127.0.0.1'] },
  })
  await writePki(pkiDir, pki)
  const file = (name: string): string => join(pkiDir, name)
  const args = [
    `--secure-port=${options.port ?? 0}`,
    `--tls-cert-file=${file('apiserver.crt')}`,
    `--tls-private-key-file=${file('apiserver.key')}`,
    `--client-ca-file=${file('ca.crt')}`,
    `--service-account-key-file=${file('sa.pub')}`,
    `--service-account-signing-key-file=${file('sa.key')}`,
    `--kubelet-client-certificate=${file('apiserver-kubelet-client.crt')}`,
    `--kubelet-client-key=${file('apiserver-kubelet-client.key')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--enable-bootstrap-token-auth',
  ]
  const stop = new AbortController()
  const started = Promise.withResolvers<number>()
  const running = runApiServer({
    options: parseFlags({ ...apiServerFlags, ...commonFlags }, args),
    signal: stop.signal,
    clock: systemClock,
    log,
    ready: (info) => started.resolve(Number(info?.['port'])),
  })
  running.catch(started.reject)
  const port = await started.promise
  const server = `https://127.0.0.1:${port}`
  const ca = pki.authority.certificatePem
  const credential = pki.credentials.admin
  const adminCredentials = { cert: credential.certificatePem, key: credential.privateKeyPem }
  const admin = createClient({ server, ca, dialect, credentials: adminCredentials })
  const resources = resourcesOf(dialect)
  await createObjects(admin, joinObjects({ dialect, server, authorityPem: ca }))
  await createObjects(admin, [
    { resource: resources.secrets, object: tokenSecret({ token, dialect, nowMs: Date.now() }) },
  ])

  const csrs = admin.resource<CertificateSigningRequest>(resources.certificateSigningRequests)
  const decide = async (request: CertificateSigningRequest): Promise<void> => {
    if (lab.policy === 'ignore' || (request.status?.conditions?.length ?? 0) > 0) return
    const type = lab.policy === 'deny' ? 'Denied' : 'Approved'
    const condition = { type, status: 'True', reason: 'Lab', message: 'decided by the lab' }
    const decided = await csrs.update(
      { ...request, status: { ...request.status, conditions: [condition] } },
      { subresource: 'approval' },
    )
    if (type === 'Denied') return
    const parsed = parseCertificateRequest(Buffer.from(request.spec.request, 'base64').toString())
    const usages = (request.spec.usages ?? []) as KeyUsage[]
    const certificate = sign(pki.authority, {
      profile: profileOfRequest(parsed, { usages, lifetimeMs: lab.lifetimeMs }),
      publicKey: parsed.publicKey,
      nowMs: Date.now(),
    })
    await csrs.updateStatus({
      ...decided,
      status: { ...decided.status, certificate: Buffer.from(certificate).toString('base64') },
    })
  }
  const informer = createInformer({ client: csrs, clock: systemClock, log })
  informer.onEvent(({ type, object }) => {
    if (type !== 'add') return
    decide(object).catch((error: unknown) => log.error('the lab cannot decide', { error }))
  })
  const signing = informer.run(stop.signal)

  const lab: Lab = {
    server,
    dir,
    pki: pkiDir,
    pin: pinOf(ca),
    ca,
    admin,
    adminCredentials,
    signal: stop.signal,
    policy: 'sign',
    lifetimeMs: 24 * 3_600_000,
    async publish(signedWith = formatToken(token)) {
      const [id = ''] = signedWith.split('.')
      const kubeconfig = discoveryKubeconfig(server, ca)
      const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url')
      const payload = Buffer.from(kubeconfig).toString('base64url')
      const signature = createHmac('sha256', signedWith).update(`${header}.${payload}`)
      const data = { [`jws-kubeconfig-${id}`]: `${header}..${signature.digest('base64url')}` }
      await admin
        .resource(resources.configMaps)
        .patch(
          { namespace: dialect.publicNamespace, name: 'cluster-info' },
          { data },
          { type: 'merge' },
        )
    },
    async stop() {
      stop.abort(new Error('the lab closes'))
      admin.close()
      await Promise.allSettled([running, signing])
    },
  }
  await lab.publish()
  return lab
}
