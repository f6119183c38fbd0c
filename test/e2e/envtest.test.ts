/** `skiff envtest`: the programs that envtest starts, as real processes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { createPlane, start, statusOf, type Plane } from '../envtest/plane.ts'
import { eventually } from '../support/eventually.ts'
import { processesIn } from './machine.ts'
import { createPlace } from './place.ts'
import { run } from './program.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

let assets = ''
let withControllers = ''
beforeAll(async () => {
  const plain = await place.run(['envtest'])
  expect(plain).toMatchObject({ code: 0, stderr: '' })
  assets = plain.stdout.trim()
  const whole = await place.run(['envtest', '--with-controllers', '-o', 'json'])
  withControllers = (JSON.parse(whole.stdout) as { path: string }).path
})

const configMaps = (client: Client) => client.resource(resourcesOf(client.dialect).configMaps)
const kept = { namespace: 'default', name: 'kept' }

async function startBoth(plane: Plane) {
  const etcd = await plane.startEtcd()
  return { etcd, server: await plane.startServer() }
}

describe('the programs of skiff envtest', () => {
  it('serve with the flags of envtest, stop when they are told, and leave nothing', async () => {
    await using plane = createPlane(assets)
    const { etcd, server } = await startBoth(plane)
    const namespaces = resourcesOf(plane.admin().dialect).namespaces
    const found = await plane.admin().resource(namespaces).get({ name: 'default' })
    expect(found.metadata.name).toBe('default')
    expect(server.errors()).toContain('"flags":["--allow-privileged"]')

    process.kill(-(server.child.pid ?? 0), 'SIGTERM')
    expect(await server.ended).toBe(0)
    process.kill(-(etcd.child.pid ?? 0), 'SIGTERM')
    expect(await etcd.ended).toBe(0)
    // envtest removes its folders itself.
    expect([existsSync(plane.dataDir), existsSync(plane.certDir)]).toEqual([true, true])
    expect(processesIn(plane.dataDir)).toEqual([])
  })

  it('keep what is stored as long as etcd lives, when the API server stops and when it is killed', async () => {
    await using plane = createPlane(assets)
    await plane.startEtcd()
    let server = await plane.startServer()
    const created = await configMaps(plane.admin()).create({
      metadata: { ...kept },
      data: { a: 'b' },
    })
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      process.kill(-(server.child.pid ?? 0), signal)
      await server.ended
      server = await plane.startServer()
      expect(await configMaps(plane.admin()).get(kept)).toEqual(created)
    }
  })

  it.each([
    ['without controllers', () => assets, 1],
    ['with controllers', () => withControllers, 4],
  ])(
    'end within five seconds with a test that is killed, and remove its folders: %s',
    async (_, folder, least) => {
      await using plane = createPlane(folder())
      const fixture = join(import.meta.dirname, '../envtest/fixtures/parent.js')
      const { etcd, server } = plane.commands
      const parent = spawn(process.execPath, [fixture, JSON.stringify([etcd, server])], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await eventually(async () => {
        expect((await statusOf(`https://127.0.0.1:${plane.port}/healthz`)).status).toBe(200)
      })
      await eventually(() => {
        expect(processesIn(plane.certDir).length).toBeGreaterThanOrEqual(least)
      })

      parent.kill('SIGKILL')
      await once(parent, 'exit')
      await eventually(() => {
        expect([...processesIn(plane.dataDir), ...processesIn(plane.certDir)]).toEqual([])
        expect([existsSync(plane.dataDir), existsSync(plane.certDir)]).toEqual([false, false])
      }, 5000)
      await expect(statusOf(plane.etcdUrl)).rejects.toThrow('ECONNREFUSED')
    },
  )

  it('lie in the same folder each time', async () => {
    const again = await place.run(['envtest', '-o', 'json'])
    expect(JSON.parse(again.stdout)).toEqual({ path: assets })
  })
})

describe('etcd', () => {
  it('tells its health, and that it serves nothing else', async () => {
    await using plane = createPlane(assets)
    await plane.startEtcd()
    const health = await statusOf(`${plane.etcdUrl}/health`)
    expect(JSON.parse(health.body)).toEqual({
      health: 'true',
      reason: '',
      dataDir: plane.dataDir,
      isSynced: false,
    })
    expect(await statusOf(`${plane.etcdUrl}/v3/kv/range`)).toEqual({
      status: 501,
      body: 'This etcd serves /health alone: the API server beside it keeps its data in a store of its own.\n',
    })
  })

  it('rejects URLs that it cannot serve', async () => {
    const url = 'https://127.0.0.1:2379'
    const etcd = start(join(assets, 'etcd'), [`--listen-client-urls=${url}`])
    expect(await etcd.ended).toBe(1)
    expect(etcd.errors()).toContain(
      `etcd: invalid value "${url}" for --listen-client-urls: must be http://HOST:PORT`,
    )
  })

  it('shows the flag in its help that envtest looks for', async () => {
    const { stdout, code } = await run(join(assets, 'etcd'), ['--help'], { timeoutMs: 60_000 })
    expect([code, /^\s*--unsafe-no-fsync\b/m.test(stdout)]).toEqual([0, true])
  })
})

describe('kube-apiserver', () => {
  it('makes its own certificate and keeps its data in memory when it is given neither', async () => {
    const own = () => readdirSync(tmpdir()).filter((name) => name.startsWith('skiff-envtest-'))
    const words = ['--secure-port=0', '--authorization-mode=RBAC']
    const server = start(join(assets, 'kube-apiserver'), words)
    await eventually(() => expect(server.errors()).toContain('"ready"'))
    const { port } = JSON.parse(
      server
        .errors()
        .split('\n')
        .find((line) => line.includes('"ready"')) ?? '',
    ) as { port: number }
    const ready = await statusOf(`https://127.0.0.1:${port}/readyz`)
    expect([ready.body, own().length]).toEqual(['ok', 1])
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(own()).toEqual([])
  })

  it('does not take another etcd for its own', async () => {
    await using plane = createPlane(assets)
    const { createServer } = await import('node:http')
    const other = createServer((_, response) => response.end('{"health":"true"}')).listen(0)
    await once(other, 'listening')
    const url = `http://127.0.0.1:${(other.address() as { port: number }).port}`
    const server = start(plane.commands.server[0] ?? '', [
      `--etcd-servers=${url}`,
      `--cert-dir=${plane.certDir}`,
    ])
    expect(await server.ended).toBe(1)
    other.close()
    expect(server.errors()).toContain(`--etcd-servers ${url} is not the etcd of this folder`)
  })
})

describe('kubectl', () => {
  const env = (PATH: string) => ({ PATH, HOME: place.root })

  it('runs the user’s own, with the same words and the same exit code', async () => {
    const folder = join(place.root, 'tmp', 'bin')
    mkdirSync(folder)
    writeFileSync(join(folder, 'kubectl'), '#!/bin/sh\necho "$#:$1:$2"\nexit 7\n')
    chmodSync(join(folder, 'kubectl'), 0o755)
    const options = { env: env(`${assets}:${folder}:/bin`), timeoutMs: 60_000 }
    const outcome = await run(join(assets, 'kubectl'), ['get', 'a b'], options)
    expect(outcome).toEqual({ code: 7, stdout: '2:get:a b\n', stderr: '' })
  })

  it('says what to do when there is none', async () => {
    const options = { env: env(assets), timeoutMs: 60_000 }
    expect(await run(join(assets, 'kubectl'), ['version'], options)).toEqual({
      code: 127,
      stdout: '',
      stderr: 'kubectl: no kubectl in PATH: install it, or set TEST_ASSET_KUBECTL to its path\n',
    })
  })
})

describe('with controllers', () => {
  const app = { app: 'web' }
  const deployment = {
    metadata: { namespace: 'shop', name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: app },
      template: {
        metadata: { labels: app },
        spec: { containers: [{ name: 'c', image: 'nginx:1.29' }] },
      },
    },
  }

  it('pods run, owned objects and namespaces go, and all of it ends with the API server', async () => {
    await using plane = createPlane(withControllers)
    const { server } = await startBoth(plane)
    const client = plane.admin()
    const resources = resourcesOf(client.dialect)
    const pods = client.resource<{
      metadata: { name?: string }
      status?: { phase?: string }
    }>(resources.pods)
    await client.resource(resources.namespaces).create({ metadata: { name: 'shop' } })
    await client.resource(resources.deployments).create(deployment)
    const running = await eventually(async () => {
      const { items } = await pods.list({ namespace: 'shop' })
      expect(items.map(({ status }) => status?.phase)).toEqual(['Running', 'Running'])
      return items
    })

    // The server reaches the node, too.
    const name = running[0]?.metadata.name ?? ''
    const path = `/api/v1/namespaces/shop/pods/${name}/log`
    expect((await client.rest.bytes({ method: 'GET', path })).status).toBe(200)

    await client.resource(resources.deployments).delete({ namespace: 'shop', name: 'web' })
    await eventually(async () => {
      expect((await pods.list({ namespace: 'shop' })).items).toEqual([])
    })
    await client.resource(resources.namespaces).delete({ name: 'shop' })
    await eventually(async () => {
      const { items } = await client.resource(resources.namespaces).list()
      expect(items.map(({ metadata }) => metadata.name)).not.toContain('shop')
    })
    expect(processesIn(plane.certDir).length).toBeGreaterThanOrEqual(4)
    server.child.kill('SIGTERM')
    expect(await server.ended).toBe(0)
    expect(processesIn(plane.certDir)).toEqual([])
  })

  it('nothing is left when the API server is killed', async () => {
    await using plane = createPlane(withControllers)
    const { server } = await startBoth(plane)
    await eventually(() => expect(processesIn(plane.certDir).length).toBeGreaterThanOrEqual(4))
    server.child.kill('SIGKILL')
    await server.ended
    await eventually(() => expect(processesIn(plane.certDir)).toEqual([]), 5000)
  })
})
