/** Watches over WebSockets: one message per event, through the same authentication, authorization and audit as any request. */
import { request as httpsRequest } from 'node:https'
import { expect, it } from 'vitest'
import { admin, startApiServer, user } from '../../support/api-server.ts'
import { cborItems, protobufEvent } from '../../support/binary-forms.ts'
import { eventually } from '../../support/eventually.ts'
import { describeDialects } from '../../support/shared-server.ts'
import { openWebSocket as open } from '../../support/web-socket.ts'

const body = { metadata: { name: 'c' }, data: { a: 'b' } }

describeDialects('a watch over a WebSocket', (server) => {
  const maps = async (): Promise<string> =>
    `/api/v1/namespaces/${await server().namespace()}/configmaps`

  it('sends each event as a text of its own', async () => {
    const path = await maps()
    const made = await server().ok('POST', path, { body })
    const { next, socket, closed } = await open(server(), `${path}?watch=1`)
    const changed = await server().ok('PUT', `${path}/c`, { body: { ...body, data: { a: 'c' } } })
    await server().ok('DELETE', `${path}/c`)
    const events = []
    for (let count = 0; count < 3; count += 1) {
      const { data, isBinary } = await next()
      expect(isBinary).toBe(false)
      expect(data.toString().endsWith('}\n')).toBe(true)
      events.push(JSON.parse(data.toString()))
    }
    expect(events).toMatchObject([
      { type: 'ADDED', object: made },
      { type: 'MODIFIED', object: changed },
      { type: 'DELETED' },
    ])
    socket.close(1000)
    expect(await closed).toBe(1000)
  })

  it('sends protobuf as bytes, without a length before them', async () => {
    const path = await maps()
    await server().ok('POST', path, { body })
    const headers = { accept: server().dialect.protobufMediaType }
    const { next, socket } = await open(server(), `${path}?watch=1`, { headers })
    const { data, isBinary } = await next()
    expect(isBinary).toBe(true)
    expect(protobufEvent(data)).toMatchObject({ type: 'ADDED', object: { kind: 'ConfigMap' } })
    socket.close()
  })

  it('is over at its timeout, closed in the ordinary way', async () => {
    const path = await maps()
    const { closed } = await open(server(), `${path}?watch=1&timeoutSeconds=1`)
    expect(await closed).toBe(1000)
  })

  it('is let go of when its client leaves, politely or not', async () => {
    const path = await maps()
    const watchers = async (): Promise<number> => {
      const { text } = await server().request('GET', '/metrics')
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith('apiserver_longrunning_requests'))
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    }
    const before = await watchers()
    const one = await open(server(), `${path}?watch=1`)
    const two = await open(server(), `${path}?watch=1`)
    await eventually(async () => expect(await watchers()).toBe(before + 2))
    one.socket.close()
    two.socket.terminate()
    await eventually(async () => expect(await watchers()).toBe(before))
  })

  it('gets the protocol that it offers, but never the one that is a token', async () => {
    const path = await maps()
    const { apiDomain } = server().dialect
    const prefix = `base64url.bearer.authorization.${apiDomain}.`
    const account = await server().ok(
      'POST',
      `${path.replace(/configmaps$/, 'serviceaccounts')}/default/token`,
      {
        body: { spec: {} },
      },
    )
    const token: string = account.status.token
    const protocols = [
      `${prefix}${Buffer.from(token).toString('base64url')}`,
      `binary.${apiDomain}`,
    ]
    const refused = await open(server(), `${path}?watch=1`, { as: 'anonymous', protocols }).catch(
      (error: unknown) => error as Error & { status: number },
    )
    // The token is known, and its account may do nothing.
    expect(refused).toMatchObject({ status: 403 })
    expect(String((refused as Error).message)).toContain('system:serviceaccount:')
    const bad = [`${prefix}${Buffer.from('nobody').toString('base64url')}`, `binary.${apiDomain}`]
    await expect(
      open(server(), `${path}?watch=1`, { as: 'anonymous', protocols: bad }),
    ).rejects.toMatchObject({ status: 401 })
    for (const name of [`binary.${apiDomain}`, `base64.binary.${apiDomain}`]) {
      const { socket } = await open(server(), `${path}?watch=1`, { protocols: [name] })
      expect(socket.protocol).toBe(name)
      socket.close()
    }
    const both = await open(server(), `${path}?watch=1`, { protocols })
    expect(both.socket.protocol).toBe(`binary.${apiDomain}`)
    both.socket.close()
    const none = await open(server(), `${path}?watch=1`)
    expect(none.socket.protocol).toBe('')
    none.socket.close()
  })

  it('that is refused is a plain answer with a Status', async () => {
    const path = await maps()
    const refusals: [path: string, ask: Parameters<typeof open>[2], status: number][] = [
      [`${path}?watch=1`, { as: user('nobody') }, 403],
      [`/api/v1/nothings?watch=1`, {}, 404],
      [`${path}?watch=1&resourceVersion=x`, {}, 400],
      [`${path}?watch=1`, { headers: { accept: 'text/html' } }, 406],
    ]
    for (const [at, ask, status] of refusals) {
      const error = (await open(server(), at, ask).catch((thrown: unknown) => thrown)) as {
        status: number
        text: string
      }
      expect(error.status, at).toBe(status)
      expect(JSON.parse(error.text)).toMatchObject({ kind: 'Status', code: status })
    }
  })

  it('has an audit record like any watch', async () => {
    const path = await maps()
    const { socket } = await open(server(), `${path}?watch=1&timeoutSeconds=77`)
    socket.close()
    await eventually(() => {
      const record = server()
        .audit()
        .find(({ requestURI }) => requestURI === `${path}?watch=1&timeoutSeconds=77`)
      expect(record).toMatchObject({ verb: 'watch', responseStatus: { code: 101 } })
    })
  })

  it('other requests that ask for a WebSocket are answered as if they had not', async () => {
    const path = await maps()
    await server().ok('POST', path, { body })
    const shown = server().credential(admin)
    const status = await new Promise<number>((resolve, reject) => {
      const request = httpsRequest(
        {
          host: '127.0.0.1',
          port: server().port,
          path: `${path}/c`,
          ca: server().pki.authority.certificatePem,
          cert: shown?.certificatePem,
          key: shown?.privateKeyPem,
          headers: {
            connection: 'Upgrade',
            upgrade: 'websocket',
            'sec-websocket-version': '13',
            'sec-websocket-key': Buffer.alloc(16).toString('base64'),
          },
          agent: false,
        },
        (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        },
      )
      request.on('upgrade', () => reject(new Error('upgraded')))
      request.on('error', reject)
      request.end()
    })
    expect(status).toBe(200)
  })
})

it('a WebSocket watch in CBOR has one item per message', async () => {
  await using server = await startApiServer({
    flags: ['--feature-gates=CBORServingAndStorage=true'],
  })
  const path = `/api/v1/namespaces/${await server.namespace()}/configmaps`
  const made = await server.ok('POST', path, { body })
  const headers = { accept: 'application/cbor' }
  const { next, socket } = await open(server, `${path}?watch=1`, { headers })
  const { data, isBinary } = await next()
  expect(isBinary).toBe(true)
  expect(cborItems(data)).toEqual([{ type: 'ADDED', object: made }])
  socket.close()
})
