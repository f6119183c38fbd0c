/** Audit records to a webhook: in lists, again after a failure, refused when they cannot be delivered and must be. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openAuditWebhook } from '../../../components/api-server/audit/webhook.ts'
import type { HttpRequest } from '../../../components/component-base/http.ts'
import { eventually } from '../../support/eventually.ts'
import { startApiServer } from '../../support/api-server.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { cleanUp, pki, serve, text } from '../../support/https-fixture.ts'
import { standIn } from '../../support/stand-in.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('audit-webhook')
afterEach(cleanUp)

interface EventList {
  readonly kind: string
  readonly apiVersion: string
  readonly items: readonly { readonly auditID: string; readonly stage: string }[]
}

/** A service over TLS that takes lists. */
async function remote() {
  const lists: EventList[] = []
  const tokens: unknown[] = []
  const { port } = await serve(async (request: HttpRequest) => {
    const body = await request.body(10_000_000)
    tokens.push(request.headers['authorization'])
    lists.push(JSON.parse(body.toString()) as EventList)
    return text('')
  })
  const path = join(folder, `${port}.yaml`)
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'r',
          cluster: {
            server: `https://localhost:${port}/audit`,
            'certificate-authority-data': Buffer.from(pki.caPem).toString('base64'),
          },
        },
      ],
      users: [{ name: 'me', user: { token: 'audit-token' } }],
      contexts: [{ name: 'c', context: { cluster: 'r', user: 'me' } }],
      'current-context': 'c',
    }),
  )
  return { lists, tokens, flag: `--audit-webhook-config-file=${path}` }
}

test('every record comes, in lists, with the token of the configuration', async () => {
  const { lists, tokens, flag } = await remote()
  await using server = await startApiServer({ flags: [flag] })
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => server.request('GET', '/version')),
  )
  const wanted = replies.map(({ headers }) => headers['audit-id'])
  await eventually(() => {
    const got = lists.flatMap(({ items }) => items.map(({ auditID }) => auditID))
    expect(got).toEqual(expect.arrayContaining(wanted))
  })
  expect(lists[0]).toMatchObject({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1' })
  expect(new Set(tokens)).toEqual(new Set(['Bearer audit-token']))
  // The log file has them too.
  expect(server.audit().length).toBeGreaterThanOrEqual(20)
})

/** A webhook without a server, whose waits between attempts end at once and are recorded. */
function openAlone(statuses: number[], batchSize = 10) {
  const requests = standIn('https://audit.example', () => ({ status: statuses.shift() ?? 200 }))
  const clock = new FakeClock()
  const waitsMs: number[] = []
  clock.sleep = async (ms) => void waitsMs.push(ms)
  const output = openAuditWebhook(
    { url: 'https://audit.example/events' },
    { apiVersion: 'audit.k8s.io/v1', batchSize, initialBackoffMs: 10, clock },
  )
  const lists = () =>
    requests.map(({ body }) => (JSON.parse(body) as EventList).items.map(({ auditID }) => auditID))
  const write = (...ids: string[]) =>
    output.write(ids.map((auditID) => `${JSON.stringify({ auditID })}\n`))
  return { lists, write, waitsMs, close: () => output.close() }
}

test('a list has no more records than the batch size, in their order', async () => {
  const { lists, write, close } = openAlone([], 2)
  await write('a', 'b', 'c', 'd', 'e')
  expect(lists()).toEqual([['a', 'b'], ['c', 'd'], ['e']])
  await close()
})

test('a call that fails for a while is repeated, after longer and longer waits', async () => {
  const { lists, write, waitsMs, close } = openAlone([503, 500, 429])
  await write('a', 'b')
  await write('c')
  expect(lists()).toEqual([['a', 'b'], ['a', 'b'], ['a', 'b'], ['a', 'b'], ['c']])
  expect(waitsMs).toHaveLength(3)
  for (const [at, ms] of [10, 15, 22.5].entries()) {
    expect(waitsMs[at]).toBeGreaterThanOrEqual(ms)
    expect(waitsMs[at]).toBeLessThanOrEqual(ms * 1.2)
  }
  await close()
})

test.each([
  ['after five attempts', [500, 500, 500, 500, 500], 5],
  ['at once where a repetition cannot help', [400], 1],
])('a call that fails is given up %s', async (_, statuses, calls) => {
  const { lists, write, close } = openAlone(statuses)
  await expect(write('a')).rejects.toThrow('POST https://audit.example: answered')
  expect(lists()).toHaveLength(calls)
  await close()
})

test('a service that is gone costs no request anything, and the server can still end', async () => {
  const { flag } = await remote()
  await cleanUp()
  await using server = await startApiServer({
    flags: [flag, '--audit-webhook-initial-backoff=1ms'],
  })
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => server.request('GET', '/version')),
  )
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
})

test('a configuration that is wrong keeps the server from starting', async () => {
  const path = join(folder, 'none.yaml')
  await expect(startApiServer({ flags: [`--audit-webhook-config-file=${path}`] })).rejects.toThrow(
    `--audit-webhook-config-file: ${path}: ENOENT`,
  )
})
