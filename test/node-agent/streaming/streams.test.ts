/** Exec, attach and port-forward of the node's server, over SPDY and WebSockets, with real connections. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { createInflate, deflateSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import WebSocket from 'ws'
import { systemClock } from '../../../components/component-base/clock.ts'
import { createHttpsServer } from '../../../components/component-base/https-server.ts'
import { silentLog } from '../../../components/component-base/log.ts'
import { ProbeCounts } from '../../../components/node-agent/pods/probe-counts.ts'
import { createNodeMetrics } from '../../../components/node-agent/node/node-metrics.ts'
import { nodeUsage } from '../../../components/node-agent/node/node-usage.ts'
import type { ServedNode } from '../../../components/node-agent/server/server.ts'
import { selfSignedServing } from '../../../components/node-agent/join/serving-certificate.ts'
import { podAnnotations } from '../../../components/api/simulation.ts'
import { spdyDictionary } from '../../../components/node-agent/streaming/spdy-dictionary.ts'
import {
  createStreamServer,
  isStreamRequest,
} from '../../../components/node-agent/streaming/stream-server.ts'
import { acceptHeader } from '../../../components/node-agent/streaming/websocket-connection.ts'
import { spdyClient } from '../../support/spdy-client.ts'
import { pod, runPod } from '../build.ts'

let port = 0
let stop = new AbortController()
let running: Promise<void>
let run: Awaited<ReturnType<typeof runPod>>
let allows = true

beforeEach(async () => {
  allows = true
  stop = new AbortController()
  run = await runPod(
    pod(
      'web',
      { containers: [{ name: 'main', image: 'a:1', env: [{ name: 'COLOUR', value: 'blue' }] }] },
      { [podAnnotations.listen]: '80' },
    ),
  )
  const node: ServedNode = {
    name: 'n1',
    rootDir: '/nonexistent',
    runtime: run.runtime,
    auth: {
      authenticate: async ({ headers }) =>
        headers['x-user'] === undefined ? undefined : { username: 'ann', groups: [] },
      authorize: async () => ({ isAllowed: allows, reason: '' }),
    },
    pods: () => [run.worker.pod],
    container: (namespace, name, container) =>
      namespace === 'default' && name === 'web' ? run.worker.container(container) : undefined,
    fault: () => undefined,
    usage: () =>
      nodeUsage({
        nodeName: 'n1',
        startedMs: 0,
        nowMs: 0,
        pods: [],
        container: () => undefined,
        runtime: run.runtime,
        capacity: undefined,
      }),
    metrics: createNodeMetrics({ name: 'n1', pods: () => [] }, false),
    probeMetrics: () => new ProbeCounts().metrics([]),
    configz: () => ({}),
  }
  const names = { nodeName: 'n1', dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] }
  const server = createHttpsServer({
    host: '127.0.0.1',
    port: 0,
    tls: selfSignedServing(names, Date.now()),
    handler: async () => ({ status: 400, headers: {}, body: Buffer.from('plain') }),
    mayUpgrade: isStreamRequest,
    upgrade: createStreamServer({ nodes: () => [node], clock: systemClock, log: silentLog }),
    log: silentLog,
  })
  running = server.run(stop.signal)
  ;({ port } = await server.ready)
})
afterEach(async () => {
  stop.abort(new Error('the test is over'))
  await running
})

/** A WebSocket that collects what each channel says; resolves `ended` with the close code. */
async function webSocket(path: string, protocol: string | readonly string[]) {
  const ws = new WebSocket(`wss://127.0.0.1:${port}${path}`, [protocol].flat(), {
    rejectUnauthorized: false,
    headers: { 'x-user': 'ann' },
  })
  const channels: string[] = []
  ws.on('message', (data: Buffer, isBinary: boolean) => {
    const number = isBinary ? (data[0] ?? 0) : Number(data.toString()[0])
    const body = isBinary ? data.subarray(1) : Buffer.from(data.toString().slice(1), 'base64')
    channels[number] = (channels[number] ?? '') + body.toString('latin1')
  })
  const ended = once(ws, 'close').then(([code]) => code as number)
  await once(ws, 'open')
  const send = (number: number, text: string): void =>
    ws.send(Buffer.concat([Buffer.from([number]), Buffer.from(text)]))
  return { ws, channels, ended, send }
}

const status = (channels: readonly string[]): unknown => JSON.parse(channels[3] ?? '')

/** An upgrade: the answer, and its connection if it was agreed to. */
async function upgrade(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ answer: IncomingMessage; socket: Duplex | undefined; text: string }> {
  const asking = request({
    host: '127.0.0.1',
    port,
    path,
    method,
    rejectUnauthorized: false,
    headers: { connection: 'Upgrade', 'x-user': 'ann', 'content-length': '0', ...headers },
  })
  asking.end()
  return await new Promise((resolve, reject) => {
    asking.once('error', reject)
    asking.once('upgrade', (answer, socket) => resolve({ answer, socket, text: '' }))
    asking.once('response', (answer) => {
      let text = ''
      answer.on('data', (data) => (text += String(data)))
      answer.on('end', () => resolve({ answer, socket: undefined, text }))
    })
  })
}

const spdy = async (path: string, protocol: string) =>
  await upgrade('POST', path, { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol })

/** Bytes as binary messages of a WebSocket, whose library does not take a protocol's name with a slash. */
function framed(socket: Duplex): Duplex {
  let rest: Buffer = Buffer.alloc(0)
  const outer = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _, done) => {
      const head = Buffer.alloc(8)
      head.writeUInt16BE(0x82_fe)
      head.writeUInt16BE(chunk.length, 2)
      socket.write(Buffer.concat([head, chunk]), done)
    },
  })
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const short = rest[1] ?? 0
      const start = short < 126 ? 2 : 4
      const length = short < 126 ? short : rest.length < 4 ? Infinity : rest.readUInt16BE(2)
      if (rest.length < 2 || rest.length < start + length) return
      outer.push(rest.subarray(start, start + length))
      rest = rest.subarray(start + length)
    }
  })
  socket.once('close', () => outer.destroy())
  return outer
}

const exec = (words: readonly string[], more = 'output=1&error=1'): string =>
  `/exec/default/web/main?${more}${words.map((word) => `&command=${encodeURIComponent(word)}`).join('')}`

describe('exec over a WebSocket', () => {
  test.each(['v4.channel.k8s.io', 'v5.channel.k8s.io', 'v4.base64.channel.k8s.io'])(
    '%s carries output and the end of a command',
    async (protocol) => {
      const { channels, ended, ws } = await webSocket(exec(['echo', 'hello', 'there']), protocol)
      expect(ws.protocol).toBe(protocol)
      expect(await ended).toBe(1000)
      expect(channels[1]).toBe('hello there\n')
      expect(status(channels)).toEqual({ metadata: {}, status: 'Success' })
    },
  )

  test.each([
    ['channel.k8s.io', ['channel.k8s.io']],
    ['base64.channel.k8s.io', ['base64.channel.k8s.io']],
    ['', []],
  ])(
    'the older protocol "%s" has words for a failure, and none for success',
    async (name, offered) => {
      const good = await webSocket(exec(['cat'], 'input=1&output=1'), offered)
      expect(good.ws.protocol).toBe(name)
      const isBase64 = name.startsWith('base64')
      const input = Buffer.from('in\n')
      good.ws.send(isBase64 ? `0${input.toString('base64')}` : Buffer.concat([Buffer.of(0), input]))
      while (good.channels[1] !== 'in\n') await once(good.ws, 'message')
      good.ws.close()
      const echo = await webSocket(exec(['echo', 'hello']), offered)
      await echo.ended
      expect([echo.channels[1], echo.channels[3]]).toEqual(['hello\n', undefined])
      const bad = await webSocket(exec(['sh', '-c', 'exit 3']), offered)
      await bad.ended
      const words = 'command terminated with non-zero exit code: exit status 3'
      expect(bad.channels[3]).toBe(words)
    },
  )

  test('the client chooses by its order, but the protocol that ends input comes first', async () => {
    const [v4, v5] = ['v4.channel.k8s.io', 'v5.channel.k8s.io']
    const older = await webSocket(exec(['echo']), ['x', 'channel.k8s.io', v4])
    expect(older.ws.protocol).toBe('channel.k8s.io')
    const newest = await webSocket(exec(['echo']), [v4, v5])
    expect(newest.ws.protocol).toBe(v5)
    await Promise.all([older.ended, newest.ended])
  })

  test('an exit code is told as clients know it', async () => {
    const { channels, ended } = await webSocket(
      exec(['sh', '-c', 'nothing; echo $COLOUR $?; exit 3']),
      'v4.channel.k8s.io',
    )
    await ended
    expect(channels[1]).toBe('blue 127\n')
    expect(channels[2]).toBe('sh: nothing: not found\n')
    expect(status(channels)).toMatchObject({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    })
  })

  test('input goes in and its end is heard of (v5); long messages, pings and fragments are read', async () => {
    const { ws, channels, ended, send } = await webSocket(
      exec(['cat'], 'input=1&output=1'),
      'v5.channel.k8s.io',
    )
    const long = 'x'.repeat(200_000)
    send(0, long)
    ws.ping()
    await once(ws, 'pong')
    ws.send(Buffer.from([0, 0x61]), { fin: false })
    ws.send(Buffer.from('b'), { fin: true })
    ws.send(Buffer.from([255, 0]))
    await ended
    expect(channels[1]).toBe(`${long}ab`)
    expect(status(channels)).toMatchObject({ status: 'Success' })
  })

  test('a terminal echoes, edits lines, and a shell on it prompts', async () => {
    const { ws, channels, ended, send } = await webSocket(
      exec(['sh'], 'input=1&output=1&tty=1'),
      'v4.channel.k8s.io',
    )
    send(0, 'echo hx\u007fi\r')
    while (!(channels[1] ?? '').endsWith('hi\r\n/ # ')) await once(ws, 'message')
    send(0, 'exit 4\r')
    await ended
    expect(channels[1]).toBe('/ # echo hx\b \bi\r\nhi\r\n/ # exit 4\r\n')
    expect(status(channels)).toMatchObject({ details: { causes: [{ message: '4' }] } })
  })

  test('a command ends with its container, and with its client', async () => {
    const first = await webSocket(exec(['cat'], 'input=1&output=1'), 'v4.channel.k8s.io')
    await run.delete(0)
    await first.ended
    expect(status(first.channels)).toMatchObject({ details: { causes: [{ message: '137' }] } })
  })
})

describe('exec over SPDY', () => {
  test('streams carry input, output, errors and the end', async () => {
    const { answer, socket } = await spdy(
      exec(['sh', '-c', 'cat; nope'], 'input=1&output=1&error=1'),
      'v4.channel.k8s.io',
    )
    expect(answer.statusCode).toBe(101)
    expect(answer.headers['x-stream-protocol-version']).toBe('v4.channel.k8s.io')
    const client = spdyClient(socket as Duplex)
    const error = await client.open({ streamtype: 'error' })
    const stdin = await client.open({ streamtype: 'stdin' })
    const stdout = await client.open({ streamtype: 'stdout' })
    const stderr = await client.open({ streamtype: 'stderr' })
    await client.ping()
    stdin.send('some input\n')
    expect(await stdout.until('input')).toBe('some input\n')
    stdin.end()
    expect(await stdout.text).toBe('some input\n')
    expect(await stderr.text).toBe('sh: nope: not found\n')
    expect(JSON.parse(await error.text)).toMatchObject({
      details: { causes: [{ message: '127' }] },
    })
    await client.closed
  })
})

describe('attach', () => {
  test('shows what the container writes from now on, and ends with it', async () => {
    const { channels, ended } = await webSocket(
      '/attach/default/web/main?output=1',
      'v4.channel.k8s.io',
    )
    await run.delete(0)
    await ended
    expect(channels[1]).toBe('main exited with 0\n')
    expect(status(channels)).toMatchObject({ status: 'Success' })
  })
})

describe('port-forward', () => {
  const get = 'GET /x HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n'

  test('over SPDY connects to what the pod listens to, and says when nothing does', async () => {
    const { socket } = await spdy('/portForward/default/web', 'portforward.k8s.io')
    const client = spdyClient(socket as Duplex)
    const pair = async (number: string, requestid: string) => ({
      error: await client.open({ streamtype: 'error', port: number, requestid }),
      data: await client.open({ streamtype: 'data', port: number, requestid }),
    })
    const good = await pair('80', '0')
    good.data.send(get)
    expect(await good.data.until('GET /x')).toContain('default/web on port 80: GET /x\n')
    good.data.end()
    await good.data.text
    expect(await good.error.text).toBe('')
    const bad = await pair('81', '1')
    expect(await bad.error.text).toMatch(/^error forwarding port 81: .*connection refused$/)
    expect(await bad.data.text).toBe('')
    socket?.destroy()
  })

  test('SPDY may come inside a WebSocket', async () => {
    const key = randomBytes(16).toString('base64')
    const { answer, socket } = await upgrade('GET', '/portForward/default/web?ports=80', {
      upgrade: 'websocket',
      'sec-websocket-key': key,
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io',
    })
    expect(answer.headers['sec-websocket-protocol']).toBe('SPDY/3.1+portforward.k8s.io')
    expect(answer.headers['sec-websocket-accept']).toBe(acceptHeader(key))
    const client = spdyClient(framed(socket as Duplex))
    await client.open({ streamtype: 'error', port: '80', requestid: '0' })
    const data = await client.open({ streamtype: 'data', port: '80', requestid: '0' })
    data.send(get)
    expect(await data.until('GET /x')).toContain('200 OK')
    socket?.destroy()
    await client.closed
  })

  test('channels say their port first', async () => {
    const { ws, channels, ended, send } = await webSocket(
      '/portForward/default/web?ports=80&ports=81',
      'v4.channel.k8s.io',
    )
    send(0, get)
    while (!(channels[0] ?? '').includes('GET /x') || !(channels[3] ?? '').includes('refused')) {
      await once(ws, 'message')
    }
    expect(channels[0]?.slice(0, 2)).toBe('P\0')
    expect(channels[1]).toBe('P\0')
    expect(channels[3]).toMatch(/^Q\0error forwarding port 81: /)
    // The other connection has ended too, and with it the WebSocket.
    expect(await ended).toBe(1000)
  })

  test.each([
    ['v4.base64.channel.k8s.io', ['v4.base64.channel.k8s.io']],
    ['', []],
  ])('channels come with the protocol "%s" too', async (name, offered) => {
    const { ws, channels } = await webSocket('/portForward/default/web?ports=80', offered)
    expect(ws.protocol).toBe(name)
    const text = Buffer.from(get)
    ws.send(name === '' ? Buffer.concat([Buffer.of(0), text]) : `0${text.toString('base64')}`)
    while (!(channels[0] ?? '').includes('GET /x')) await once(ws, 'message')
    expect([channels[0]?.slice(0, 2), channels[1]]).toEqual(['P\0', 'P\0'])
    ws.close()
  })

  test('each frame comes in a TLS record of its own', async () => {
    const { socket } = await upgrade('GET', '/portForward/default/web?ports=80,81', {
      upgrade: 'websocket',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'v4.channel.k8s.io',
    })
    const channelOf: (number | undefined)[] = []
    socket?.on('data', (record: Buffer) => {
      expect(record.length).toBe(2 + (record[1] ?? 0))
      channelOf.push(record[2])
    })
    while (channelOf.length < 5) await once(socket as Duplex, 'data')
    expect(channelOf).toEqual([0, 1, 2, 3, 3])
    socket?.destroy()
  })
})

describe('refusals', () => {
  test.each([
    ['/exec/default/nope/main?output=1&command=a', 404, 'pod does not exist'],
    ['/exec/default/web/other?output=1&command=a', 500, 'container not found ("other")'],
    [
      '/exec/default/web/main?command=a',
      400,
      'you must specify at least 1 of stdin, stdout, stderr',
    ],
    ['/portForward/default/nope', 404, 'pod does not exist'],
  ])('%s is answered %i', async (path, code, words) => {
    const protocol = path.startsWith('/exec') ? 'v4.channel.k8s.io' : 'portforward.k8s.io'
    const { answer, text } = await spdy(path, protocol)
    expect([answer.statusCode, text]).toEqual([code, words])
  })

  test('who may not, and who speaks nothing that is known, gets an ordinary answer', async () => {
    const unknown = await spdy(exec(['echo']), 'v1.unknown')
    expect(unknown.answer.statusCode).toBe(403)
    expect(unknown.text).toContain('unable to negotiate protocol')
    allows = false
    const forbidden = await spdy(exec(['echo']), 'v4.channel.k8s.io')
    expect(forbidden.answer.statusCode).toBe(403)
    expect(forbidden.text).toContain('Forbidden (user=ann, verb=create, resource=nodes')
  })

  test('bytes that are no SPDY end the connection', async () => {
    const { socket } = await spdy(exec(['cat'], 'input=1&output=1'), 'v4.channel.k8s.io')
    socket?.on('error', () => {})
    socket?.resume()
    const closed = socket && once(socket, 'close')
    // A header block that is none.
    socket?.write(Buffer.from('80030001000000110000000100000000000001020304050607', 'hex'))
    await closed
  })

  /** A control frame that opens a stream with this block of headers. */
  function synStream(block: Buffer): Buffer {
    const frame = Buffer.alloc(18)
    frame.writeUInt32BE(0x80_03_00_01)
    frame.writeUInt32BE(10 + block.length, 4)
    frame.writeUInt32BE(1, 8)
    return Buffer.concat([frame, block])
  }

  test('a header block that inflates without end is inflated no further than its bound', async () => {
    const inflaters = vi.spyOn(Object.getPrototypeOf(createInflate()) as Duplex, 'push')
    try {
      const { socket } = await spdy('/portForward/default/web', 'portforward.k8s.io')
      const closed = socket && once(socket, 'close')
      socket?.on('error', () => {})
      socket?.resume()
      const bomb = deflateSync(Buffer.alloc(32 * 1024 * 1024), { dictionary: spdyDictionary })
      socket?.write(synStream(bomb))
      await closed
      const inflated = inflaters.mock.calls.map(([chunk]) => (chunk as Buffer | null)?.length ?? 0)
      expect(inflated.length).toBeGreaterThan(0)
      expect(inflated.reduce((sum, length) => sum + length, 0)).toBeLessThan(256 * 1024)
      for (const inflater of inflaters.mock.contexts as Duplex[]) {
        expect(inflater.destroyed).toBe(true)
      }
    } finally {
      inflaters.mockRestore()
    }
  })

  test('a control frame that is longer than any header block ends the connection before it is read', async () => {
    const { socket } = await spdy('/portForward/default/web', 'portforward.k8s.io')
    const closed = socket && once(socket, 'close')
    socket?.on('error', () => {})
    socket?.resume()
    const head = synStream(Buffer.alloc(16 * 1024 * 1024 - 11)).subarray(0, 18)
    socket?.write(head)
    await closed
  })

  test('streams beyond a thousand are refused, and the others go on', async () => {
    const { socket } = await spdy('/portForward/default/web', 'portforward.k8s.io')
    const client = spdyClient(socket as Duplex)
    const pair = async (requestid: string) => ({
      error: await client.open({ streamtype: 'error', port: '80', requestid }),
      data: await client.open({ streamtype: 'data', port: '80', requestid }),
    })
    const first = await pair('0')
    for (let id = 1; id <= 998; id += 1) {
      await client.open({ streamtype: 'error', port: '80', requestid: String(id) })
    }
    const refused = await client.open({ streamtype: 'error', port: '80', requestid: '999' })
    expect(await refused.text).toBe('')
    first.data.send('GET /x HTTP/1.1\r\nhost: web\r\nconnection: close\r\n\r\n')
    expect(await first.data.until('GET /x')).toContain('200 OK')
    socket?.destroy()
  })

  test('a message in 200,000 empty fragments is read in seconds of processor time', async () => {
    const path = exec(['cat'], 'input=1&output=1')
    const { ws, channels, ended } = await webSocket(path, 'v5.channel.k8s.io')
    const before = process.cpuUsage()
    ws.send(Buffer.from([0]), { fin: false })
    for (let count = 0; count < 200_000; count += 1) ws.send(Buffer.alloc(0), { fin: false })
    ws.send(Buffer.from('a'), { fin: true })
    ws.send(Buffer.from([255, 0]))
    await ended
    expect(channels[1]).toBe('a')
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1e6).toBeLessThan(10)
  })
})
