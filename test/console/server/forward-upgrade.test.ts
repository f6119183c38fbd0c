/** Shells through the console: who may open one, and what the API server says. */
import { WebSocket } from 'ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster } from '../../../library/start-cluster.ts'
import type { Cluster } from '../../../library/types.ts'
import { serveConsole, type ServedConsole } from '../../support/served-console.ts'

const protocol = 'v5.channel.k8s.io'
const place = '/cluster/api/v1/namespaces/default/pods/web/exec?command=hostname&stdout=true'

let cluster: Cluster
let served: ServedConsole
let cookie: string

/** A session of the console, as a browser gets it. */
async function openSession(of: ServedConsole): Promise<string> {
  const answer = await fetch(of.link(), { redirect: 'manual' })
  return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
}

beforeAll(async () => {
  const spec = { containers: [{ name: 'web', image: 'nginx' }] }
  cluster = await startCluster({
    objects: [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec } as never],
  })
  await cluster.expect({ kind: 'Pod', name: 'web', where: 'status.phase == Running' })
  served = await serveConsole(cluster.kubeconfig())
  cookie = await openSession(served)
})

afterAll(async () => {
  await served?.[Symbol.asyncDispose]()
  await cluster?.stop()
})

interface Asked {
  readonly of?: ServedConsole
  readonly path?: string
  readonly origin?: string | undefined
  readonly session?: string
  readonly protocols?: string[]
}

/** Messages by channel until the end; a refused upgrade gives its status and text. */
async function run(asked: Asked = {}): Promise<Readonly<Record<number, string>>> {
  const { of = served, path = place, session = cookie, protocols = [protocol] } = asked
  const origin = 'origin' in asked ? asked.origin : `http://127.0.0.1:${of.port}`
  const socket = new WebSocket(`ws://127.0.0.1:${of.port}${path}`, protocols, {
    headers: { cookie: session, ...(origin === undefined ? {} : { origin }) },
  })
  const said: Record<number, string> = {}
  const add = (channel: number, text: string): void => {
    said[channel] = (said[channel] ?? '') + text
  }
  await new Promise<void>((resolve, reject) => {
    socket.on('message', (data: Buffer) => add(data[0] ?? -1, data.subarray(1).toString()))
    socket.on('close', () => resolve())
    socket.on('error', reject)
    socket.on('unexpected-response', (request, answer) => {
      answer.on('data', (chunk: Buffer) => add(answer.statusCode ?? 0, chunk.toString()))
      answer.on('end', () => {
        request.destroy()
        resolve()
      })
    })
  })
  return said
}

describe('a shell through the console', () => {
  it('gets output and end of the command, with a certificate and with a token', async () => {
    expect(await run()).toMatchObject({ 1: 'web\n', 3: expect.stringContaining('"Success"') })
    const { status } = (await cluster.admin.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts/default/token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })) as { readonly status: { readonly token: string } }
    await using ofToken = await serveConsole(cluster.kubeconfig({ token: status.token }))
    const denied = await run({ of: ofToken, session: await openSession(ofToken) })
    // Without rights, but known: the token went along.
    expect(denied[3]).toContain('system:serviceaccount:default:default')
    expect(denied[3]).toContain('"code":403')
  })

  it('says what the API server says of a pod that does not exist', async () => {
    const said = await run({ path: place.replace('/web/', '/nothing/') })
    expect(JSON.parse(said[3] ?? '')).toMatchObject({ kind: 'Status', code: 404 })
  })

  it('is refused to other origins, without a session, and for requests that are no shells', async () => {
    expect(Object.keys(await run({ origin: 'http://evil.example' }))).toEqual(['403'])
    expect(Object.keys(await run({ origin: undefined }))).toEqual(['403'])
    expect(Object.keys(await run({ session: '' }))).toEqual(['403'])
    const watch = '/cluster/api/v1/pods?watch=true'
    expect((await run({ path: watch }))[403]).toContain('only exec and attach')
    const outside = '/cluster/api/v1/namespaces/default/pods/web/exec/../portforward?ports=1'
    expect((await run({ path: outside }))[403]).toContain('only exec and attach')
    const other = await run({ protocols: ['base64.channel.k8s.io'] })
    expect(other[403]).toContain(protocol)
  })
})
