import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { runController, source, TerminalError } from '../../components/client/controller.ts'
import type { Reconciler } from '../../components/client/controller.ts'
import { createInformerFactory } from '../../components/client/informer.ts'
import { createLog } from '../../components/component-base/log.ts'
import { objectModified, StatusError } from '../../components/machinery/objects/status-error.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'

const { pods } = resourcesOf(dialects.kubernetes)
const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function run(reconcile: Reconciler, workers = 1) {
  const clock = new FakeClock()
  const cluster = new FakeCluster(clock)
  const lines: string[] = []
  const log = createLog({ clock, level: 'warn', write: (line) => lines.push(line) })
  const informers = createInformerFactory(cluster.client(), clock, log)
  const stop = new AbortController()
  const informer = informers.informer(pods)
  const begin = async () => {
    const options = { name: 'test', informers: [source(informer)], reconcile, workers, clock, log }
    const done = Promise.all([runController(options, stop.signal), informers.run(stop.signal)])
    stops.push(async () => {
      stop.abort()
      await done
    })
    await informers.ready()
    await settle()
    return { done }
  }
  return { clock, cluster, lines, begin, stop }
}

const pod = (name: string) => ({ metadata: { namespace: 'ns', name } })

describe('controller', () => {
  it('reconciles every object once the caches are full, and again on each change', async () => {
    const seen: string[] = []
    const { cluster, begin } = run(async (key) => {
      seen.push(key)
    })
    cluster.seed(pods, pod('a'))
    cluster.seed(pods, pod('b'))
    await begin()
    expect(seen).toEqual(['ns/a', 'ns/b'])
    cluster.change(pods, 'ns/b', (object) => {
      object.metadata.labels = { x: 'y' }
    })
    cluster.remove(pods, 'ns/a')
    await settle()
    expect(seen.slice(2)).toEqual(['ns/b', 'ns/a'])
  })

  it('retries failures with growing delays, and forgets them after a success', async () => {
    let failures = 3
    const times: number[] = []
    const { clock, cluster, begin, lines } = run(async () => {
      times.push(clock.now())
      failures -= 1
      if (failures >= 0) throw new Error('not yet')
    })
    cluster.seed(pods, pod('a'))
    await begin()
    await clock.step(1000)
    expect(times.slice(1).map((at, index) => at - (times[index] ?? 0))).toEqual([5, 10, 20])
    expect(lines).toHaveLength(3)
  })

  it('does not retry a terminal error, and is quiet about lost races', async () => {
    const seen: string[] = []
    const { clock, cluster, begin, lines } = run(async (key) => {
      seen.push(key)
      if (key === 'ns/a') throw new TerminalError('never')
      if (seen.filter((other) => other === 'ns/b').length === 1)
        throw new StatusError('Conflict', objectModified)
    })
    cluster.seed(pods, pod('a'))
    cluster.seed(pods, pod('b'))
    await begin()
    await clock.step(1000)
    expect(seen).toEqual(['ns/a', 'ns/b', 'ns/b'])
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('never')
  })

  it('looks again after the time a reconciler asks for', async () => {
    const times: number[] = []
    const { clock, cluster, begin } = run(async () => {
      times.push(clock.now())
      return times.length < 3 ? { requeueAfterMs: 60_000 } : undefined
    })
    cluster.seed(pods, pod('a'))
    await begin()
    await clock.step(1_000_000)
    expect(times.slice(1).map((at, index) => at - (times[index] ?? 0))).toEqual([60_000, 60_000])
  })

  it('works on as many keys at once as it has workers, and lets them finish at the end', async () => {
    let most = 0
    let busy = 0
    let finished = 0
    const gate = Promise.withResolvers<void>()
    const { cluster, begin, stop } = run(async () => {
      busy += 1
      most = Math.max(most, busy)
      await gate.promise
      busy -= 1
      finished += 1
    }, 2)
    for (const name of ['a', 'b', 'c']) cluster.seed(pods, pod(name))
    const { done } = await begin()
    expect(most).toBe(2)
    stop.abort()
    gate.resolve()
    await done
    expect(finished).toBe(2)
  })
})
