/** pods/exec, pods/attach and pods/portforward: what the node's agent is asked, and that both connections become one. */
import { once } from 'node:events'
import { request as httpsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { admin, user, type Identity } from '../../support/api-server.ts'
import { startFakeNodeAgent, type FakeNodeAgent } from '../../support/fake-node-agent.ts'
import { allow } from '../../support/grants.ts'
import { describeDialects } from '../../support/shared-server.ts'

describeDialects('streams of pods', (server) => {
  let agent: FakeNodeAgent
  let at = ''
  let namespace = ''
  beforeAll(async () => {
    agent = await startFakeNodeAgent(server().pki)
    const node = agent.node('streaming')
    await server().ok('POST', '/api/v1/nodes', { body: node })
    await server().ok('PUT', '/api/v1/nodes/streaming/status', { body: node })
    namespace = await server().namespace()
    at = `/api/v1/namespaces/${namespace}/pods`
    for (const name of ['p', 'pair', 'refuse', 'redirected', 'loose']) {
      const containers = (name === 'pair' ? ['a', 'b'] : ['c']).map((one) => ({
        name: one,
        image: 'i',
      }))
      // One that is over is no choice to be made among the main ones.
      const initContainers = [{ name: 'first', image: 'i' }]
      const spec = { containers, initContainers }
      await server().ok('POST', at, { body: { metadata: { name }, spec } })
      if (name === 'loose') continue
      await server().ok('POST', `${at}/${name}/binding`, {
        body: { metadata: { name }, target: { kind: 'Node', name: 'streaming' } },
      })
    }
  })
  afterAll(() => agent[Symbol.asyncDispose]())

  async function upgrade(
    method: string,
    path: string,
    ask: { as?: Identity; headers?: Record<string, string> } = {},
  ): Promise<{ answer: IncomingMessage; text: string; socket?: Duplex; head?: Buffer }> {
    const shown = server().credential(ask.as ?? admin)
    const asking = httpsRequest({
      host: '127.0.0.1',
      port: server().port,
      path,
      method,
      agent: false,
      ca: server().pki.authority.certificatePem,
      ...(shown === undefined ? {} : { cert: shown.certificatePem, key: shown.privateKeyPem }),
      headers: {
        connection: 'Upgrade',
        upgrade: 'SPDY/3.1',
        'content-length': '0',
        ...ask.headers,
      },
    })
    asking.end()
    return await new Promise((resolve, reject) => {
      asking.once('error', reject)
      asking.once('upgrade', (answer, socket, head) => resolve({ answer, text: '', socket, head }))
      asking.once('response', (answer) => {
        let text = ''
        answer.on('data', (data) => (text += String(data)))
        answer.on('end', () => resolve({ answer, text }))
      })
    })
  }

  it('exec: the command goes to the container of the only name, and bytes go both ways', async () => {
    const { answer, socket, head } = await upgrade(
      'POST',
      `${at}/p/exec?command=sh&command=-c&command=a%20b%26c&stdin=true&stdout=true&tty=true`,
      { headers: { 'x-stream-protocol-version': 'v4.channel.k8s.io' } },
    )
    expect(answer.statusCode).toBe(101)
    expect(answer.headers['upgrade']).toBe('SPDY/3.1')
    expect(answer.headers['x-stream-protocol-version']).toBe('v4.channel.k8s.io')
    expect(answer.headers['x-secret']).toBeUndefined()
    expect(agent.requests.at(-1)).toBe(
      `POST /exec/${namespace}/p/c?input=1&output=1&tty=1&command=sh&command=-c&command=a+b%26c`,
    )
    let text = head?.toString() ?? ''
    socket?.on('data', (data) => (text += String(data)))
    socket?.write('hello')
    while (text !== 'welcome hello') await once(socket as Duplex, 'data')
    const closed = once(socket as Duplex, 'close')
    socket?.end()
    await closed
  })

  it('a caller’s token among the protocols is not passed on', async () => {
    const secret = `base64url.bearer.authorization.${server().dialect.apiDomain}.c2VjcmV0`
    const { answer, socket } = await upgrade('GET', `${at}/p/attach?stdout=true`, {
      headers: {
        upgrade: 'websocket',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-version': '13',
        'sec-websocket-protocol': `${secret}, v5.channel.k8s.io, v4.channel.k8s.io`,
        cookie: 'a=b',
      },
    })
    expect(answer.statusCode).toBe(101)
    expect(agent.requests.at(-1)).toBe(`GET /attach/${namespace}/p/c?output=1`)
    const { headers } = agent
    expect(headers.at(-1)?.['sec-websocket-protocol']).toBe('v5.channel.k8s.io, v4.channel.k8s.io')
    expect(headers.at(-1)).not.toHaveProperty('authorization')
    expect(headers.at(-1)).not.toHaveProperty('cookie')
    socket?.destroy()
    const before = agent.requests.length
    const refused = await upgrade('GET', `${at}/p/attach?stdout=true`, {
      as: 'anonymous',
      headers: { upgrade: 'websocket', 'sec-websocket-protocol': `${secret}, v4.channel.k8s.io` },
    })
    expect(refused.answer.statusCode).toBe(401)
    expect(agent.requests).toHaveLength(before)
  })

  it('port-forward passes its ports on', async () => {
    const { answer, socket } = await upgrade('POST', `${at}/p/portforward?ports=80&ports=81,82`)
    expect(answer.statusCode).toBe(101)
    expect(agent.requests.at(-1)).toBe(
      `POST /portForward/${namespace}/p?ports=80&ports=81&ports=82`,
    )
    socket?.destroy()
  })

  it('an agent that refuses is heard in its own words, as plain text', async () => {
    const { answer, text } = await upgrade('POST', `${at}/refuse/exec?command=a&stdout=true`)
    expect([answer.statusCode, text]).toEqual([500, 'no, sir\n'])
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
  })

  it('a redirect of the agent is an error', async () => {
    const { answer, text } = await upgrade('POST', `${at}/redirected/exec?command=a&stdout=true`)
    expect(answer.statusCode).toBe(500)
    expect(answer.headers['location']).toBeUndefined()
    expect(text).toContain('"message":"invalid upgrade response: status code 302"')
  })

  it('who may create pods/exec may, and nobody else', async () => {
    const path = `${at}/p/exec?command=a&stdout=true`
    const denied = await upgrade('POST', path, { as: user('streamer') })
    expect(denied.answer.statusCode).toBe(403)
    expect(denied.text).toContain('cannot create resource \\"pods/exec\\"')
    await allow(server(), namespace, {
      name: 'streamer',
      rules: [{ resources: ['pods/exec'], verbs: ['create'] }],
    })
    const { answer, socket } = await upgrade('POST', path, { as: user('streamer') })
    expect(answer.statusCode).toBe(101)
    socket?.destroy()
    const got = await upgrade('GET', path, { as: user('streamer') })
    expect(got.answer.statusCode).toBe(403)
  })

  it('a GET, as browsers open WebSockets, needs the verb get, and may offer no protocol', async () => {
    await allow(server(), namespace, {
      name: 'browser',
      rules: [{ resources: ['pods/exec'], verbs: ['get'] }],
    })
    const { answer, socket } = await upgrade('GET', `${at}/p/exec?command=a&stdout=true`, {
      as: user('browser'),
      headers: {
        upgrade: 'websocket',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-version': '13',
      },
    })
    expect(answer.statusCode).toBe(101)
    expect(agent.requests.at(-1)).toBe(`GET /exec/${namespace}/p/c?output=1&command=a`)
    expect(agent.headers.at(-1)).not.toHaveProperty('sec-websocket-protocol')
    socket?.destroy()
  })

  it.each([
    ['nope/exec?command=a&stdout=true', 404, 'not found'],
    ['loose/exec?command=a&stdout=true', 400, 'pod loose does not have a host assigned'],
    [
      'pair/exec?command=a&stdout=true',
      400,
      'a container name must be specified for pod pair, choose one of: [first a b]',
    ],
    ['p/exec?command=a&stdout=true&container=x', 400, 'container x is not valid for pod p'],
  ])('%s is answered %i', async (path, code, words) => {
    const { answer, text } = await upgrade('POST', `${at}/${path}`)
    expect(answer.statusCode).toBe(code)
    expect(text).toContain(words)
  })

  it('a request that does not ask for another protocol is told to', async () => {
    const plain = await server().request('POST', `${at}/p/exec?command=a&stdout=true`)
    expect(plain.status).toBe(400)
    expect(plain.body.message).toBe('Upgrade request required')
  })
})
