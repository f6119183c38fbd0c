/** The audit log of a running server: levels, stages, objects, users, in both dialects. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startApiServer, user } from '../../support/api-server.ts'
import type { Reply, TestApiServer } from '../../support/api-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface Event {
  readonly level: string
  readonly auditID: string
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly user: { readonly username: string }
  readonly impersonatedUser?: { readonly username: string; readonly groups: readonly string[] }
  readonly sourceIPs: readonly string[]
  readonly responseStatus?: Readonly<Record<string, unknown>>
  // oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind
  readonly requestObject?: any
  // oxlint-disable-next-line typescript/no-explicit-any -- objects of every kind
  readonly responseObject?: any
  readonly annotations?: Readonly<Record<string, string>>
}

const folder = temporaryFolder('audit-test')
let files = 0
const fresh = (name: string): string => join(folder, `${(files += 1)}-${name}`)

const rules = `
omitManagedFields: true
rules:
- {level: None, users: [quiet]}
- level: Request
  verbs: [create, update, patch, delete, deletecollection]
  resources: [{resources: [configmaps]}]
- {level: RequestResponse, resources: [{resources: [services, pods]}]}
- {level: None, nonResourceURLs: [/healthz]}
- level: Metadata
`

function policyFile(dialect: string, text = rules): string {
  const path = fresh('policy.yaml')
  const domain = dialect === 'svc' ? 'svc.io' : 'k8s.io'
  writeFileSync(path, `apiVersion: audit.${domain}/v1\nkind: Policy${text}`)
  return path
}

function eventsIn(path: string): Event[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Event)
}

describe.each(['kubernetes', 'svc'] as const)('by a policy, dialect %s', (dialect) => {
  let server: TestApiServer
  const log = fresh('audit.log')
  beforeAll(async () => {
    const flags = [`--audit-policy-file=${policyFile(dialect)}`, `--audit-log-path=${log}`]
    server = await startApiServer({ dialect, flags })
    await server.namespace('audited')
  })
  afterAll(() => server[Symbol.asyncDispose]())
  const of = (reply: Reply): Event[] =>
    eventsIn(log).filter(({ auditID }) => auditID === reply.headers['audit-id'])
  const maps = '/api/v1/namespaces/audited/configmaps'

  test('Metadata: who did what when, received and answered, and no object', async () => {
    const reply = await server.request('GET', '/api/v1/namespaces', {
      headers: { 'x-forwarded-for': '192.0.2.7, x' },
    })
    const [received, complete, ...more] = of(reply)
    expect(more).toEqual([])
    expect(received).toMatchObject({ stage: 'RequestReceived', level: 'Metadata', verb: 'list' })
    expect(received).not.toHaveProperty('responseStatus')
    expect(complete).toMatchObject({
      kind: 'Event',
      stage: 'ResponseComplete',
      user: { username: 'admin' },
      objectRef: { resource: 'namespaces', apiVersion: 'v1' },
      responseStatus: { metadata: {}, code: 200 },
    })
    const domain = dialect === 'svc' ? 'svc.io' : 'k8s.io'
    expect(complete).toMatchObject({ apiVersion: `audit.${domain}/v1` })
    expect(complete?.annotations?.[`authorization.${domain}/decision`]).toBe('allow')
    expect(complete?.annotations).toHaveProperty([`authorization.${domain}/reason`])
    expect(complete?.sourceIPs[0]).toBe('192.0.2.7')
    expect(complete).not.toHaveProperty('requestObject')
    expect(complete).not.toHaveProperty('responseObject')
  })

  test('Request: what was sent, in whatever encoding, and not what was answered', async () => {
    const body = { metadata: { name: 'a' }, data: { key: 'value' } }
    const created = await server.request('POST', maps, { body })
    expect(of(created).at(-1)).toMatchObject({ level: 'Request', requestObject: body })
    expect(of(created).at(-1)).not.toHaveProperty('responseObject')
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {key: value}\n'
    const headers = { 'content-type': 'application/yaml' }
    const second = await server.request('POST', maps, { body: yaml, headers })
    expect(second.status).toBe(201)
    expect(of(second).at(-1)?.requestObject).toMatchObject({ data: { key: 'value' } })
    const patched = await server.request('PATCH', `${maps}/a`, {
      body: [{ op: 'add', path: '/data/more', value: 'x' }],
      headers: { 'content-type': 'application/json-patch+json' },
    })
    expect(patched.status).toBe(200)
    expect(of(patched).at(-1)?.requestObject).toEqual([
      { op: 'add', path: '/data/more', value: 'x' },
    ])
    const deleted = await server.request('DELETE', `${maps}/b`, {
      body: { gracePeriodSeconds: 0 },
    })
    expect(of(deleted).at(-1)).toMatchObject({
      requestObject: { gracePeriodSeconds: 0 },
      responseStatus: { status: 'Success', code: 200 },
    })
  })

  test('RequestResponse: what was answered too, lists and gzip included, without managed fields', async () => {
    const path = '/api/v1/namespaces/audited/services'
    const body = {
      metadata: { name: 's', annotations: { fill: 'x'.repeat(200_000) } },
      spec: { ports: [{ port: 80 }] },
    }
    const created = await server.request('POST', path, { body })
    expect(created.status).toBe(201)
    const event = of(created).at(-1)
    expect(event?.responseObject).toMatchObject({ kind: 'Service', metadata: { name: 's' } })
    expect(event?.responseObject.metadata.uid).toBe(created.body.metadata.uid)
    expect(event?.responseObject.metadata).not.toHaveProperty('managedFields')
    const list = await server.request('GET', path, { headers: { 'accept-encoding': 'gzip' } })
    expect(list.headers['content-encoding']).toBe('gzip')
    await eventually(() => {
      expect(of(list).at(-1)?.responseObject).toMatchObject({
        kind: 'ServiceList',
        items: [{ metadata: { name: 's' } }],
      })
    })
    const protobuf = { accept: server.dialect.protobufMediaType }
    const got = await server.request('GET', `${path}/s`, { headers: protobuf })
    expect(got.headers['content-type']).toBe(server.dialect.protobufMediaType)
    expect(of(got).at(-1)?.responseObject).toMatchObject({
      kind: 'Service',
      metadata: { name: 's' },
    })
  })

  test('an error is recorded with the fields of its Status', async () => {
    const reply = await server.request('GET', `${maps}/missing`)
    expect(of(reply).at(-1)?.responseStatus).toEqual({
      metadata: {},
      status: 'Failure',
      message: 'configmaps "missing" not found',
      reason: 'NotFound',
      details: { name: 'missing', kind: 'configmaps' },
      code: 404,
    })
  })

  test('a watch is recorded when it starts and when it ends', async () => {
    const watch = await server.watch(`${maps}?watch=1`)
    const stages = (): string[] =>
      eventsIn(log)
        .filter(({ auditID }) => auditID === watch.headers['audit-id'])
        .map(({ stage }) => stage)
    expect(stages()).toEqual(['RequestReceived', 'ResponseStarted'])
    watch.close()
    await eventually(() => {
      expect(stages()).toEqual(['RequestReceived', 'ResponseStarted', 'ResponseComplete'])
    })
  })

  test('what the policy leaves out is not recorded', async () => {
    expect(of(await server.request('GET', '/healthz'))).toEqual([])
    expect(of(await server.request('GET', maps, { as: user('quiet') }))).toEqual([])
  })

  test('who is not let in is recorded without a name, who may not as forbidden', async () => {
    const bad = await server.request('GET', maps, { as: { token: 'wrong' } })
    expect(bad.status).toBe(401)
    expect(of(bad)).toMatchObject([{ stage: 'ResponseComplete', responseStatus: { code: 401 } }])
    const no = await server.request('GET', maps, { as: user('nobody') })
    const domain = dialect === 'svc' ? 'svc.io' : 'k8s.io'
    expect(of(no).at(-1)).toMatchObject({
      user: { username: 'nobody' },
      responseStatus: { code: 403, reason: 'Forbidden' },
      annotations: { [`authorization.${domain}/decision`]: 'forbid' },
    })
  })

  test('[IMP-012] a request in another name is authorized as that user, and both are named', async () => {
    const reply = await server.request('GET', maps, {
      headers: { 'impersonate-user': 'poor', 'impersonate-group': 'few' },
    })
    expect(reply.status).toBe(403)
    const event = of(reply).at(-1)
    expect(event?.user.username).toBe('admin')
    expect(event?.impersonatedUser?.username).toBe('poor')
    expect(event?.impersonatedUser?.groups).toContain('few')
  })
})

describe('without a policy', () => {
  test('every answered request is recorded by its metadata alone', async () => {
    const log = fresh('audit.log')
    await using server = await startApiServer({ flags: [`--audit-log-path=${log}`] })
    await server.namespace('plain')
    const path = '/api/v1/namespaces/plain/secrets'
    const body = { metadata: { name: 's' }, stringData: { password: 'hunter2' } }
    const created = await server.request('POST', path, { body })
    await server.request('GET', path)
    expect(readFileSync(log, 'utf8')).not.toMatch(/hunter2|aHVudGVyMg/)
    const events = eventsIn(log).filter(({ auditID }) => auditID === created.headers['audit-id'])
    expect(events).toMatchObject([{ stage: 'ResponseComplete', level: 'Metadata' }])
  })
})

describe('the file', () => {
  const silent = '\nrules: [{level: RequestResponse, resources: [{resources: [configmaps]}]}]\n'

  test('is set aside when it is full; old ones are compressed, and only so many kept', async () => {
    const log = fresh('rotated.log')
    await using server = await startApiServer({
      flags: [
        `--audit-policy-file=${policyFile('kubernetes', silent)}`,
        `--audit-log-path=${log}`,
        '--audit-log-maxsize=1',
        '--audit-log-maxbackup=2',
        '--audit-log-compress',
      ],
    })
    await server.namespace('rotating')
    const data = { fill: 'x'.repeat(300_000) }
    const path = '/api/v1/namespaces/rotating/configmaps'
    for (let number = 0; number < 10; number += 1) {
      await server.ok('POST', path, { body: { metadata: { name: `c-${number}` }, data } })
    }
    const name = log.slice(folder.length + 1, -'.log'.length)
    await eventually(() => {
      const aside = readdirSync(folder).filter((one) => one.startsWith(`${name}-`))
      expect(aside).toHaveLength(2)
      for (const one of aside)
        expect(one).toMatch(/-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}\.log\.gz$/)
    })
    expect(readFileSync(log).length).toBeLessThanOrEqual(1024 * 1024)
  })

  test('has a form for people', async () => {
    const log = fresh('legacy.log')
    await using server = await startApiServer({
      flags: [`--audit-log-path=${log}`, '--audit-log-format=legacy'],
    })
    const reply = await server.request('GET', '/version')
    expect(readFileSync(log, 'utf8')).toContain(
      ` AUDIT: id="${String(reply.headers['audit-id'])}" stage="ResponseComplete" ip="127.0.0.1" method="get" user="admin" groups="system:masters","system:authenticated" as="<self>" asgroups="<lookup>" namespace="<none>" uri="/version" response="200"\n`,
    )
  })

  test('blocking-strict: what cannot be recorded is refused; otherwise it is served', async () => {
    for (const [mode, status] of [
      ['blocking-strict', 500],
      ['blocking', 200],
      ['batch', 200],
    ] as const) {
      await using server = await startApiServer({
        flags: [
          `--audit-policy-file=${policyFile('kubernetes', '\nrules: [{level: Metadata, users: [ann]}]\n')}`,
          '--audit-log-path=/dev/full',
          `--audit-log-mode=${mode}`,
          '--authorization-mode=AlwaysAllow',
        ],
      })
      const reply = await server.request('GET', '/version', { as: user('ann') })
      expect(reply.status, mode).toBe(status)
      expect((await server.request('GET', '/version')).status).toBe(200)
      await eventually(() => expect(server.faults.join()).toContain('audit records are lost'))
    }
  })

  test('a policy that is wrong keeps the server from starting, with its place', async () => {
    const file = policyFile('kubernetes', '\nrules: [{level: Loud}]\n')
    await expect(startApiServer({ flags: [`--audit-policy-file=${file}`] })).rejects.toThrow(
      `--audit-policy-file: ${file}: rules[0].level: Unsupported value: "Loud"`,
    )
    const missing = fresh('none.yaml')
    await expect(startApiServer({ flags: [`--audit-policy-file=${missing}`] })).rejects.toThrow(
      `--audit-policy-file: ${missing}: ENOENT`,
    )
    await expect(startApiServer({ flags: ['--audit-log-maxage=-1'] })).rejects.toThrow(
      '--audit-log-maxage must not be negative, but is -1',
    )
  })
})
