/** Node agents as processes that join a running cluster over HTTPS: their credentials, what these may do, and their gates. */
import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Cluster } from '../../cluster/cluster.ts'
import { observe } from '../../cluster/observe.ts'
import { waitForNodes } from '../../cluster/wait-for-nodes.ts'
import { resourcesOf, type Resources } from '../../components/api/resources.ts'
import { createClient, type Client } from '../../components/client/client.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { eventually } from '../support/eventually.ts'
import { startAgentProcess, type AgentProcess } from './agent-process.ts'
import { createPlace } from './place.ts'
import { expectMode } from '../support/file-mode.ts'

const place = createPlace()
let cluster: Cluster
let resources: Resources
/** Every gate as it is by default. */
let plain: AgentProcess
/** Checkpoints off, systemd's watchdog on. */
let gated: AgentProcess
/** More memory, disk and processes are to be free than any machine has. */
let pressed: AgentProcess

/** A systemd-notify that keeps what it is to say, in a file named by the environment. */
function fakeNotify(): string {
  const folder = join(place.root, 'tmp', 'bin')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'systemd-notify')
  writeFileSync(file, '#!/bin/sh\necho "$1" >> "$NOTIFIED"\n')
  chmodSync(file, 0o755)
  return folder
}
const notifiedBy = (name: string): string => join(place.root, 'tmp', `notified-${name}`)
const notesOf = (name: string): string[] =>
  readFileSync(notifiedBy(name), 'utf8').split('\n').slice(0, -1)

async function startAgent(name: string, ...flags: string[]): Promise<AgentProcess> {
  writeFileSync(notifiedBy(name), '')
  const environment = {
    PATH: [fakeNotify(), process.env['PATH']].join(delimiter),
    NOTIFIED: notifiedBy(name),
    // As systemd sets them for a unit with WatchdogSec=400ms.
    NOTIFY_SOCKET: notifiedBy(name),
    WATCHDOG_USEC: '400000',
  }
  return await startAgentProcess({ place, cluster }, name, { flags, environment })
}

beforeAll(async () => {
  cluster = await place.up('lab', ['--nodes', '0'])
  resources = resourcesOf(cluster.client.dialect)
  plain = await startAgent('plain')
  gated = await startAgent(
    'gated',
    '--feature-gates=ContainerCheckpoint=false,SystemdWatchdog=true',
  )
  const thresholds = ['memory.available<1Ei', 'nodefs.available<1Ei', 'pid.available<1Ei'].join()
  pressed = await startAgent('pressed', `--eviction-hard=${thresholds}`)
  await waitForNodes({
    client: cluster.client,
    paths: cluster.paths,
    nodes: [plain, gated, pressed],
    waitMs: 90_000,
    signal: new AbortController().signal,
  })
})
afterAll(() => place[Symbol.asyncDispose]())

/** `ok`, or the status code of the failure. */
async function outcomeOf(doing: Promise<unknown>): Promise<'ok' | number> {
  return await doing.then(
    () => 'ok' as const,
    (error: unknown) => {
      if (isStatusError(error)) return error.code
      throw error
    },
  )
}

const pod = (name: string, nodeName: string, spec: object = {}): KubeObject => ({
  metadata: { name, namespace: 'default' },
  spec: { nodeName, containers: [{ name: 'main', image: 'example.com/app:1' }], ...spec },
})

async function untilRunning(...names: string[]): Promise<void> {
  const { client } = cluster
  const watched = { client: client.resource(resources.pods), clock: client.clock }
  const signal = AbortSignal.timeout(90_000)
  await observe({ ...watched, namespace: 'default', signal }, (all) => {
    const phases = names.map(
      (name) => (all.get(`default/${name}`)?.['status'] as { phase?: string } | undefined)?.phase,
    )
    return phases.every((phase) => phase === 'Running') ? true : undefined
  })
}

test('an agent joins with its token, and then has a certificate of its own and no use for the token', async () => {
  const { client } = cluster
  const certificate = new X509Certificate(plain.credential())
  expect(certificate.subject.split('\n').toSorted()).toEqual([
    'CN=system:node:plain',
    'O=system:nodes',
  ])
  const authority = new X509Certificate(readFileSync(join(cluster.paths.pki, 'ca.crt')))
  expect(certificate.verify(authority.publicKey)).toBe(true)
  expectMode(join(plain.rootDir, 'pki', 'kubelet-client-current.pem'), 0o600)
  expect(readFileSync(join(plain.rootDir, 'kubeconfig'), 'utf8')).not.toContain(plain.token)

  const [id] = plain.token.split('.')
  const requests = await client.resource(resources.certificateSigningRequests).list()
  const own = requests.items.find(
    ({ spec }) => (spec as { username?: string }).username === `system:bootstrap:${id}`,
  )
  expect(own?.['spec']).toMatchObject({
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    groups: expect.arrayContaining(['system:bootstrappers']) as string[],
  })
  expect(own?.['status']).toMatchObject({ conditions: [{ type: 'Approved', status: 'True' }] })

  const asNode = plain.client()
  expect((await asNode.resource(resources.nodes).get({ name: 'plain' })).metadata.name).toBe(
    'plain',
  )
  asNode.close()
  const asToken = createClient({
    server: cluster.server,
    ca: readFileSync(join(cluster.paths.pki, 'ca.crt')),
    dialect: client.dialect,
    credentials: { token: plain.token },
  })
  expect(await outcomeOf(asToken.resource(resources.pods).list())).toBe(403)
  asToken.close()
})

test("a node reads the secrets of its own pods only while they are there, and writes no other node's status", async () => {
  const { client } = cluster
  const secrets = client.resource(resources.secrets)
  for (const name of ['mounted', 'unrelated']) {
    await secrets.create({ metadata: { name, namespace: 'default' }, stringData: { a: 'b' } })
  }
  const volumes = [{ name: 'v', secret: { secretName: 'mounted' } }]
  await client.resource(resources.pods).create(pod('reader', 'plain', { volumes }))
  const [own, other] = [plain.client(), gated.client()]
  const reads = async (as: Client, name = 'mounted'): Promise<'ok' | number> =>
    await outcomeOf(as.resource(resources.secrets).get({ namespace: 'default', name }))
  expect(await reads(own)).toBe('ok')
  expect(await reads(own, 'unrelated')).toBe(403)
  expect(await reads(other)).toBe(403)
  expect(await outcomeOf(own.resource(resources.secrets).list({ namespace: 'default' }))).toBe(403)

  const label = (as: Client, name: string): Promise<unknown> =>
    as
      .resource(resources.nodes)
      .patch({ name }, { metadata: { labels: { 'example.com/seen': 'yes' } } }, { type: 'merge' })
  expect(await outcomeOf(label(own, 'plain'))).toBe('ok')
  expect(await outcomeOf(label(other, 'plain'))).toBe(403)

  const key = { namespace: 'default', name: 'reader' }
  await client.resource(resources.pods).delete(key, { gracePeriodSeconds: 0 })
  expect(await reads(own)).toBe(403)
  own.close()
  other.close()
})

/** POSTs to the server of a node, as the API server or without a certificate. */
async function post(
  node: AgentProcess,
  path: string,
  { withCertificate = true } = {},
): Promise<{ status: number; text: string }> {
  const { status } = await cluster.client.resource(resources.nodes).get({ name: node.name })
  const { daemonEndpoints } = status as { daemonEndpoints: { kubeletEndpoint: { Port: number } } }
  const credential = (end: string): Buffer =>
    readFileSync(join(cluster.paths.pki, `apiserver-kubelet-client.${end}`))
  return await new Promise((resolve, reject) => {
    const asked = request({
      host: '127.0.0.1',
      port: daemonEndpoints.kubeletEndpoint.Port,
      method: 'POST',
      path,
      // The serving certificate is the agent's own.
      rejectUnauthorized: false,
      ...(withCertificate ? { cert: credential('crt'), key: credential('key') } : {}),
    })
    asked.once('error', reject).once('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    asked.end()
  })
}

test('[CKPT-002][CKPT-015][ERR-009] an agent takes checkpoints, and with the gate off answers 404', async () => {
  const pods = cluster.client.resource(resources.pods)
  for (const { name } of [plain, gated]) await pods.create(pod(`on-${name}`, name))
  await untilRunning('on-plain', 'on-gated')

  const taken = await post(plain, '/checkpoint/default/on-plain/main')
  expect(taken.status, taken.text).toBe(200)
  const { items } = JSON.parse(taken.text) as { items: string[] }
  expect(items).toHaveLength(1)
  expect(statSync(items[0] ?? '').size).toBeGreaterThan(0)
  expect((await post(gated, '/checkpoint/default/on-gated/main')).status).toBe(404)

  const anonymous = { withCertificate: false }
  expect((await post(plain, '/checkpoint/default/on-plain/main', anonymous)).status).toBe(401)
  // The same through the API server.
  const proxied = (name: string): Promise<unknown> =>
    cluster.client.rest.json({
      method: 'POST',
      path: `/api/v1/nodes/${name}/proxy/checkpoint/default/on-${name}/main`,
    })
  expect(await proxied('plain')).toMatchObject({ items: [expect.any(String)] })
  expect(await outcomeOf(proxied('gated'))).toBe(404)
})

test('[NODE-013] the condition of each pressure and of the network is True while there is a problem, else False', async () => {
  const { client } = cluster
  const nodes = client.resource(resources.nodes)
  const types = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable']
  type Conditions = { type: string; status: string }[]
  const statuses = async (name: string): Promise<(string | undefined)[]> => {
    const { conditions = [] } = (await nodes.get({ name }))['status'] as { conditions?: Conditions }
    return types.map((type) => conditions.find((one) => one.type === type)?.status)
  }
  await eventually(async () => {
    expect(await statuses('plain')).toEqual(['False', 'False', 'False', undefined])
    expect(await statuses('pressed')).toEqual(['True', 'True', 'True', undefined])
  })
  // The network of a node is another's to judge; the agent leaves that as it is, and the taint follows.
  const taint = 'node.kubernetes.io/network-unavailable'
  for (const status of ['True', 'False']) {
    const conditions = [{ type: 'NetworkUnavailable', status, reason: 'Test', message: '' }]
    await nodes.patch(
      { name: 'plain' },
      { status: { conditions } },
      {
        type: 'strategic',
        subresource: 'status',
      },
    )
    await eventually(async () => {
      const { spec } = await nodes.get({ name: 'plain' })
      const keys = ((spec as { taints?: { key: string }[] }).taints ?? []).map(({ key }) => key)
      expect(keys.includes(taint)).toBe(status === 'True')
    })
    expect(await statuses('plain')).toEqual(['False', 'False', 'False', status])
  }
})

test('[NODE-026] an agent under a watchdog sends keep-alives with the gate on, and none by default', async () => {
  await eventually(() => expect(notesOf('gated').length).toBeGreaterThanOrEqual(5))
  expect(new Set(notesOf('gated'))).toEqual(new Set(['READY=1', 'WATCHDOG=1']))
  expect(notesOf('plain')).not.toContain('WATCHDOG=1')
})
