/** The server behind webhooks, conversions and extension API servers: its certificate, bounds, errors and end. */
import { request } from 'node:https'
import type { RequestOptions } from 'node:https'
import { afterEach, describe, expect, test } from 'vitest'
import { createAuthority } from '../../certs/authority.ts'
import { privateKeyPem } from '../../certs/keys.ts'
import { dialects } from '../../components/api/dialect.ts'
import { jsonAnswer, startHandlerServer } from '../../library/handler-server.ts'
import type { HandlerServer, HandlerServerOptions } from '../../library/handler-server.ts'

const { certificatePem, privateKey } = createAuthority({ commonName: 'ca', nowMs: Date.now() })
const cluster = {
  authority: { certificatePem, privateKeyPem: privateKeyPem(privateKey) },
  dialect: dialects.kubernetes,
}

const servers: HandlerServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})
async function start(more: Partial<HandlerServerOptions> = {}): Promise<HandlerServer> {
  const server = await startHandlerServer(cluster, {
    what: 'test',
    maxBodyBytes: 10,
    answer: async ({ body }) => jsonAnswer(200, (await body()).toString()),
    ...more,
  })
  servers.push(server)
  return server
}

function post({ url, caBundle }: HandlerServer, body: string, more: RequestOptions = {}) {
  return new Promise<{ code: number; text: string }>((resolve, reject) => {
    const ca = Buffer.from(caBundle, 'base64')
    const sent = request(url, { method: 'POST', ca, agent: false, ...more }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

describe('a server of handlers', () => {
  test('is verified by the caBundle, at its address, as localhost and by the names it was given', async () => {
    const server = await start({ dnsNames: ['flavors.kube-system.svc'] })
    expect(server.url).toBe(`https://127.0.0.1:${server.port}`)
    expect(await post(server, 'mint')).toEqual({ code: 200, text: '"mint"' })
    for (const servername of ['localhost', 'flavors.kube-system.svc'])
      expect(await post(server, 'mint', { servername })).toEqual({ code: 200, text: '"mint"' })
    const other = post(server, 'mint', { servername: 'other.kube-system.svc' })
    await expect(other).rejects.toThrow('does not match')
  })

  test('answers 413 to a body that is too long, which is not the handler’s error', async () => {
    const server = await start()
    const { code, text } = await post(server, 'vanilla bean')
    expect([code, text]).toEqual([413, 'the request body is larger than 10 bytes'])
    expect(server.errors).toEqual([])
  })

  test('answers 500 with what the handler throws, and keeps it', async () => {
    const bug = new Error('a bug')
    const server = await start({ answer: () => Promise.reject(bug) })
    expect(await post(server, '')).toEqual({ code: 500, text: 'a bug' })
    expect(server.errors).toEqual([bug])
  })

  test('ends while a handler still works: it hears of the end, and its caller is cut off', async () => {
    const asked = Promise.withResolvers<AbortSignal>()
    const server = await start({
      answer: async ({ stopping }) => {
        asked.resolve(stopping)
        return await new Promise(() => {})
      },
    })
    const cutOff = expect(post(server, '')).rejects.toThrow()
    const stopping = await asked.promise
    expect(stopping.aborted).toBe(false)
    await server.stop()
    expect(stopping.reason).toMatchObject({ message: 'the test was disposed of' })
    await cutOff
    await expect(post(server, '')).rejects.toThrow('ECONNREFUSED')
  })
})
