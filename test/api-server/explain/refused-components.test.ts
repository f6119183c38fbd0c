import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { admin, startApiServer, user, type TestApiServer } from '../../support/api-server.ts'

describe.each(['kubernetes', 'svc'] as const)('a component is refused, dialect %s', (dialect) => {
  let server: TestApiServer
  let lines: string[]
  beforeAll(async () => {
    lines = []
    server = await startApiServer({ dialect, onLog: (line) => void lines.push(line) })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const path = '/api/v1/namespaces/default/pods/p'
  const refused = (): unknown[] =>
    lines
      .map((line) => JSON.parse(line) as { level: string; message: string; user: string })
      .filter(({ message }) => message === 'a component of the cluster was refused a request')
  const account = (name: string): string =>
    `system:serviceaccount:${server.dialect.systemNamespace}:${name}`

  it('the log says which component was refused what, once however often it asks', async () => {
    const name = account('pod-garbage-collector')
    for (let times = 0; times < 3; times += 1)
      expect((await server.request('GET', path, { as: user(name) })).status).toBe(403)
    expect(refused()).toEqual([
      expect.objectContaining({
        level: 'warn',
        user: name,
        verb: 'get',
        resource: 'pods',
        namespace: 'default',
        name: 'p',
      }),
    ])
  })

  it('says so of nodes, the scheduler and the controller manager too', async () => {
    const names = ['system:node:n', 'system:kube-scheduler', 'system:kube-controller-manager']
    const before = refused().length
    for (const name of names) await server.request('DELETE', '/api/v1/nodes', { as: user(name) })
    expect(refused().slice(before)).toEqual(
      names.map(
        (name) => expect.objectContaining({ user: name, verb: 'deletecollection' }) as unknown,
      ),
    )
  })

  it('says nothing of other users, nor of one who impersonates a component', async () => {
    const before = refused().length
    for (const name of ['ann', account('default'), 'system:serviceaccount:default:job-controller'])
      expect((await server.request('GET', path, { as: user(name) })).status).toBe(403)
    const headers = { 'impersonate-user': 'system:kube-scheduler' }
    const reply = await server.request('DELETE', '/api/v1/nodes', { as: admin, headers })
    expect(reply.status).toBe(403)
    expect(refused()).toHaveLength(before)
  })
})
