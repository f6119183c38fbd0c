/** A join that cannot succeed: `skiff join` says within five seconds which step failed and why. */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatToken } from '../../cluster/bootstrap-token.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { observe } from '../../cluster/observe.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { processesIn } from './machine.ts'
import { createPlace } from './place.ts'

/** Of a machine that keeps up: one that is busy has a second and third try. */
const limitMs = 5000
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

/** Runs `skiff join` until it says something that fits, which it must do in time; resolves with that line. */
async function joinUntil(attempt: Attempt, pattern: RegExp): Promise<{ code: number | null }> {
  const { node, token, server = cluster.server, pin = cluster.config.caHash } = attempt
  const child = place.start([
    ...['join', server, '--token', token, '--discovery-token-ca-cert-hash', pin],
    ...['--node-name', node, '--port', '0'],
  ])
  const said: string[] = []
  let firstMs: number | undefined
  let isGivingUp = false
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const foundMs = await new Promise<number>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`${why}; it said:\n${said.join('\n')}`))
    const timer = setTimeout(() => fail('nothing fitting in time'), limitMs + 60_000)
    createInterface({ input: child.stderr! }).on('line', (line) => {
      said.push(line)
      firstMs ??= performance.now()
      if (!pattern.test(line)) return
      isGivingUp = line.includes(' retrying=false')
      clearTimeout(timer)
      resolve(performance.now() - firstMs)
    })
    void exited.then((code) => fail(`it ended with ${code}`))
  })
  expect(foundMs).toBeLessThan(limitMs)
  if (!isGivingUp) child.kill('SIGINT')
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
test.concurrent('nothing listens: discovery, refused', { retry: 2 }, async () => {
  const attempt = { node: 'refused', token: await goodToken(), server: 'https://127.0.0.1:1' }
  const pattern = /error join: discovery failed .*127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/
  expect(await joinUntil(attempt, pattern)).toEqual({ code: 0 })
})

test.concurrent(
  'somebody listens and never answers: discovery, no answer',
  { retry: 2 },
  async () => {
    const { port } = silent.address() as AddressInfo
    const server = `https://127.0.0.1:${port}`
    const attempt = { node: 'silent', token: await goodToken(), server }
    const pattern = /error join: discovery failed .*cannot be reached: .*no answer in time/
    expect(await joinUntil(attempt, pattern)).toEqual({ code: 0 })
  },
)

test.concurrent('the pin is that of another authority: pin', { retry: 2 }, async () => {
  const attempt = { node: 'wrong-pin', token: await signedToken(), pin: `sha256:${'0'.repeat(64)}` }
  const pattern = /error join: pin failed .*has the hash sha256:[0-9a-f]{64}, which is not the one/
  expect(await joinUntil(attempt, pattern)).toEqual({ code: 1 })
})

test.concurrent(
  'the id of the token is known and its secret is not: signature',
  { retry: 2 },
  async () => {
    const token = `${(await signedToken()).slice(0, 6)}.0000000000000000`
    const pattern = /error join: signature failed .*does not fit token .*secret is wrong/
    expect(await joinUntil({ node: 'bad-signature', token }, pattern)).toEqual({ code: 1 })
  },
)

test.concurrent('the token is unknown: signature', { retry: 2 }, async () => {
  const attempt = { node: 'unknown-token', token: 'abcdef.0123456789abcdef' }
  const pattern = /error join: signature failed .*not signed with token .*unknown, expired/
  expect(await joinUntil(attempt, pattern)).toEqual({ code: 0 })
})

test.concurrent('the token has expired: signature', { retry: 2 }, async () => {
  const token = formatToken(await cluster.createToken({ ttlMs: -60_000 }))
  const pattern = /error join: signature failed .*not signed with token .*unknown, expired/
  expect(await joinUntil({ node: 'expired-token', token }, pattern)).toEqual({ code: 0 })
})

test.concurrent('the token signs and does not authenticate: token', { retry: 2 }, async () => {
  const token = formatToken(await cluster.createToken({ usages: ['signing'] }))
  await untilSigned(token)
  const pattern = /error join: token failed .*does not accept the bootstrap token/
  expect(await joinUntil({ node: 'signing-only', token }, pattern)).toEqual({ code: 0 })
})

test.concurrent(
  'nobody approves the request: csr, and how to approve it',
  { retry: 2 },
  async () => {
    const attempt = { node: 'not-approved', token: await signedToken() }
    const pattern = /join: csr waiting .*csr-\w+ is not approved yet.*certificate approve csr-/
    expect(await joinUntil(attempt, pattern)).toEqual({ code: 0 })
  },
)

test.concurrent(
  'somebody denies the request: csr, and the reason given',
  { retry: 2 },
  async () => {
    const token = await signedToken()
    const { client } = cluster
    const { clock } = client
    const csrs = client.resource(resourcesOf(client.dialect).certificateSigningRequests)
    const denying = observe(
      { client: csrs, clock, signal: AbortSignal.timeout(90_000) },
      (objects) =>
        [...objects.values()].find((one) => {
          const { username } = one['spec'] as { username?: string }
          return username === `system:bootstrap:${token.slice(0, 6)}`
        }),
    ).then(async (request) => {
      const denied = { type: 'Denied', status: 'True', reason: 'Unwanted', message: 'not this one' }
      await csrs.update(
        { ...request, status: { conditions: [denied] } },
        { subresource: 'approval' },
      )
    })
    const pattern = /error join: csr failed .*was refused: Denied \(Unwanted: not this one\)/
    const joining = joinUntil({ node: 'denied', token }, pattern)
    expect(await Promise.all([joining, denying])).toEqual([{ code: 1 }, undefined])
  },
)

test('none of them became a node, and none of their processes is left', async () => {
  const nodes = await cluster.client.resource(resourcesOf(cluster.client.dialect).nodes).list()
  expect(nodes.items).toEqual([])
  const left = processesIn(place.root).filter(({ command }) => command.includes('node-agent.js'))
  expect(left).toEqual([])
})
