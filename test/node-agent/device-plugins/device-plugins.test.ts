/** Device plugins of an agent: a plugin in this test speaks the protocol by hand. */
import http2 from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { Node } from '../../../components/api/generated/types.ts'
import { devicePluginVersions } from '../../../components/api/lifecycles/device-plugin-api.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { eventually } from '../../support/eventually.ts'
import { startAgent, type Agent } from '../agent.ts'
import { startLab, type Lab } from '../lab.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let lab: Lab
let rootDir = ''
let agent: Agent
beforeAll(async () => {
  lab = await startLab()
})
afterAll(async () => await lab.stop())
beforeEach(async () => {
  rootDir = temporaryFolder('dp')
  agent = startAgent(lab, 'n1', { rootDir, flags: {} })
})
afterEach(async () => {
  await agent.stop()
})

const folder = (): string => join(rootDir, 'device-plugins')
const nodes = () => lab.admin.resource<Node>(resourcesOf(dialects.kubernetes).nodes)

/** Fields of texts and messages, by number. */
function message(fields: Readonly<Record<number, string | readonly Buffer[]>>): Buffer {
  const parts = Object.entries(fields).flatMap(([number, value]) =>
    (typeof value === 'string' ? [Buffer.from(value)] : value).flatMap((bytes) => [
      Buffer.from([(Number(number) << 3) | 2, bytes.length]),
      bytes,
    ]),
  )
  return Buffer.concat(parts)
}

function framed(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

/** One call to the agent: its status and message. */
async function call(method: string, body: Buffer): Promise<[status: string, message: string]> {
  const path = join(folder(), 'kubelet.sock')
  const session = http2.connect('http://localhost', { createConnection: () => connect(path) })
  try {
    return await new Promise((resolve, reject) => {
      session.on('error', reject)
      const stream = session.request({
        ':method': 'POST',
        ':path': method,
        'content-type': 'application/grpc',
      })
      const seen = { status: '', message: '' }
      const note = (headers: http2.IncomingHttpHeaders): void => {
        seen.status = String(headers['grpc-status'] ?? seen.status)
        seen.message = decodeURIComponent(String(headers['grpc-message'] ?? seen.message))
      }
      stream.on('response', note).on('trailers', note).on('error', reject)
      stream.resume()
      stream.on('end', () => resolve([seen.status, seen.message]))
      stream.end(framed(body))
    })
  } finally {
    session.destroy()
  }
}

async function register(version: string, resource: string, endpoint = 'p.sock') {
  const body = message({ 1: version, 2: endpoint, 3: resource })
  return await eventually(async () => await call(`/${version}.Registration/Register`, body))
}

/** A plugin whose stream of devices the test writes. */
async function plugin(name: string) {
  const server = http2.createServer()
  const opened = Promise.withResolvers<http2.ServerHttp2Stream>()
  const sessions = new Set<http2.ServerHttp2Session>()
  server.on('session', (session) => sessions.add(session))
  server.on('stream', (stream, headers) => {
    expect(headers[':path']).toBe('/v1beta1.DevicePlugin/ListAndWatch')
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
    opened.resolve(stream)
  })
  await new Promise<void>((resolve) => server.listen(join(folder(), name), resolve))
  const tell = async (...healths: string[]): Promise<void> => {
    const devices = healths.map((health, index) => message({ 1: `d${index}`, 2: health }))
    ;(await opened.promise).write(framed(message({ 1: devices })))
  }
  const stop = (): void => {
    for (const session of sessions) session.destroy()
    server.close()
  }
  return { tell, stop }
}

describe('an agent', () => {
  test('[VER-061] takes the registration of a v1beta1 plugin, and its devices become resources of the node', async () => {
    await eventually(() => call('/none', Buffer.alloc(0)))
    const { tell, stop } = await plugin('p.sock')
    expect(await register('v1beta1', 'example.com/gpu')).toEqual(['0', ''])
    const shown = async (capacity: string, allocatable: string): Promise<void> => {
      await eventually(async () => {
        const { status } = await nodes().get({ name: 'n1' })
        expect(status?.capacity?.['example.com/gpu']).toBe(capacity)
        expect(status?.allocatable?.['example.com/gpu']).toBe(allocatable)
        expect(status?.capacity).toHaveProperty('cpu')
      })
    }
    await tell('Healthy', 'Healthy', 'Unhealthy')
    await shown('3', '2')
    await tell('Healthy')
    await shown('1', '1')
    stop()
    await shown('1', '0')
    expect(devicePluginVersions).toContainEqual({
      version: 'v1beta1',
      releases: { from: '1.21', to: '1.26' },
    })
  })

  test('[VER-062] refuses the registration of a v1alpha1 plugin', async () => {
    await eventually(() => call('/none', Buffer.alloc(0)))
    const refusal =
      'requested API version "v1alpha1" is not supported by kubelet. Supported version is ["v1beta1"]'
    expect(await register('v1alpha1', 'example.com/gpu')).toEqual(['2', refusal])
    const disguised = message({ 1: 'v1alpha1', 2: 'p.sock', 3: 'example.com/gpu' })
    expect(await call('/v1beta1.Registration/Register', disguised)).toEqual(['2', refusal])
    expect(devicePluginVersions).toContainEqual({ version: 'v1alpha1', releases: undefined })
  })

  test('refuses names and endpoints that cannot be, and calls that it does not know', async () => {
    await eventually(() => call('/none', Buffer.alloc(0)))
    for (const name of ['gpu', 'kubernetes.io/gpu', 'a.kubernetes.io/gpu', 'example.com/a b']) {
      expect(await register('v1beta1', name)).toEqual([
        '2',
        `the ResourceName "${name}" is invalid`,
      ])
    }
    const [, escaped] = await register('v1beta1', 'example.com/gpu', '../p.sock')
    expect(escaped).toBe('the Endpoint "../p.sock" is invalid')
    expect((await call('/v1beta1.Registration/Other', Buffer.alloc(0)))[0]).toBe('12')
    const [status] = await call('/v1beta1.Registration/Register', Buffer.from([0x0a, 0x7f]))
    expect(status).toBe('2')
  })
})
