/** Priority and fairness as a client meets it: headers that name the flow, and a seat to wait for. */
import http2 from 'node:http2'
import { expect, it } from 'vitest'
import { user } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { allow } from '../../support/grants.ts'
import { describeDialects, type SharedServer } from '../../support/shared-server.ts'

/** Of 120 seats, one share of 246 is one. */
const flags = ['--max-requests-inflight=60', '--max-mutating-requests-inflight=60']

describeDialects('priority and fairness', tests, { flags })

function tests(server: SharedServer): void {
  const group = () => `/apis/${server().group('flowcontrol.apiserver')}/v1`
  const uidOf = async (kind: string, name: string): Promise<string> =>
    (await server().ok('GET', `${group()}/${kind}/${name}`)).metadata.uid
  const header = (of: string) => `x-${server().dialect.name}-pf-${of}-uid`
  const flowOf = (headers: Record<string, unknown>) => [
    headers[header('flowschema')],
    headers[header('prioritylevel')],
  ]
  const uidsOf = async (schema: string, level: string) => [
    await uidOf('flowschemas', schema),
    await uidOf('prioritylevelconfigurations', level),
  ]

  it('every answer names the flow schema and the priority level of its request', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const exempt = await uidsOf('exempt', 'exempt')
    const others = await uidsOf('global-default', 'global-default')
    const jane = user('jane', 'team')
    for (const [path, as, status, flow] of [
      [at, undefined, 200, exempt],
      [`${at}/none`, undefined, 404, exempt],
      [at, jane, 403, others],
      ['/version', jane, 200, others],
      ['/livez', jane, 200, await uidsOf('probes', 'exempt')],
      [at, { token: 'nonsense' }, 401, [undefined, undefined]],
    ] as const) {
      const answer = await server().request('GET', path, as === undefined ? {} : { as })
      expect([path, answer.status, ...flowOf(answer.headers)]).toEqual([path, status, ...flow])
    }
    const watch = await server().stream(`${at}?watch=true`, {})
    expect(flowOf(watch.headers)).toEqual(exempt)
    watch.close()
  })

  it('starts with the objects of release 1.32', async () => {
    const named = async (kind: string): Promise<string[]> => {
      const { items } = await server().ok('GET', `${group()}/${kind}`)
      return (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
    }
    expect(await named('flowschemas')).toEqual(
      [
        'catch-all',
        'endpoint-controller',
        'exempt',
        'global-default',
        'kube-controller-manager',
        'kube-scheduler',
        `${server().dialect.systemNamespace}-service-accounts`,
        'probes',
        'service-accounts',
        'system-leader-election',
        'system-node-high',
        'system-nodes',
        'workload-leader-election',
      ].toSorted(),
    )
    expect(await named('prioritylevelconfigurations')).toEqual([
      'catch-all',
      'exempt',
      'global-default',
      'leader-election',
      'node-high',
      'system',
      'workload-high',
      'workload-low',
    ])
  })

  it('a level whose seats are taken refuses those of its schemas, and nobody else', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const writer = await allow(server(), ns, {
      name: 'narrow',
      rules: [{ resources: ['configmaps'], verbs: ['create', 'list'] }],
    })
    const other = await allow(server(), ns, {
      name: 'wide',
      rules: [{ resources: ['configmaps'], verbs: ['list'] }],
    })
    const name = `narrow-${ns}`
    const limited = {
      nominalConcurrencyShares: 1,
      borrowingLimitPercent: 0,
      limitResponse: { type: 'Reject' },
    }
    await server().ok('POST', `${group()}/prioritylevelconfigurations`, {
      body: { metadata: { name }, spec: { type: 'Limited', limited } },
    })
    await server().ok('POST', `${group()}/flowschemas`, {
      body: {
        metadata: { name },
        spec: {
          priorityLevelConfiguration: { name },
          matchingPrecedence: 50,
          rules: [
            {
              subjects: [{ kind: 'User', user: { name: 'narrow' } }],
              resourceRules: [
                { verbs: ['*'], apiGroups: [''], resources: ['configmaps'], namespaces: [ns] },
              ],
            },
          ],
        },
      },
    })
    const executing = async (): Promise<string | undefined> => {
      const { text } = await server().request('GET', '/metrics')
      const labels = `flow_schema="${name}",priority_level="${name}"`
      return new RegExp(
        `^apiserver_flowcontrol_current_executing_requests\\{${labels}\\} (.*)$`,
        'm',
      ).exec(text)?.[1]
    }
    expect(await executing()).toBe('0')
    // A request whose body does not come has its seat until then.
    const shown = server().credential(writer)
    const session = http2.connect(`https://127.0.0.1:${server().port}`, {
      ca: server().pki.authority.certificatePem,
      cert: shown?.certificatePem,
      key: shown?.privateKeyPem,
    })
    session.on('error', () => {
      // Told by the request that fails.
    })
    const slow = session.request({
      ':method': 'POST',
      ':path': at,
      'content-type': 'application/json',
    })
    const answered = new Promise<unknown>((resolve, reject) => {
      slow.resume()
      slow.on('response', (headers) => resolve(headers[':status']))
      slow.on('error', reject)
    })
    slow.write('{"metadata":')
    await eventually(async () => expect(await executing()).toBe('1'))
    const refused = await server().request('GET', at, { as: writer })
    expect(refused.body).toMatchObject({ kind: 'Status', reason: 'TooManyRequests', code: 429 })
    expect(refused.headers['retry-after']).toBe('1')
    expect(flowOf(refused.headers)).toEqual(await uidsOf(name, name))
    expect((await server().request('GET', at, { as: other })).status).toBe(200)
    slow.end('{"name":"slow"}}')
    expect(await answered).toBe(201)
    await eventually(async () => expect(await executing()).toBe('0'))
    session.close()
    expect((await server().request('GET', at, { as: writer })).status).toBe(200)
    const { text } = await server().request('GET', '/metrics')
    expect(text).toContain(
      `apiserver_flowcontrol_rejected_requests_total{flow_schema="${name}",priority_level="${name}",reason="concurrency-limit"} 1`,
    )
  })
}
