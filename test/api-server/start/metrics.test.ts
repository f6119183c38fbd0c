/** What /metrics shows: upstream's names, labels and levels, with values that are true. */
import { describe, expect, it } from 'vitest'
import { startApiServer, user } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedServer } from '../../support/shared-server.ts'

const request = ['component', 'group', 'resource', 'scope', 'subresource', 'verb', 'version']

/** Name -> level and labels, as release 1.32 has them. */
const upstream: Readonly<Record<string, readonly [level: string, ...labels: string[]]>> = {
  apiserver_admission_step_admission_duration_seconds: ['STABLE', 'operation', 'rejected', 'type'],
  apiserver_current_inflight_requests: ['STABLE', 'request_kind'],
  apiserver_flowcontrol_current_executing_requests: ['BETA', 'flow_schema', 'priority_level'],
  apiserver_flowcontrol_current_executing_seats: ['BETA', 'flow_schema', 'priority_level'],
  apiserver_flowcontrol_current_inqueue_requests: ['BETA', 'flow_schema', 'priority_level'],
  apiserver_flowcontrol_dispatched_requests_total: ['BETA', 'flow_schema', 'priority_level'],
  apiserver_flowcontrol_nominal_limit_seats: ['BETA', 'priority_level'],
  apiserver_longrunning_requests: ['STABLE', ...request],
  apiserver_request_duration_seconds: ['STABLE', 'dry_run', ...request],
  apiserver_request_sli_duration_seconds: ['ALPHA', ...request],
  apiserver_request_total: ['STABLE', 'code', 'dry_run', ...request],
  apiserver_requested_deprecated_apis: [
    'STABLE',
    'group',
    'removed_release',
    'resource',
    'subresource',
    'version',
  ],
  apiserver_response_sizes: ['STABLE', ...request],
  apiserver_storage_objects: ['STABLE', 'resource'],
  apiserver_watch_events_sizes: ['ALPHA', 'group', 'kind', 'version'],
  apiserver_watch_events_total: ['ALPHA', 'group', 'kind', 'version'],
  authenticated_user_requests: ['ALPHA', 'username'],
  authentication_attempts: ['ALPHA', 'result'],
  authentication_duration_seconds: ['ALPHA', 'result'],
  authorization_attempts_total: ['ALPHA', 'result'],
  authorization_duration_seconds: ['ALPHA', 'result'],
  etcd_request_duration_seconds: ['ALPHA', 'operation', 'type'],
  etcd_requests_total: ['ALPHA', 'operation', 'type'],
  hidden_metrics_total: ['BETA'],
  kubernetes_feature_enabled: ['BETA', 'name', 'stage'],
  registered_metrics_total: ['BETA', 'deprecated_version', 'stability_level'],
}

describe('metrics of the API server', () => {
  const server = sharedServer()

  it('[VER-046] every metric has its stability level in its help', async () => {
    await server().request('GET', '/api/v1/pods')
    const lines = (await server().request('GET', '/metrics')).text.split('\n')
    const helped = lines.filter((line) => line.startsWith('# HELP '))
    expect(helped.length).toBeGreaterThan(20)
    for (const line of helped) {
      expect(line).toMatch(/^# HELP [a-z_:0-9]+ \[(ALPHA|BETA|STABLE)\] ./)
    }
    // Each has a help.
    const names = helped.map((line) => line.split(' ')[2])
    const typed = lines
      .filter((line) => line.startsWith('# TYPE '))
      .map((line) => line.split(' ')[2])
    expect(typed).toEqual(names)
  })

  const read = async (): Promise<string[]> =>
    (await server().request('GET', '/metrics')).text.trimEnd().split('\n')
  /** The value of the series with this name and these labels among its own; 0 when there is none. */
  const valueOf = async (name: string, labels: Record<string, string>): Promise<number> => {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
    const line = (await read()).find(
      (text) => text.startsWith(`${name}{`) && wanted.every((label) => text.includes(label)),
    )
    return Number(line?.slice(line.lastIndexOf(' ') + 1) ?? 0)
  }

  it('have upstream’s names, levels and labels', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    await server().request('GET', '/api/v1/componentstatuses')
    const watch = await server().watch(`${at}?watch=true`)
    await server().ok('POST', at, { body: { metadata: { name: 'a' } } })
    await watch.take(1)
    const lines = await read()
    watch.close()
    for (const [name, [level, ...labels]] of Object.entries(upstream)) {
      expect(lines.find((line) => line.startsWith(`# HELP ${name} `))).toContain(` [${level}] `)
      const sample = lines.find((line) => new RegExp(`^${name}(_count)?[{ ]`).test(line))
      const found = [...(sample?.matchAll(/[{,](\w+)="/g) ?? [])].map(([, label]) => label)
      expect([name, found.toSorted()]).toEqual([name, labels.toSorted()])
    }
    for (const line of lines.filter((text) => text.startsWith('# HELP '))) {
      expect(line).toMatch(/ \[(ALPHA|BETA|STABLE)\] /)
    }
  })

  it('hold nothing that a client chose freely', async () => {
    const ns = await server().namespace()
    await server().request('GET', `/api/v1/namespaces/${ns}/pods/p/invented`)
    await server().request('GET', `/api/v1/namespaces/${ns}/invented/p`)
    expect((await read()).filter((line) => line.includes('invented'))).toEqual([])
  })

  it('count what was done', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/secrets`
    const post = { code: '201', resource: 'secrets', scope: 'resource', verb: 'POST', dry_run: '' }
    const dry = { ...post, dry_run: 'All' }
    await server().ok('POST', at, { body: { metadata: { name: 'a' } } })
    await server().ok('POST', `${at}?dryRun=All`, { body: { metadata: { name: 'b' } } })
    const before = await valueOf('apiserver_request_total', post)
    const beforeDry = await valueOf('apiserver_request_total', dry)
    await server().ok('POST', at, { body: { metadata: { name: 'c' } } })
    await server().ok('POST', `${at}?dryRun=All`, { body: { metadata: { name: 'd' } } })
    expect(await valueOf('apiserver_request_total', post)).toBe(before + 1)
    expect(await valueOf('apiserver_request_total', dry)).toBe(beforeDry + 1)
    expect(await valueOf('apiserver_storage_objects', { resource: 'secrets' })).toBe(2)
    const type = 'secrets'
    expect(await valueOf('etcd_requests_total', { operation: 'create', type })).toBe(2)

    const size = (await server().request('GET', at)).bytes.length
    const list = { resource: 'secrets', verb: 'LIST', scope: 'namespace' }
    expect(await valueOf('apiserver_response_sizes_sum', list)).toBe(size)
    expect(await valueOf('apiserver_response_sizes_count', list)).toBe(1)

    const apply = { 'content-type': 'application/apply-patch+yaml' }
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }
    await server().ok('PATCH', `${at}/a?fieldManager=m`, { body, headers: apply })
    expect(await valueOf('apiserver_request_total', { resource: 'secrets', verb: 'APPLY' })).toBe(1)
  })

  it('count events and watches, which are let go with their client', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/pods`
    const running = { resource: 'pods', verb: 'WATCH', scope: 'namespace' }
    const watch = await server().watch(`${at}?watch=true`)
    expect(await valueOf('apiserver_longrunning_requests', running)).toBe(1)
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await server().ok('POST', at, { body: { metadata: { name: 'p' }, spec } })
    await watch.take(1)
    expect(await valueOf('apiserver_watch_events_total', { kind: 'Pod' })).toBe(1)
    watch.close()
    await eventually(async () => {
      expect(await valueOf('apiserver_longrunning_requests', running)).toBe(0)
    })
  })

  it('count who is let in and what is allowed', async () => {
    const failed = await valueOf('authentication_attempts', { result: 'failure' })
    await server().request('GET', '/api/v1/pods', { as: { token: 'nonsense' } })
    expect(await valueOf('authentication_attempts', { result: 'failure' })).toBe(failed + 1)
    const denied = await valueOf('authorization_attempts_total', { result: 'no-opinion' })
    await server().request('GET', '/api/v1/pods', { as: user('nobody') })
    expect(await valueOf('authorization_attempts_total', { result: 'no-opinion' })).toBe(denied + 1)
  })

  it('have no label that a client chooses', async () => {
    for (const path of ['/apis/made.up/v1/things', '/made/up', '/api/v1/namespaces/x/made-ups/y']) {
      await server().request('GET', path)
      await server().request('BREW', path)
    }
    const text = (await read()).join('\n')
    expect(text).not.toMatch(/made\.up|made\/up|made-up|BREW|things/)
  })
})

it('an unfit release of hidden metrics stops the start', async () => {
  await expect(
    startApiServer({ flags: ['--show-hidden-metrics-for-version=1.29'] }),
  ).rejects.toThrow('Only the previous minor version is allowed')
})
