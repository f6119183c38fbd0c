/** Priority and fairness under load: a crowd starves no other flow, wide requests take their seats, and operators see all of it. */
import http2 from 'node:http2'
import { describe, expect, it } from 'vitest'
import { user, type Identity } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { allow, allowEverywhere } from '../../support/grants.ts'
import { sharedServer } from '../../support/shared-server.ts'

const debug = '/debug/api_priority_and_fairness'
const crowd = 2000
const streams = 50

describe('priority and fairness under load', () => {
  const server = sharedServer({
    dialect: 'kubernetes',
    // Requests may wait for a minute.
    flags: [
      '--max-requests-inflight=300',
      '--max-mutating-requests-inflight=300',
      '--request-timeout=4m',
    ],
  })
  const group = () => `/apis/${server().group('flowcontrol.apiserver')}/v1`

  /** A level, and a schema that puts these users' requests in it, a flow for each. */
  async function levelFor(name: string, users: readonly string[], limited: object): Promise<void> {
    await server().ok('POST', `${group()}/prioritylevelconfigurations`, {
      body: { metadata: { name }, spec: { type: 'Limited', limited } },
    })
    await server().ok('POST', `${group()}/flowschemas`, {
      body: {
        metadata: { name },
        spec: {
          priorityLevelConfiguration: { name },
          matchingPrecedence: 50,
          distinguisherMethod: { type: 'ByUser' },
          rules: [
            {
              subjects: users.map((one) => ({ kind: 'User', user: { name: one } })),
              resourceRules: [
                { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] },
              ],
            },
          ],
        },
      },
    })
  }

  const metric = async (name: string, labels: string): Promise<number> => {
    const { text } = await server().request('GET', '/metrics')
    const line = text.split('\n').find((one) => one.startsWith(`${name}{${labels}}`))
    return Number(line?.split(' ').at(-1) ?? 0)
  }
  const rowsOf = async (dump: string): Promise<string[][]> => {
    const { text } = await server().request('GET', `${debug}/${dump}`)
    return text
      .trim()
      .split('\n')
      .map((line) => line.split(/, */))
  }

  function connect(as: Identity) {
    const shown = server().credential(as)
    const session = http2.connect(`https://127.0.0.1:${server().port}`, {
      ca: server().pki.authority.certificatePem,
      cert: shown?.certificatePem,
      key: shown?.privateKeyPem,
    })
    session.on('error', () => {
      // Told by the request that fails.
    })
    return session
  }

  /** A request whose body does not come has its seat until then. */
  function slowCreate(as: Identity, path: string) {
    const session = connect(as)
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/json',
    })
    stream.write('{"metadata":')
    const answered = new Promise<number>((resolve, reject) => {
      stream.resume()
      stream.on('response', (headers) => resolve(Number(headers[':status'])))
      stream.on('error', reject)
    })
    return {
      end: async (): Promise<number> => {
        stream.end('{"name":"slow"}}')
        const status = await answered
        session.close()
        return status
      },
    }
  }

  it(`${crowd} requests of one user do not starve another user`, async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const rules = [{ resources: ['configmaps'], verbs: ['create', 'get', 'list'] }]
    const greedy = await allow(server(), ns, { name: 'greedy', rules })
    const modest = await allow(server(), ns, { name: 'modest', rules })
    const shares = (nominalConcurrencyShares: number) => ({
      nominalConcurrencyShares,
      borrowingLimitPercent: 0,
      limitResponse: {
        type: 'Queue',
        queuing: { queues: 64, handSize: 8, queueLengthLimit: crowd },
      },
    })
    // Without a seat, all of them wait.
    await levelFor('crowd', ['greedy', 'modest'], shares(0))
    const labels = 'flow_schema="crowd",priority_level="crowd"'
    const waiting = () => metric('apiserver_flowcontrol_current_inqueue_requests', labels)
    const sessions: http2.ClientHttp2Session[] = []
    const open = (as: Identity): http2.ClientHttp2Session => {
      const session = connect(as)
      sessions.push(session)
      return session
    }
    /** Creates an object. Resolves with the commit's number: those are in the order of dispatch. */
    const create = (session: http2.ClientHttp2Session): Promise<number> =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ':method': 'POST',
          ':path': at,
          'content-type': 'application/json',
        })
        let text = ''
        stream.setEncoding('utf8')
        stream.on('data', (part: string) => void (text += part))
        stream.on('error', reject)
        stream.on('end', () => resolve(Number(JSON.parse(text).metadata.resourceVersion)))
        stream.end('{"metadata":{"generateName":"one-"}}')
      })
    const crowded: Promise<number>[] = []
    for (let many = 0; many < crowd; many += streams) {
      const session = open(greedy)
      for (let stream = 0; stream < streams; stream += 1) crowded.push(create(session))
    }
    await eventually(async () => expect(await waiting()).toBe(crowd))
    const session = open(modest)
    const few = Array.from({ length: 20 }, () => create(session))
    await eventually(async () => expect(await waiting()).toBe(crowd + few.length))
    const row = (await rowsOf('dump_priority_levels')).find(([name]) => name === 'crowd')
    expect(row?.slice(2, 6)).toEqual(['false', 'false', String(crowd + few.length), '0'])
    const queues = (await rowsOf('dump_queues')).filter(([name]) => name === 'crowd')
    expect(queues).toHaveLength(64)
    // All of one user's requests are in the queues of one hand.
    expect(queues.filter(([, , pending]) => Number(pending) > 20).length).toBeLessThanOrEqual(8)
    // Of 600 seats, one share of 246 is three.
    await server().ok('PUT', `${group()}/prioritylevelconfigurations/crowd`, {
      body: { metadata: { name: 'crowd' }, spec: { type: 'Limited', limited: shares(1) } },
    })
    const commits = await Promise.all(crowded)
    const before = (await Promise.all(few))
      .map((mine) => commits.filter((commit) => commit < mine).length)
      .toSorted((one, other) => one - other)
    expect(commits.every((commit) => commit > 0)).toBe(true)
    // A request that took long delays those in the queue behind it: two may be late.
    expect(before.at(-3)).toBeLessThan(crowd / 4)
    expect(await waiting()).toBe(0)
    for (const one of sessions) one.destroy()
  })

  it('a list of many objects takes several seats, and a watch none once it has started', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const names = Array.from({ length: 250 }, (_, index) => `many-${index}`)
    await Promise.all(
      names.map((name) => server().ok('POST', at, { body: { metadata: { name } } })),
    )
    const reader = await allow(server(), ns, {
      name: 'reader',
      rules: [{ resources: ['configmaps'], verbs: ['create', 'list', 'watch'] }],
    })
    await levelFor('wide', ['reader'], {
      nominalConcurrencyShares: 50,
      limitResponse: { type: 'Queue', queuing: { queues: 16, handSize: 4, queueLengthLimit: 50 } },
    })
    const labels = 'flow_schema="wide",priority_level="wide"'
    const seats = () => metric('apiserver_flowcontrol_work_estimated_seats_sum', labels)
    expect((await server().request('GET', at, { as: reader })).status).toBe(200)
    const wide = await seats()
    expect(wide).toBeGreaterThanOrEqual(3)
    const one = `${at}?fieldSelector=metadata.name%3Dmany-1`
    expect((await server().request('GET', one, { as: reader })).body.items).toHaveLength(1)
    expect(await seats()).toBe(wide + 1)
    const watches = await Promise.all(
      Array.from({ length: 10 }, () =>
        server().watch(
          `${at}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
          {
            as: reader,
          },
        ),
      ),
    )
    for (const watch of watches) await watch.take(names.length)
    await eventually(async () =>
      expect(await metric('apiserver_flowcontrol_current_executing_requests', labels)).toBe(0),
    )
    const started = 'flow_schema="wide",priority_level="wide",type="watch"'
    expect(await metric('apiserver_flowcontrol_request_execution_seconds_count', started)).toBe(10)
    // Each watch began with all objects, as a list.
    expect(await seats()).toBeGreaterThanOrEqual(wide + 1 + 10 * 3)
    // The watchers of what is written next are counted.
    const samples = () => metric('apiserver_flowcontrol_watch_count_samples_sum', labels)
    await server().ok('POST', at, { as: reader, body: { metadata: { name: 'seen' } } })
    expect(await samples()).toBe(10)
    for (const watch of watches) watch.close()
    await eventually(async () => {
      const before = await samples()
      await server().ok('POST', at, { as: reader, body: { metadata: { generateName: 'unseen-' } } })
      expect(await samples()).toBe(before)
    })
  })

  it('the debug endpoints show levels, queues and requests to who may read them', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const paths = ['dump_priority_levels', 'dump_queues', 'dump_requests'].map(
      (name) => `${debug}/${name}`,
    )
    for (const path of paths) {
      const refused = await server().request('GET', path, { as: user('jane', 'team') })
      expect([path, refused.status]).toEqual([path, 403])
    }
    const operator = await allowEverywhere(server(), 'operator', [
      { nonResourceURLs: [`${debug}/*`], verbs: ['get'] },
    ])
    const writer = await allow(server(), ns, {
      name: 'writer',
      rules: [{ resources: ['configmaps'], verbs: ['create'] }],
    })
    const slow = slowCreate(writer, at)
    const shown = async (query: string): Promise<string[][]> => {
      const answer = await server().request('GET', `${debug}/dump_requests${query}`, {
        as: operator,
      })
      expect(answer.headers['content-type']).toContain('text/plain')
      return answer.text
        .trim()
        .split('\n')
        .map((line) => line.split(/, */))
    }
    await eventually(async () =>
      expect((await shown('?includeRequestDetails=1')).map(([, , , , flow]) => flow)).toContain(
        'writer',
      ),
    )
    const [columns = [], ...rows] = await shown('?includeRequestDetails=1')
    const row = rows.find(([, , , , flow]) => flow === 'writer') ?? []
    const cells = Object.fromEntries(columns.map((column, index) => [column, row[index]]))
    expect(cells).toMatchObject({
      PriorityLevelName: 'global-default',
      FlowSchemaName: 'global-default',
      RequestIndexInQueue: '-1',
      InitialSeats: '1',
      FinalSeats: '0',
      AdditionalLatency: '0s',
      UserName: 'writer',
      Verb: 'create',
      APIPath: at,
      Namespace: ns,
      APIVersion: 'v1',
      Resource: 'configmaps',
    })
    expect(Math.abs(Date.parse(cells['StartTime'] ?? '') - Date.now())).toBeLessThan(600_000)
    const [short] = await shown('')
    expect(short).toHaveLength(10)
    expect(await slow.end()).toBe(201)
    const text = (await server().request('GET', paths[0] ?? '', { as: operator })).text
    const lines = text.split('\n')
    expect(lines[0]).toMatch(/^PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, /)
    // Columns begin at the same place in every line.
    const second = lines[0]?.indexOf('ActiveQueues') ?? 0
    for (const line of lines.slice(1, -1)) expect(line.slice(second - 1)).toMatch(/^ \d+, /)
    expect((await server().request('GET', `${debug}/other`)).status).toBe(404)
  })

  it('all metrics that release 1.32 shows are there', async () => {
    const { text } = await server().request('GET', '/metrics')
    const shown = new Set(
      [...text.matchAll(/^# TYPE apiserver_flowcontrol_(\S+)/gm)].map(([, name]) => name),
    )
    const names = [
      ['current_executing_requests', 'current_executing_seats', 'current_inqueue_requests'],
      ['current_inqueue_seats', 'current_limit_seats', 'current_r', 'demand_seats'],
      ['demand_seats_average', 'demand_seats_high_watermark', 'demand_seats_smoothed'],
      ['demand_seats_stdev', 'dispatch_r', 'dispatched_requests_total', 'latest_s'],
      ['lower_limit_seats', 'next_discounted_s_bounds', 'next_s_bounds', 'nominal_limit_seats'],
      ['priority_level_request_utilization', 'priority_level_seat_utilization'],
      ['read_vs_write_current_requests'],
      ['request_dispatch_no_accommodation_total'],
      ['request_execution_seconds', 'request_queue_length_after_enqueue'],
      ['request_wait_duration_seconds', 'seat_fair_frac', 'target_seats', 'upper_limit_seats'],
      ['watch_count_samples', 'work_estimated_seats'],
    ].flat()
    expect(names.filter((name) => !shown.has(name))).toEqual([])
  })
})
