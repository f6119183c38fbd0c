/** Who gets anything from the console: on its own socket, with every header that a browser or another site may send. */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { kubeconfigOf } from '../../support/kubeconfig-of.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

let server: TestApiServer
let served: ServedConsole
let cookie: string

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

type Headers = Readonly<Record<string, string>>

/** `host` goes into the header alone: the connection is always made to 127.0.0.1. */
async function ask(path: string, headers: Headers = {}, method = 'GET', body = ''): Promise<Reply> {
  return await new Promise((resolve, reject) => {
    const { port } = served
    const asked = request(
      { host: '127.0.0.1', port, path, method, headers, agent: false },
      (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => (text += chunk.toString()))
        answer.on('end', () => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text })
        })
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })
}

function linkPath(): string {
  const { pathname, search } = new URL(served.link())
  return pathname + search
}

const own = (): string => `http://127.0.0.1:${served.port}`
const page = (): Headers => ({ cookie, 'x-skiff-console': '1', 'sec-fetch-site': 'same-origin' })

beforeAll(async () => {
  server = await startApiServer()
  served = await serveConsole(await kubeconfigOf(server))
  const opened = await ask(linkPath())
  cookie = String(opened.headers['set-cookie']).split(';')[0] ?? ''
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

describe('without a session', () => {
  test.each(['/', '/page.js', '/page.css', '/cluster/api/v1/pods', '/nothing', '/live'])(
    '%s gets 403',
    async (path) => {
      const { status, body } = await ask(path)
      expect(status).toBe(403)
      expect(body).toMatch(/open the link that `skiff console` prints/)
    },
  )

  test('a link that was used gets 403 and no cookie', async () => {
    const path = linkPath()
    expect((await ask(path)).status).toBe(303)
    const again = await ask(path)
    expect(again.status).toBe(403)
    expect(again.headers['set-cookie']).toBeUndefined()
  })

  test('a key that was made up gets 403', async () => {
    expect((await ask('/open?key=a.b.c')).status).toBe(403)
    expect((await ask('/open')).status).toBe(403)
  })
})

describe('under another host name, as with DNS rebinding', () => {
  test.each(['/', '/page.js', '/cluster/version', '/open?key=a.b.c'])(
    '%s gets 403, even with a session',
    async (path) => {
      const { status, body } = await ask(path, { ...page(), host: 'evil.example:80' })
      expect(status).toBe(403)
      expect(body).toMatch(/does not listen at this host name/)
    },
  )

  test('a link does not open it, and stays unused', async () => {
    const path = linkPath()
    expect((await ask(path, { host: `evil.example:${served.port}` })).status).toBe(403)
    expect((await ask(path)).status).toBe(303)
  })
})

describe('from another site', () => {
  test('a request with its origin gets 403, even with a session', async () => {
    for (const origin of ['https://evil.example', 'null', `http://127.0.0.1:1`]) {
      expect((await ask('/cluster/version', { ...page(), origin })).status).toBe(403)
    }
  })

  test('a request that a link, a form or an image sends gets 403, even with a session', async () => {
    expect((await ask('/cluster/version', { cookie })).status).toBe(403)
    const cross = { ...page(), 'sec-fetch-site': 'cross-site' }
    expect((await ask('/cluster/version', cross)).status).toBe(403)
  })

  test('a form that posts gets 403 before its body reaches the cluster', async () => {
    const form = { cookie, origin: 'https://evil.example', 'content-type': 'text/plain' }
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'evil' } })
    expect((await ask('/cluster/api/v1/namespaces', form, 'POST', body)).status).toBe(403)
    expect((await server.request('GET', '/api/v1/namespaces/evil')).status).toBe(404)
  })

  test.each([
    ['without a cookie', (): Headers => ({ origin: own() })],
    ['with another origin', (): Headers => ({ cookie, origin: 'https://evil.example' })],
    ['without an origin or the header of the page', (): Headers => ({ cookie })],
  ])('a WebSocket %s is refused', async (_, headers) => {
    const socket = new WebSocket(`ws://127.0.0.1:${served.port}/live`, { headers: headers() })
    const refusal = await new Promise((resolve) => {
      socket.on('error', (error) => resolve(error.message))
      socket.on('open', () => resolve('opened'))
    })
    socket.terminate()
    expect(refusal).toMatch(/403/)
  })
})

describe('the page itself', () => {
  test('gets its files, with a policy that allows nothing but its own scripts', async () => {
    const { status, headers } = await ask('/', { cookie })
    expect(status).toBe(200)
    expect(headers['content-security-policy']).toMatch(
      /default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'/,
    )
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['cache-control']).toBe('no-store')
  })

  test('reads and writes the cluster, and gets upstream’s Status for errors', async () => {
    const json = { ...page(), origin: own(), 'content-type': 'application/json' }
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'made' } })
    expect((await ask('/cluster/api/v1/namespaces', json, 'POST', body)).status).toBe(201)
    const again = await ask('/cluster/api/v1/namespaces', json, 'POST', body)
    expect(again.status).toBe(409)
    expect(JSON.parse(again.body)).toMatchObject({ kind: 'Status', reason: 'AlreadyExists' })
  })

  test('gets bytes of the cluster as types that no browser runs', async () => {
    const { headers } = await ask('/cluster/', page())
    expect(headers['content-type']).toMatch(/^(application\/json|text\/plain)/)
    expect(headers['content-security-policy']).toMatch(/default-src 'none'/)
  })

  test('gets 413 for a body of more than 3 MiB', async () => {
    const json = { ...page(), origin: own(), 'content-type': 'application/json' }
    const { status } = await ask(
      '/cluster/api/v1/pods',
      json,
      'POST',
      'x'.repeat(3 * 1024 * 1024 + 1),
    )
    expect(status).toBe(413)
  })

  test('is cut off when it sends what is not a message', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${served.port}/live`, {
      headers: { ...page(), origin: own() },
    })
    const closed = new Promise((resolve) => socket.on('close', resolve))
    socket.on('open', () => socket.send('{"subscribe":"all"}'))
    expect(await closed).toBe(1008)
  })
})
