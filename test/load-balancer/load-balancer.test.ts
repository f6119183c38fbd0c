/** The balancer as a whole, before real TLS servers: checks, the backends file, its own listener, and bad flags. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, request } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { parseFlags } from '../../components/component-base/flags.ts'
import { commonFlags } from '../../components/component-base/component.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { loadBalancerFlags } from '../../components/load-balancer/options.ts'
import { runLoadBalancer } from '../../components/load-balancer/run-load-balancer.ts'
import { eventually } from '../support/eventually.ts'
import { ownPort } from '../support/own-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createTestPki } from '../support/tls.ts'

const pki = createTestPki()
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

interface TestServer {
  readonly name: string
  readonly port: number
  /** What `/readyz` answers. */
  status: number
  readonly listener: Server
}

/** An API server's stand-in, which answers its name. */
async function apiServer(name: string, tls = pki.server): Promise<TestServer> {
  const listener = createServer(tls, (incoming, response) => {
    if (incoming.url === '/readyz') response.writeHead(server.status).end()
    else response.end(name)
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const server: TestServer = { name, port, status: 200, listener }
  ends.push(() => {
    listener.close()
    listener.closeAllConnections()
  })
  return server
}

interface TestBalancer {
  readonly port: number
  /** The name of the server that a new connection reaches. */
  ask(): Promise<string>
  status(path: string): Promise<{ status: number; text: string }>
  write(servers: readonly { readonly port: number }[]): void
  readonly done: Promise<void>
}

async function start(
  servers: readonly { readonly port: number }[],
  ...flags: readonly string[]
): Promise<TestBalancer> {
  const folder = temporaryFolder('balancer')
  const [file, ca] = [join(folder, 'backends'), join(folder, 'ca.crt')]
  const write = (list: readonly { readonly port: number }[]): void =>
    writeFileSync(file, list.map(({ port }) => `127.0.0.1:${port}\n`).join(''))
  write(servers)
  writeFileSync(ca, pki.caPem)
  const words = [
    ...['--port=0', `--backends-file=${file}`, `--certificate-authority=${ca}`],
    ...['--check-interval=10ms', '--drain-timeout=0s', ...flags],
  ]
  const stop = new AbortController()
  const ready = Promise.withResolvers<Record<string, unknown>>()
  const done = runLoadBalancer({
    options: parseFlags({ ...loadBalancerFlags, ...commonFlags }, words),
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    ready: (info = {}) => ready.resolve(info),
  })
  ends.push(async () => {
    stop.abort()
    await done.catch(() => {})
  })
  const info = await Promise.race([ready.promise, done.then(() => ({}))])
  const { port, metricsPort } = info as { port: number; metricsPort: number }
  const ask = (): Promise<string> =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port, ca: pki.caPem, agent: false }, (answer) => {
        answer.toArray().then((chunks) => resolve(chunks.join('')), reject)
      })
        .on('error', reject)
        .end()
    })
  const status: TestBalancer['status'] = async (path) => {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  return { port, ask, status, write, done }
}

async function reached(balancer: TestBalancer, times = 6): Promise<string[]> {
  const names = new Set<string>()
  for (let left = times; left > 0; left -= 1) names.add(await balancer.ask())
  return [...names].toSorted()
}

test('from its first connection on it passes on to the servers that are ready, and TLS ends there', async () => {
  const [a, b, c] = [await apiServer('a'), await apiServer('b'), await apiServer('c')]
  b.status = 500
  const balancer = await start([a, b, c])
  expect(await reached(balancer)).toEqual(['a', 'c'])
  b.status = 200
  await eventually(async () => expect(await reached(balancer)).toEqual(['a', 'b', 'c']))
  a.status = 500
  await eventually(async () => expect(await reached(balancer)).toEqual(['b', 'c']))
})

test('a server without anonymous callers counts as ready; one with another authority does not', async () => {
  const [a, b] = [await apiServer('a'), await apiServer('b', createTestPki().server)]
  a.status = 401
  const balancer = await start([a, b])
  expect(await reached(balancer)).toEqual(['a'])
  const { text } = await balancer.status('/metrics')
  expect(text).toContain(`load_balancer_backend_ready{backend="127.0.0.1:${a.port}"} 1`)
  expect(text).toContain(`load_balancer_backend_ready{backend="127.0.0.1:${b.port}"} 0`)
})

test('with --tls-server-name a server counts as ready if clients can verify it by that name', async () => {
  const a = await apiServer('a')
  const named = await start([a], '--tls-server-name=localhost')
  expect((await named.status('/readyz')).status).toBe(200)
  const unnamed = await start([a], '--tls-server-name=127.0.0.9')
  expect((await unnamed.status('/readyz')).status).toBe(500)
})

test('a changed backends file is in use without a restart; a wrong one is not taken', async () => {
  const [a, b] = [await apiServer('a'), await apiServer('b')]
  const balancer = await start([a])
  expect(await reached(balancer)).toEqual(['a'])
  balancer.write([b])
  await eventually(async () => expect(await reached(balancer)).toEqual(['b']))
  balancer.write([])
  await systemClock.sleep(200)
  expect(await reached(balancer)).toEqual(['b'])
})

test('a server that hangs gets no new connections after the timeout of its checks', async () => {
  const [a, b] = [await apiServer('a'), await apiServer('b')]
  b.listener.removeAllListeners('request').on('request', () => {})
  const balancer = await start([a, b], '--check-timeout=1s', '--unhealthy-threshold=1')
  expect(await reached(balancer)).toEqual(['a'])
})

test('it is ready while a backend is; it is healthy anyhow', async () => {
  const a = await apiServer('a')
  const balancer = await start([a])
  expect(await balancer.status('/readyz')).toEqual({ status: 200, text: 'ok' })
  a.status = 500
  await eventually(async () => {
    expect(await balancer.status('/readyz')).toEqual({
      status: 500,
      text: 'not ready: no backend is ready\n',
    })
  })
  expect((await balancer.status('/healthz')).status).toBe(200)
  expect((await balancer.status('/other')).status).toBe(404)
})

test('a wrong flag, file or address keeps it from starting, and the message says which', async () => {
  const a = await apiServer('a')
  await expect(start([])).rejects.toThrow('--backends-file: there is no backend')
  await expect(start([a], '--backends-file=/nowhere')).rejects.toThrow('cannot read /nowhere')
  await expect(start([a], '--certificate-authority=/nowhere')).rejects.toThrow(
    '--certificate-authority: cannot read /nowhere',
  )
  await expect(start([a], '--metrics-bind-address=here')).rejects.toThrow(
    'invalid --metrics-bind-address "here": must be HOST:PORT',
  )
  await expect(start([a], `--port=${a.port}`)).rejects.toThrow(
    `cannot listen on 127.0.0.1:${a.port}: the port is already in use`,
  )
  await expect(start([a], `--port=${ownPort()}`, '--bind-address=192.0.2.1')).rejects.toThrow(
    'cannot listen on 192.0.2.1',
  )
})
