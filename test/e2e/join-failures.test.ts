/** A join that cannot succeed: `skiff join` names the step that fails, from the first line about trouble on, and why. */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatToken } from '../../cluster/plan/bootstrap-token.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { observe } from '../../cluster/observe.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { processesIn } from './machine.ts'
import { createPlace } from './place.ts'

const place = createPlace()
/** Accepts connections and never says a word. */
const silent = createServer(() => {})
let cluster: Cluster

beforeAll(async () => {
  cluster = await place.up('lab', ['--nodes', '0'])
  // Requests stay as they are from now on: nobody approves them by itself.
  const { clusterRoleBindings } = resourcesOf(cluster.client.dialect)
  const bindings = cluster.client.resource(clusterRoleBindings)
  await bindings.delete({ name: 'kubeadm:node-autoapprove-bootstrap' })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  silent.close()
  await place[Symbol.asyncDispose]()
})

interface Attempt {
  readonly node: string
  readonly token: string
  readonly server?: string
  readonly pin?: string
}

interface Report {
  readonly step: string
  readonly reason: RegExp
  /** What the step comes to. Steps that may pass by themselves wait for a while before they fail. */
  readonly state?: 'failed' | 'waiting'
}

/** Runs `skiff join` until it says so; resolves when the command has ended. */
async function joinUntil(attempt: Attempt, report: Report): Promise<{ code: number | null }> {
  const { node, token, server = cluster.server, pin = cluster.config.caHash } = attempt
  const { step, reason, state = 'failed' } = report
  const child = place.start([
    ...['join', server, '--token', token, '--discovery-token-ca-cert-hash', pin],
    ...['--node-name', node, '--port', '0'],
  ])
  const said: string[] = []
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const reported = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      said.push(line)
      if (line.includes(`join: ${step} ${state} `)) resolve(line)
    })
    void exited.then((code) => reject(new Error(`it ended with ${code}: ${said.join('\n')}`)))
  })
  const last = await reported
  const first = said.find((line) => /join: \w+ (waiting|failed) /.test(line)) ?? ''
  // From the beginning it is this step, for a reason that is said.
  expect(first, said.join('\n')).toMatch(new RegExp(`join: ${step} \\w+ .*reason="`))
  expect(last, said.join('\n')).toMatch(reason)
  if (!last.includes(' retrying=false')) child.kill('SIGINT')
  return { code: await exited }
}

const goodToken = async (): Promise<string> => formatToken(await cluster.createToken())
/** Waits until cluster-info is signed with the token. */
async function signedToken(): Promise<string> {
  const token = await goodToken()
  await untilSigned(token)
  return token
}
async function untilSigned(token: string): Promise<void> {
  const { client } = cluster
  const { dialect, clock } = client
  const configMaps = client.resource(resourcesOf(dialect).configMaps)
  const signal = AbortSignal.timeout(90_000)
  const namespace = dialect.publicNamespace
  await observe({ client: configMaps, clock, namespace, signal }, (objects) => {
    const info = objects.get(`${namespace}/cluster-info`)?.['data'] as Record<string, string>
    return info?.[`jws-kubeconfig-${token.slice(0, 6)}`] === undefined ? undefined : true
  })
}

/** What does not pass by itself ends the command with 1; what may, goes on until Ctrl-C and then ends with 0. */
test.concurrent('nothing listens: discovery, refused', async () => {
  const attempt = { node: 'refused', token: await goodToken(), server: 'https://127.0.0.1:1' }
  const reason = /127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/
  expect(await joinUntil(attempt, { step: 'discovery', reason })).toEqual({ code: 0 })
})

test.concurrent('somebody listens and never answers: discovery, no answer', async () => {
  const { port } = silent.address() as AddressInfo
  const server = `https://127.0.0.1:${port}`
  const attempt = { node: 'silent', token: await goodToken(), server }
  const reason = /cannot be reached: .*no answer in time/
  expect(await joinUntil(attempt, { step: 'discovery', reason })).toEqual({ code: 0 })
})

test.concurrent('the pin is that of another authority: pin', async () => {
  const attempt = { node: 'wrong-pin', token: await signedToken(), pin: `sha256:${'0'.repeat(64)}` }
  const reason = /has the hash sha256:[0-9a-f]{64}, which is not the one/
  expect(await joinUntil(attempt, { step: 'pin', reason })).toEqual({ code: 1 })
})

test.concurrent('the id of the token is known and its secret is not: signature', async () => {
  const token = `${(await signedToken()).slice(0, 6)}.0000000000000000`
  const reason = /does not fit token .*secret is wrong/
  expect(await joinUntil({ node: 'bad-signature', token }, { step: 'signature', reason })).toEqual({
    code: 1,
  })
})

test.concurrent('the token is unknown: signature', async () => {
  const attempt = { node: 'unknown-token', token: 'abcdef.0123456789abcdef' }
  const reason = /not signed with token .*unknown, expired/
  expect(await joinUntil(attempt, { step: 'signature', reason })).toEqual({ code: 0 })
})

test.concurrent('the token has expired: signature', async () => {
  const token = formatToken(await cluster.createToken({ ttlMs: -60_000 }))
  const reason = /not signed with token .*unknown, expired/
  expect(await joinUntil({ node: 'expired-token', token }, { step: 'signature', reason })).toEqual({
    code: 0,
  })
})

test.concurrent('the token signs and does not authenticate: token', async () => {
  const token = formatToken(await cluster.createToken({ usages: ['signing'] }))
  await untilSigned(token)
  const reason = /does not accept the bootstrap token/
  expect(await joinUntil({ node: 'signing-only', token }, { step: 'token', reason })).toEqual({
    code: 0,
  })
})

test.concurrent('nobody approves the request: csr, and how to approve it', async () => {
  const attempt = { node: 'not-approved', token: await signedToken() }
  const reason = /csr-\w+ is not approved yet.*certificate approve csr-/
  expect(await joinUntil(attempt, { step: 'csr', reason, state: 'waiting' })).toEqual({ code: 0 })
})

test.concurrent('somebody denies the request: csr, and the reason given', async () => {
  const token = await signedToken()
  const { client } = cluster
  const { clock } = client
  const csrs = client.resource(resourcesOf(client.dialect).certificateSigningRequests)
  const denying = observe({ client: csrs, clock, signal: AbortSignal.timeout(90_000) }, (objects) =>
    [...objects.values()].find((one) => {
      const { username } = one['spec'] as { username?: string }
      return username === `system:bootstrap:${token.slice(0, 6)}`
    }),
  ).then(async (request) => {
    const denied = { type: 'Denied', status: 'True', reason: 'Unwanted', message: 'not this one' }
    await csrs.update({ ...request, status: { conditions: [denied] } }, { subresource: 'approval' })
  })
  const reason = /was refused: Denied \(Unwanted: not this one\)/
  const joining = joinUntil({ node: 'denied', token }, { step: 'csr', reason })
  expect(await Promise.all([joining, denying])).toEqual([{ code: 1 }, undefined])
})

test('none of them became a node, and none of their processes is left', async () => {
  const nodes = await cluster.client.resource(resourcesOf(cluster.client.dialect).nodes).list()
  expect(nodes.items).toEqual([])
  const left = processesIn(place.root).filter(({ command }) => command.includes('node-agent.js'))
  expect(left).toEqual([])
})
