import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { createEventRecorder } from '../../components/client/event-recorder.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'

const { events, pods } = resourcesOf(dialects.kubernetes)
const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function recorder() {
  const clock = new FakeClock()
  const cluster = new FakeCluster(clock)
  const made = createEventRecorder({
    events: cluster.client().resource(events),
    component: 'tester',
    host: 'n1',
    clock,
    log: silentLog,
  })
  const stop = new AbortController()
  const done = made.run(stop.signal)
  stops.push(async () => {
    stop.abort()
    await done
  })
  const pod = cluster.seed(pods, { metadata: { namespace: 'ns', name: 'web', uid: 'u1' } })
  const all = () => cluster.all(events)
  const record = (reason: string, message: string): void =>
    made.record(pod, { type: 'Normal', reason, message })
  return { clock, cluster, record, all, recorder: made }
}

describe('event recorder', () => {
  it('writes an event about an object', async () => {
    const { record, all } = recorder()
    record('Started', 'It started.')
    await settle()
    expect(all()).toHaveLength(1)
    expect(all()[0]).toMatchObject({
      metadata: { namespace: 'ns', name: expect.stringMatching(/^web\.[0-9a-f]{16}$/) as string },
      involvedObject: { kind: 'Pod', apiVersion: 'v1', namespace: 'ns', name: 'web', uid: 'u1' },
      type: 'Normal',
      reason: 'Started',
      message: 'It started.',
      count: 1,
      source: { component: 'tester', host: 'n1' },
      firstTimestamp: '2025-01-01T00:00:00Z',
      lastTimestamp: '2025-01-01T00:00:00Z',
    })
  })

  it('writes beside another recorder that reports on the same object in the same millisecond', async () => {
    const { clock, cluster, record, all } = recorder()
    const other = createEventRecorder({
      events: cluster.client().resource(events),
      component: 'other',
      clock,
      log: silentLog,
    })
    const stop = new AbortController()
    const done = other.run(stop.signal)
    const [pod] = cluster.all(pods)
    record('Started', 'It started.')
    if (pod !== undefined) other.record(pod, { type: 'Normal', reason: 'Bound', message: 'x' })
    await settle()
    expect(all().map((event) => event['reason'])).toEqual(['Started', 'Bound'])
    stop.abort()
    await done
  })

  it('counts a repeated event instead of writing it again', async () => {
    const { clock, record, all } = recorder()
    record('BackOff', 'Waiting.')
    await clock.step(60_000)
    record('BackOff', 'Waiting.')
    await settle()
    expect(all()).toHaveLength(1)
    expect(all()[0]).toMatchObject({
      count: 2,
      firstTimestamp: '2025-01-01T00:00:00Z',
      lastTimestamp: '2025-01-01T00:01:00Z',
    })
  })

  it('combines many that differ in their message only', async () => {
    const { record, all } = recorder()
    for (let index = 0; index < 15; index += 1) record('Failed', `Try ${index}.`)
    await settle()
    expect(all()).toHaveLength(10)
    expect(all().at(-1)).toMatchObject({
      message: '(combined from similar events): Try 14.',
      count: 6,
    })
  })

  it('drops a flood about one object, and lets one through each five minutes', async () => {
    const { clock, record, all } = recorder()
    for (let index = 0; index < 100; index += 1) record(`Reason${index}`, 'x')
    await settle()
    expect(all()).toHaveLength(25)
    await clock.step(300_000)
    record('Later', 'x')
    record('TooMany', 'x')
    await settle()
    expect(all()).toHaveLength(26)
  })

  it('does not take a clock that was set back for a flood', async () => {
    const { clock, record, all } = recorder()
    record('Before', 'x')
    await settle()
    clock.setBack(24 * 3_600_000)
    record('After', 'x')
    await settle()
    expect(all()).toHaveLength(2)
  })

  it('starts anew when the event it would count has expired', async () => {
    const { cluster, record, all } = recorder()
    record('A', 'x')
    await settle()
    cluster.remove(events, `ns/${all()[0]?.metadata.name ?? ''}`)
    record('A', 'x')
    await settle()
    expect(all()).toHaveLength(1)
    expect(all()[0]).toMatchObject({ count: 2 })
  })

  it('waits for a server that is away, without holding up the caller', async () => {
    const { clock, cluster, record, all } = recorder()
    const away = cluster.react('create', 'events', () => {
      throw new ConnectionError('refused', 'down')
    })
    for (let index = 0; index < 5000; index += 1) record(`R${index}`, 'x')
    await clock.step(25_000)
    away()
    await clock.step(10_000)
    expect(all()).toHaveLength(25)
  })
})
