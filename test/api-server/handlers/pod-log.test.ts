/** pods/log: what the node's agent is asked, and what of its answer reaches the client. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startFakeNodeAgent, type FakeNodeAgent } from '../../support/fake-node-agent.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { openWebSocket } from '../../support/web-socket.ts'

describeDialects('logs of pods', (server) => {
  let agent: FakeNodeAgent
  let at = ''
  let namespace = ''
  beforeAll(async () => {
    agent = await startFakeNodeAgent(server().pki)
    const node = agent.node('logging')
    await server().ok('POST', '/api/v1/nodes', { body: node })
    await server().ok('PUT', '/api/v1/nodes/logging/status', { body: node })
    namespace = await server().namespace()
    at = `/api/v1/namespaces/${namespace}/pods`
    for (const name of ['p', 'redirected', 'refused']) {
      const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'logging' }
      await server().ok('POST', at, { body: { metadata: { name }, spec } })
    }
  })
  afterAll(() => agent[Symbol.asyncDispose]())

  it('a log is plain text, whatever type and cookies the agent sends along', async () => {
    const answer = await server().request('GET', `${at}/p/log`)
    expect([answer.status, answer.text]).toEqual([200, `GET /containerLogs/${namespace}/p/c\n`])
    expect(answer.headers['content-type']).toBe('text/plain')
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  it("a redirect of the agent is an error, and nobody's to follow", async () => {
    const answer = await server().request('GET', `${at}/redirected/log`)
    expect(answer.status).toBe(500)
    expect(answer.headers['location']).toBeUndefined()
    expect(answer.body).toMatchObject({
      kind: 'Status',
      message: 'Get "https://elsewhere.example.com/": redirects forbidden',
    })
  })

  it('another answer than a log is an error', async () => {
    const answer = await server().request('GET', `${at}/refused/log`)
    expect(answer.status).toBe(500)
    expect(answer.body.message).toBe('the server responded with the status code 304')
  })

  it('the agent is asked for the options that are known, in the name of the server', async () => {
    const query = 'follow=false&previous=True&tailLines=3&limitBytes=9&pretty=true&command=rm'
    const headers = { cookie: 'a=b', 'x-own': 'client', accept: 'text/html' }
    await server().ok('GET', `${at}/p/log?${query}`, { headers })
    expect(agent.requests.at(-1)).toBe(
      `GET /containerLogs/${namespace}/p/c?previous=true&tailLines=3&limitBytes=9`,
    )
    expect(Object.keys(agent.headers.at(-1) ?? {})).toEqual(['host', 'connection'])
  })

  const line = (): string => `GET /containerLogs/${namespace}/p/c\n`

  it.each([
    ['no protocol', undefined, ''],
    ['binary.k8s.io', ['binary.k8s.io'], 'binary.k8s.io'],
    ['what it offers first', ['x', 'binary.k8s.io', 'base64.binary.k8s.io'], 'binary.k8s.io'],
  ])('a WebSocket with %s gets an empty message, then bytes', async (_, protocols, agreed) => {
    const ask = protocols === undefined ? {} : { protocols }
    const { socket, next, closed } = await openWebSocket(server(), `${at}/p/log`, ask)
    expect(socket.protocol).toBe(agreed)
    expect(await next()).toEqual({ data: Buffer.alloc(0), isBinary: true })
    expect(await next()).toEqual({ data: Buffer.from(line()), isBinary: true })
    expect(await closed).toBe(1000)
  })

  it('a WebSocket with base64.binary.k8s.io gets texts', async () => {
    const protocols = ['base64.binary.k8s.io']
    const { socket, next, closed } = await openWebSocket(server(), `${at}/p/log`, { protocols })
    expect(socket.protocol).toBe('base64.binary.k8s.io')
    expect(await next()).toEqual({ data: Buffer.alloc(0), isBinary: false })
    const { data, isBinary } = await next()
    expect([Buffer.from(data.toString(), 'base64').toString(), isBinary]).toEqual([line(), false])
    expect(await closed).toBe(1000)
  })

  it('a WebSocket with another protocol is refused, and so is one for a log that there is not', async () => {
    const protocols = ['v4.channel.k8s.io']
    await expect(openWebSocket(server(), `${at}/p/log`, { protocols })).rejects.toMatchObject({
      status: 403,
    })
    await expect(openWebSocket(server(), `${at}/none/log`)).rejects.toMatchObject({ status: 404 })
  })
})
