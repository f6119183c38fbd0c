/** Audit records to a webhook: in lists, again after a failure, refused when they cannot be delivered and must be. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { HttpRequest } from '../../../components/component-base/http.ts'
import { eventually } from '../../support/eventually.ts'
import { startApiServer } from '../../support/api-server.ts'
import { cleanUp, pki, serve, text } from '../../support/https-fixture.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('audit-webhook')
afterEach(cleanUp)

interface EventList {
  readonly kind: string
  readonly apiVersion: string
  readonly items: readonly { readonly auditID: string; readonly stage: string }[]
}

/** A service that takes lists; the first calls are answered with the given statuses. */
async function remote(statuses: number[] = []) {
  const lists: EventList[] = []
  const tokens: unknown[] = []
  const { port } = await serve(async (request: HttpRequest) => {
    const body = await request.body(10_000_000)
    const status = statuses.shift() ?? 200
    tokens.push(request.headers['authorization'])
    if (status === 200) lists.push(JSON.parse(body.toString()) as EventList)
    return text('', status)
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

test('a call that fails is repeated; nothing is lost or doubled', async () => {
  const { lists, flag } = await remote([503, 500])
  await using server = await startApiServer({
    flags: [flag, '--audit-webhook-initial-backoff=10ms'],
  })
  const reply = await server.request('GET', '/version')
  await eventually(() => {
    const ids = lists.flatMap(({ items }) => items.map(({ auditID }) => auditID))
    expect(ids.filter((id) => id === reply.headers['audit-id'])).toHaveLength(1)
  })
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
