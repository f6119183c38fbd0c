/** What requests to a real server leave in the metrics of their client. */
import { afterEach, describe, expect, it } from 'vitest'
import { servedRelease } from '../../components/api/lifecycle.ts'
import { createRestClient } from '../../components/client/rest-client.ts'
import type { RestClientOptions } from '../../components/client/rest-client.ts'
import { createRestObserver } from '../../components/client/rest-metrics.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import type { Answer, HttpRequest } from '../../components/component-base/http.ts'
import { createMetrics } from '../../components/component-base/metrics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { cleanUp, pki, serve, text } from '../support/https-fixture.ts'

const clients: { close(): void }[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await cleanUp()
})

/** A client of that port. `lines` gives the series of a metric without their host, which all share; buckets are left out. */
function measured(port: number, options: Partial<RestClientOptions> = {}) {
  const metrics = createMetrics({ release: servedRelease })
  const clock = new FakeClock()
  const host = `127.0.0.1:${port}`
  const client = createRestClient({
    server: `https://${host}`,
    ca: pki.caPem,
    observer: createRestObserver(metrics, clock),
    ...options,
  })
  clients.push(client)
  const lines = (name: string): string[] =>
    metrics
      .text()
      .split('\n')
      .filter((line) => line.startsWith(`rest_client_${name}`) && !line.includes('_bucket'))
      .map((line) => {
        expect(line).toContain(`host="${host}"`)
        return line.slice(`rest_client_${name}`.length).replace(`,host="${host}"`, '')
      })
  return { client, clock, lines }
}

/** Serves, and takes back what was sent. */
const serving = async (answer: (request: HttpRequest) => Answer) => {
  const { port } = await serve(async (request) => {
    await request.body(1000)
    return answer(request)
  })
  return port
}

describe('metrics of requests', () => {
  it('count each by its code, and measure both bodies', async () => {
    const port = await serving(({ url }) => text(`"${'x'.repeat(98)}"`, url === '/no' ? 404 : 200))
    const { client, lines } = measured(port)
    await client.json({ method: 'GET', path: '/' })
    await client.json({ method: 'POST', path: '/', body: { a: 1 } })
    await expect(client.json({ method: 'GET', path: '/no' })).rejects.toMatchObject({ code: 404 })
    expect(lines('requests_total')).toEqual([
      '{code="200",method="GET"} 1',
      '{code="200",method="POST"} 1',
      '{code="404",method="GET"} 1',
    ])
    expect(lines('request_size_bytes')).toEqual([
      '_sum{verb="GET"} 0',
      '_count{verb="GET"} 2',
      '_sum{verb="POST"} 7',
      '_count{verb="POST"} 1',
    ])
    expect(lines('response_size_bytes')).toEqual([
      '_sum{verb="GET"} 200',
      '_count{verb="GET"} 2',
      '_sum{verb="POST"} 100',
      '_count{verb="POST"} 1',
    ])
    expect(lines('request_retries_total')).toEqual([])
  })

  it('time a request from its start to the end of its last answer', async () => {
    const { port } = await serve(async () => {
      await clock.step(1500)
      return text('1')
    })
    const { client, clock, lines } = measured(port)
    await client.json({ method: 'GET', path: '/' })
    expect(lines('request_duration_seconds')).toEqual([
      '_sum{verb="GET"} 1.5',
      '_count{verb="GET"} 1',
    ])
  })

  it('count what is sent again, also as retries by the code of their own answers', async () => {
    let asked = 0
    const later = { status: 429, headers: { 'retry-after': '1' }, body: Buffer.from('busy') }
    const port = await serving(() => ((asked += 1) < 3 ? later : text('1')))
    const networkClock = { ...systemClock, sleep: async () => {} }
    const { client, lines } = measured(port, { networkClock })
    await client.json({ method: 'PUT', path: '/', body: 1 })
    expect(lines('requests_total')).toEqual([
      '{code="429",method="PUT"} 2',
      '{code="200",method="PUT"} 1',
    ])
    expect(lines('request_retries_total')).toEqual([
      '{code="429",verb="PUT"} 1',
      '{code="200",verb="PUT"} 1',
    ])
    expect(lines('request_size_bytes')).toEqual(['_sum{verb="PUT"} 3', '_count{verb="PUT"} 3'])
    // Of the last answer alone.
    expect(lines('response_size_bytes')).toEqual(['_sum{verb="PUT"} 1', '_count{verb="PUT"} 1'])
    expect(lines('request_duration_seconds')).toContain('_count{verb="PUT"} 1')
  })

  it('count requests without an answer as errors, and time them', async () => {
    const port = await serving(() => text('1'))
    const { client, lines } = measured(port, { serverName: 'elsewhere.example' })
    await expect(client.json({ method: 'GET', path: '/' })).rejects.toMatchObject({
      code: 'untrusted',
    })
    expect(lines('requests_total')).toEqual(['{code="<error>",method="GET"} 1'])
    expect(lines('request_duration_seconds')).toContain('_count{verb="GET"} 1')
    expect(lines('response_size_bytes')).toEqual([])
  })

  it('count streams, whose time and size mean nothing', async () => {
    const port = await serving(() => text('event'))
    const { client, lines } = measured(port)
    const { chunks } = await client.stream({ method: 'GET', path: '/' })
    for await (const chunk of chunks) expect(chunk.toString()).toBe('event')
    expect(lines('requests_total')).toEqual(['{code="200",method="GET"} 1'])
    expect(lines('request_duration_seconds')).toEqual([])
    expect(lines('request_size_bytes')).toEqual([])
    expect(lines('response_size_bytes')).toEqual([])
  })

  it('do not count what was given up before it was sent', async () => {
    const port = await serving(() => text('1'))
    const { client, lines } = measured(port)
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(client.json({ method: 'GET', path: '/', signal })).rejects.toThrow('enough')
    expect(lines('requests_total')).toEqual([])
  })
})
