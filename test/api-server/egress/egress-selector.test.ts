import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { parseEgressSelector } from '../../../components/api-server/egress/egress-selector.ts'
import { startApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startReviewRemote } from '../../support/review-remote.ts'
import { startIssuerHost } from '../../support/token-issuer.ts'
import { whoami } from '../../support/whoami.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let folder: string
let files = 0
/** Where the proxy was asked to connect to. */
const tunnels: string[] = []
let refuses = false
/** Tunnels are the servers' no more, so they are ended one by one. */
const sockets = new Set<Socket>()
let proxies: Server[] = []

async function startProxy(at: number | string): Promise<Server> {
  const server = createServer()
  server.on('connect', (request, socket: Socket) => {
    tunnels.push(request.url ?? '')
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    if (refuses) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      return
    }
    const { hostname, port } = new URL(`http://${request.url}`)
    const target = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      target.pipe(socket).pipe(target)
    })
    target.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => {
    if (typeof at === 'string') server.listen(at, resolve)
    else server.listen(at, '127.0.0.1', resolve)
  })
  proxies.push(server)
  return server
}

beforeAll(async () => {
  folder = temporaryFolder('egress')
  await startProxy(0)
  await startProxy(join(folder, 'proxy.sock'))
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  for (const server of proxies) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  proxies = []
})

const whole = (egressSelections: unknown): string =>
  JSON.stringify({
    apiVersion: 'apiserver.k8s.io/v1beta1',
    kind: 'EgressSelectorConfiguration',
    egressSelections,
  })

function fileOf(egressSelections: unknown): string {
  files += 1
  const path = join(folder, `egress-${files}.yaml`)
  writeFileSync(path, whole(egressSelections))
  return `--egress-selector-config-file=${path}`
}

const tcp = () => ({
  proxyProtocol: 'HTTPConnect',
  transport: { tcp: { url: `http://127.0.0.1:${(proxies[0]?.address() as AddressInfo).port}` } },
})
const uds = () => ({
  proxyProtocol: 'HTTPConnect',
  transport: { uds: { udsName: join(folder, 'proxy.sock') } },
})

describe('an egress selector', () => {
  it.each(['tcp', 'uds'] as const)(
    'sends webhooks through the proxy, over %s',
    async (transport) => {
      await using remote = await startReviewRemote()
      remote.answer = () => ({ status: { authenticated: true, user: { username: 'jane' } } })
      const connection = transport === 'tcp' ? tcp() : uds()
      await using server = await startApiServer({
        flags: [
          fileOf([{ name: 'controlplane', connection }]),
          `--authentication-token-webhook-config-file=${remote.kubeconfig(folder)}`,
        ],
      })
      const before = tunnels.length
      expect((await whoami(server, `through-${transport}`)).user?.username).toBe('jane')
      expect(tunnels.slice(before)).toEqual([new URL(remote.url).host])
    },
  )

  it('[OIDC-065] leaves issuers of tokens alone: they are called directly', async () => {
    await using host = await startIssuerHost()
    const issuer = host.at('')
    const ca = join(folder, 'issuer.crt')
    writeFileSync(ca, host.ca)
    const before = tunnels.length
    await using server = await startApiServer({
      flags: [
        fileOf([
          { name: 'controlplane', connection: tcp() },
          { name: 'cluster', connection: tcp() },
        ]),
        `--oidc-issuer-url=${issuer.url}`,
        '--oidc-client-id=client',
        `--oidc-ca-file=${ca}`,
      ],
    })
    await eventually(async () => expect((await whoami(server, issuer.token())).status).toBe(201))
    expect(host.requests).toContain('/.well-known/openid-configuration')
    expect(tunnels.length).toBe(before)
  })

  it('sends requests for nodes through the proxy', async () => {
    await using remote = await startReviewRemote()
    await using server = await startApiServer({
      flags: [fileOf([{ name: 'cluster', connection: tcp() }])],
    })
    await server.ok('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
    const { port } = new URL(remote.url)
    await server.ok('PATCH', '/api/v1/nodes/n1/status', {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: {
        status: {
          addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
          daemonEndpoints: { kubeletEndpoint: { Port: Number(port) } },
        },
      },
    })
    const before = tunnels.length
    await server.request('POST', '/api/v1/nodes/n1/proxy/review', { body: { kind: 'x' } })
    expect(remote.asked).toEqual([{ kind: 'x' }])
    expect(tunnels.slice(before)).toEqual([`127.0.0.1:${port}`])
  })

  it('a proxy that refuses, or is gone, is a failed call', async () => {
    await using remote = await startReviewRemote()
    remote.answer = () => ({ status: { authenticated: true, user: { username: 'jane' } } })
    const clock = new FakeClock(Date.now())
    const webhook = `--authentication-token-webhook-config-file=${remote.kubeconfig(folder)}`
    const nowhere = {
      proxyProtocol: 'HTTPConnect',
      transport: { tcp: { url: 'http://127.0.0.1:9' } },
    }
    await using server = await startApiServer({
      clock,
      flags: [fileOf([{ name: 'controlplane', connection: tcp() }]), webhook],
    })
    await using lost = await startApiServer({
      clock,
      flags: [fileOf([{ name: 'controlplane', connection: nowhere }]), webhook],
    })
    const stepping = setInterval(() => void clock.step(1000), 5)
    refuses = true
    try {
      expect((await whoami(server, 'refused')).status).toBe(401)
      expect((await whoami(lost, 'lost')).status).toBe(401)
    } finally {
      refuses = false
      clearInterval(stepping)
    }
    expect(remote.asked).toEqual([])
  })

  const connecting = (transport: unknown, proxyProtocol = 'HTTPConnect') => [
    { name: 'cluster', connection: { proxyProtocol, transport } },
  ]
  it.each([
    [
      [{ name: 'other', connection: { proxyProtocol: 'Direct' } }],
      'egressSelections[0].name: "other" is not',
    ],
    [
      [{ name: 'cluster', connection: { proxyProtocol: 'Magic' } }],
      '.proxyProtocol: "Magic" is not',
    ],
    [connecting(undefined, 'GRPC'), 'speaks no GRPC'],
    [connecting(undefined), 'exactly one of tcp and uds must be set'],
    [connecting({ tcp: { url: 'ftp://x' } }), '.tcp.url: must be a http or https URL'],
    [connecting({ tcp: { url: 'https://x' } }), '.tlsConfig: goes with a https URL'],
    [connecting({ uds: {} }), '.udsName: is required'],
    [connecting({ uds: { udsName: '/x' } }, 'Direct'), '.transport: must be unset'],
    [[{ connection: { proxyProtocol: 'Direct' } }], '.name: "" is not'],
    [[{ nme: 'cluster' }], 'unknown field "egressSelections[0].nme"'],
  ])('%j is refused', (selections, message) => {
    expect(() => parseEgressSelector(whole(selections), dialects.kubernetes)).toThrow(message)
  })

  it('direct is what it says, and the default', () => {
    const selections = ['cluster', 'controlplane', 'etcd'].map((name) => ({
      name,
      connection: { proxyProtocol: 'Direct' },
    }))
    expect(parseEgressSelector(whole(selections), dialects.kubernetes)).toEqual({
      cluster: undefined,
      controlplane: undefined,
    })
  })
})
