/** Joining a real API server over TLS, in this process: what works, and how each way of failing is told. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import type { Node } from '../../../components/api/generated/types.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { createRestClient } from '../../../components/client/rest-client.ts'
import { pinOf } from '../../../components/node-agent/join/discovery.ts'
import type { JoinReport } from '../../../components/node-agent/join/join-progress.ts'
import type { Agent } from '../agent.ts'
import { startAgent } from '../agent.ts'
import type { Lab } from '../lab.ts'
import { startLab } from '../lab.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { eventually } from '../../support/eventually.ts'
import { expectMode } from '../../support/file-mode.ts'

const resources = resourcesOf(dialects.kubernetes)
let lab: Lab
let rootDir = ''
beforeAll(async () => {
  lab = await startLab()
})
afterAll(async () => {
  await lab.stop()
})

const agents: Agent[] = []
beforeEach(async () => {
  rootDir = temporaryFolder('agent')
})
afterEach(async () => {
  lab.policy = 'sign'
  lab.lifetimeMs = 24 * 3_600_000
  for (const agent of agents.splice(0)) await agent.stop()
})

function start(name: string, flags: Record<string, string> = {}): Agent {
  const agent = startAgent(lab, name, { rootDir, flags })
  agents.push(agent)
  return agent
}

const nodes = () => lab.admin.resource<Node>(resources.nodes)

describe('a node that may join', () => {
  test('has its own certificate and is Ready, and every step was told in order', async () => {
    const agent = start('joiner', { 'node-labels': 'topology.kubernetes.io/zone=z1' })
    expect(await agent.ready).toMatchObject({ node: 'joiner', port: expect.any(Number) as number })
    const done = agent.reports.filter(({ state }) => state === 'done').map(({ step }) => step)
    expect(done).toEqual([
      'discovery',
      'signature',
      'pin',
      'trust',
      'token',
      'csr',
      'certificate',
      'register',
    ])
    const node = await nodes().get({ name: 'joiner' })
    expect(node.metadata.labels).toMatchObject({ 'topology.kubernetes.io/zone': 'z1' })
    const readiness = node.status?.conditions?.find(({ type }) => type === 'Ready')
    expect(readiness?.status).toBe('True')
    const lease = await lab.admin
      .resource(resources.leases)
      .get({ namespace: 'kube-node-lease', name: 'joiner' })
    expect(lease['spec'].holderIdentity).toBe('joiner')
  })

  test('keeps its key to itself: one file, 0600, and no secret in any log line or report', async () => {
    const agent = start('quiet')
    await agent.ready
    const path = join(rootDir, 'pki', 'kubelet-client-current.pem')
    expectMode(path, 0o600)
    expect(await readdir(join(rootDir, 'pki'))).toEqual(['kubelet-client-current.pem'])
    const key = /PRIVATE KEY-----\n(.*)\n/.exec(await readFile(path, 'utf8'))?.[1] ?? 'no key'
    const told = agent.logged.join('') + JSON.stringify(agent.reports)
    expect(told).not.toContain(key)
    expect(told).not.toContain('0123456789abcdef')
    expect(await readFile(join(rootDir, 'kubeconfig'), 'utf8')).not.toContain('0123456789abcdef')
  })

  test('starts again from its files, without the token', async () => {
    await start('again').ready
    await agents[0]?.stop()
    const second = start('again', { 'bootstrap-token': '', server: '' })
    await second.ready
    expect(second.reports.map(({ step }) => step)).toEqual(['register', 'register'])
  })

  test('renews its certificate in time and goes on with the new one', async () => {
    // Certificates are dated five minutes back, so 90 % of this one's life is over when it is made.
    lab.lifetimeMs = 30_000
    const agent = start('renewer')
    await agent.ready
    const path = join(rootDir, 'pki', 'kubelet-client-current.pem')
    const first = await readFile(path, 'utf8')
    lab.lifetimeMs = 24 * 3_600_000
    await eventually(async () => expect(await readFile(path, 'utf8')).not.toBe(first))
    const before = await nodes().get({ name: 'renewer' })
    await nodes().patch(
      { name: 'renewer' },
      { metadata: { annotations: { 'skiff.dev/disk-pressure': 'true' } } },
      { type: 'merge' },
    )
    await eventually(async () => {
      const { status } = await nodes().get({ name: before.metadata.name ?? '' })
      const disk = status?.conditions?.find(({ type }) => type === 'DiskPressure')
      expect(disk?.status).toBe('True')
    })
  })

  test('has a serving certificate of its own making, or one that the cluster signed', async () => {
    const healthz = { method: 'GET', path: '/healthz' }
    const trusting = (port: unknown) =>
      createRestClient({ server: `https://127.0.0.1:${String(port)}`, ca: lab.ca })
    const own = trusting((await start('self-signed').ready)['port'])
    await expect(own.bytes(healthz)).rejects.toMatchObject({ code: 'untrusted' })
    own.close()
    await agents[0]?.stop()
    const agent = start('signed', { 'rotate-server-certificates': 'true' })
    const { port } = await agent.ready
    await eventually(async () => {
      const signed = trusting(port)
      try {
        // Trusted by the cluster's authority: what is missing is only the caller's identity.
        await expect(signed.bytes(healthz)).rejects.toMatchObject({ code: 401 })
      } finally {
        signed.close()
      }
    })
    await stat(join(rootDir, 'pki', 'kubelet-server-current.pem'))
  })

  test('can be a crowd: each with its own name, certificate and lease', async () => {
    const agent = start('crowd', { nodes: '5' })
    expect(await agent.ready).toMatchObject({ nodes: 5 })
    const names = Array.from({ length: 5 }, (_, index) => `crowd-${index}`)
    for (const name of names) {
      expect((await nodes().get({ name })).metadata.name).toBe(name)
      await stat(join(rootDir, 'pki', name, 'kubelet-client-current.pem'))
    }
    expect(agent.reports.filter(({ step }) => step === 'discovery')).toHaveLength(2)
  })

  test('of a crowd, sixteen join at a time: the server is asked for no more certificates at once', async () => {
    lab.policy = 'ignore'
    const csrs = lab.admin.resource(resources.certificateSigningRequests)
    const asked = async (): Promise<number> => {
      const { items } = await csrs.list()
      return items.filter(({ status }) => status?.conditions === undefined).length
    }
    const agent = start('many', { nodes: '40' })
    await eventually(async () => expect(await asked()).toBe(16))
    // Each of the sixteen says after three seconds that it waits; by then others would have asked too.
    await agent.until('csr', 'waiting')
    expect(await asked()).toBe(16)
  })
})

describe('a join that cannot succeed says which step failed', () => {
  const failing = async (agent: Agent, step: string): Promise<JoinReport> => {
    const report = await agent.until(step, 'failed')
    expect(report.reason).toMatch(/./)
    expect(report.hint).toMatch(/./)
    return report
  }

  /** Some try again for seconds before they report: these all start at once. */
  const trying = new Map<string, Agent>()
  const mute = createServer(() => {})
  beforeAll(async () => {
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const { port } = mute.address() as AddressInfo
    await lab.publish('nologn.0123456789abcdef')
    const flags = {
      lost: { server: 'https://127.0.0.1:1' },
      mute: { server: `https://127.0.0.1:${port}` },
      unknown: { 'bootstrap-token': 'zzzzzz.0123456789abcdef' },
      nologin: { 'bootstrap-token': 'nologn.0123456789abcdef' },
    }
    for (const [name, own] of Object.entries(flags)) {
      const folder = temporaryFolder('agent')
      trying.set(name, startAgent(lab, name, { rootDir: folder, flags: own }))
    }
  })
  afterAll(async () => {
    for (const agent of trying.values()) await agent.stop()
    mute.close()
  })
  const failingOf = (name: string, step: string): Promise<JoinReport> => {
    const agent = trying.get(name)
    if (agent === undefined) throw new Error(`no agent ${name}`)
    return failing(agent, step)
  }

  test('nobody listens', async () => {
    expect(await failingOf('lost', 'discovery')).toMatchObject({ retrying: true })
  })

  test('somebody listens and never answers', async () => {
    expect((await failingOf('mute', 'discovery')).reason).toContain('no answer in time')
  })

  test('the pin is of another authority', async () => {
    const other = createAuthority({ commonName: 'kubernetes', nowMs: Date.now() })
    const agent = start('pinned', { 'discovery-token-ca-cert-hash': pinOf(other.certificatePem) })
    expect(await failing(agent, 'pin')).toMatchObject({ retrying: false })
    expect(String(await agent.finished)).toContain('cannot join')
  })

  test('the token is unknown', async () => {
    const { reason } = await failingOf('unknown', 'signature')
    expect(reason).toContain('not signed with token "zzzzzz"')
  })

  test('the secret of the token is wrong', async () => {
    const agent = start('forged', { 'bootstrap-token': 'abcdef.fedcba9876543210' })
    expect(await failing(agent, 'signature')).toMatchObject({ retrying: false })
  })

  test('the token signs but does not authenticate', async () => {
    const { reason } = await failingOf('nologin', 'token')
    expect(reason).toContain('does not accept the bootstrap token')
  })

  test('the request is denied', async () => {
    lab.policy = 'deny'
    const agent = start('denied')
    const report = await failing(agent, 'csr')
    expect(report.reason).toContain('Denied (Lab: decided by the lab)')
    expect(String(await agent.finished)).toContain('the certificate request was refused')
  })

  test('nobody approves the request: it is still waiting, and says for what', async () => {
    lab.policy = 'ignore'
    const agent = start('patient')
    const report = await agent.until('csr', 'waiting')
    expect(report.reason).toMatch(/csr-\w+ is not approved yet/)
    expect(report.hint).toContain('kubectl certificate approve csr-')
  })

  test('nothing to join with is a refusal to start', async () => {
    const agent = start('empty', { 'bootstrap-token': '', server: '' })
    expect(String(await agent.finished)).toContain('no usable credentials')
  })
})
