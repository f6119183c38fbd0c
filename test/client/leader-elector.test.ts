import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { nextRecord, runLeaderElection } from '../../components/client/leader-elector.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { ClusterClock } from '../../embedded/cluster-clock.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { FakeCluster } from '../support/fake-client.ts'

const { leases } = resourcesOf(dialects.kubernetes)

/** `timeOf`: the candidates' time. */
function candidates(timeOf: (clock: FakeClock) => Clock = (clock) => clock) {
  const clock = new FakeClock()
  const time = timeOf(clock)
  const cluster = new FakeCluster(clock)
  const journal: string[] = []
  const network = { hangs: false }
  const client = cluster.client().resource(leases)
  /** While the network hangs, a request ends only when it is given up. */
  const over =
    <T>(request: (subject: never, options?: { signal?: AbortSignal }) => Promise<T>) =>
    (subject: unknown, options: { signal?: AbortSignal } = {}): Promise<T> =>
      network.hangs
        ? new Promise((_, reject) => {
            const { signal } = options
            signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
          })
        : request(subject as never, options)
  const start = (identity: string) => {
    const stop = new AbortController()
    const done = runLeaderElection(
      {
        leases: {
          get: over(client.get),
          create: over(client.create),
          update: over(client.update),
        },
        namespace: 'kube-system',
        name: 'manager',
        identity,
        clock: time,
        log: silentLog,
      },
      async (signal) => {
        journal.push(`${identity} leads`)
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
        journal.push(`${identity} stops`)
      },
      stop.signal,
    ).then(
      () => journal.push(`${identity} returned`),
      (error: Error) => journal.push(`${identity} failed: ${error.name}`),
    )
    return { stop, done }
  }
  const holder = () =>
    (
      cluster.peek(leases, 'kube-system/manager')?.['spec'] as
        { holderIdentity: string } | undefined
    )?.holderIdentity
  return { clock, cluster, journal, network, start, holder }
}

describe('leader election', () => {
  it('one of two leads; the other takes over soon after it gave the lease back', async () => {
    const { clock, journal, start, holder } = candidates()
    const one = start('one')
    await clock.step(10)
    const two = start('two')
    await clock.step(30_000)
    expect(journal).toEqual(['one leads'])
    expect(holder()).toBe('one')
    one.stop.abort()
    await one.done
    expect(holder()).toBe('')
    await clock.step(5000)
    expect(journal).toEqual(['one leads', 'one stops', 'one returned', 'two leads'])
    two.stop.abort()
    await two.done
  })

  it('a leader that vanished is succeeded once its lease has not changed for 15 s', async () => {
    const { clock, cluster, journal, start } = candidates()
    cluster.seed(leases, {
      metadata: { namespace: 'kube-system', name: 'manager' },
      spec: {
        holderIdentity: 'gone',
        leaseDurationSeconds: 15,
        // Its own clock runs ahead; only what is observed counts.
        renewTime: '2030-01-01T00:00:00.000000Z',
        leaseTransitions: 4,
      },
    })
    const one = start('one')
    await clock.step(14_000)
    expect(journal).toEqual([])
    await clock.step(7000)
    expect(journal).toEqual(['one leads'])
    expect(cluster.peek(leases, 'kube-system/manager')?.['spec']).toMatchObject({
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      leaseTransitions: 5,
    })
    one.stop.abort()
    await one.done
  })

  it('a leader that cannot renew for 10 s stops leading and says so', async () => {
    const { clock, cluster, journal, start } = candidates()
    const one = start('one')
    await clock.step(5000)
    cluster.react('*', 'leases', () => {
      throw new ConnectionError('refused', 'down')
    })
    await clock.step(8000)
    expect(journal).toEqual(['one leads'])
    await clock.step(4000)
    await one.done
    expect(journal).toEqual(['one leads', 'one stops', 'one failed: LeadershipLostError'])
  })

  it('a leader leads on when its cluster has rested', async () => {
    const times: ClusterClock[] = []
    const { cluster, journal, start } = candidates((clock) => {
      times.push(new ClusterClock(clock))
      return (times[0] as ClusterClock).of('manager')
    })
    const { time } = times[0] as ClusterClock
    await time.pause()
    const one = start('one')
    const renewals = () => cluster.calls.filter(({ verb }) => verb === 'update').length
    await time.advance({ ms: 86_400_000 })
    expect(journal).toEqual(['one leads'])
    expect(renewals()).toBeLessThan(40)
    one.stop.abort()
    await one.done
  })

  it('a request that hangs does not prolong leadership', async () => {
    const { clock, cluster, journal, network, start } = candidates()
    const one = start('one')
    await clock.step(5000)
    const failing = cluster.react('*', 'leases', () => {
      throw new ConnectionError('refused', 'down')
    })
    await clock.step(7500)
    failing()
    network.hangs = true
    await clock.step(4000)
    await one.done
    expect(journal).toEqual(['one leads', 'one stops', 'one failed: LeadershipLostError'])
  })

  it('a leader that is told to stop waits only so long to give the lease back', async () => {
    const { clock, journal, network, start } = candidates()
    const one = start('one')
    await clock.step(5000)
    network.hangs = true
    one.stop.abort()
    await clock.step(10_000)
    await one.done
    expect(journal).toEqual(['one leads', 'one stops', 'one returned'])
  })

  it('a leader that is told to stop while it renews gives the lease back', async () => {
    const { clock, network, start, holder } = candidates()
    const one = start('one')
    await clock.step(5000)
    network.hangs = true
    await clock.step(3000)
    network.hangs = false
    one.stop.abort()
    await one.done
    expect(holder()).toBe('')
  })

  it('a clock that is set back prolongs neither leadership nor the wait for it', async () => {
    const { clock, cluster, journal, start } = candidates()
    const one = start('one')
    await clock.step(5000)
    const failing = cluster.react('*', 'leases', () => {
      throw new ConnectionError('refused', 'down')
    })
    clock.setBack(3_600_000)
    await clock.step(13_000)
    await one.done
    expect(journal).toEqual(['one leads', 'one stops', 'one failed: LeadershipLostError'])
    failing()
    const two = start('two')
    await clock.step(5000)
    clock.setBack(3_600_000)
    await clock.step(21_000)
    expect(journal.at(-1)).toBe('two leads')
    two.stop.abort()
    await two.done
  })

  it('a lease taken by another ends leadership', async () => {
    const { clock, cluster, journal, start } = candidates()
    const one = start('one')
    await clock.step(5000)
    cluster.change(leases, 'kube-system/manager', (lease) => {
      lease['spec'].holderIdentity = 'thief'
    })
    await clock.step(10_000)
    await one.done
    expect(journal.at(-1)).toBe('one failed: LeadershipLostError')
  })

  it('waits while the server is away, and gives up waiting when told to stop', async () => {
    const { clock, cluster, journal, start } = candidates()
    cluster.react('*', 'leases', () => {
      throw new ConnectionError('refused', 'down')
    })
    const one = start('one')
    await clock.step(60_000)
    one.stop.abort()
    await one.done
    expect(journal).toEqual(['one returned'])
  })

  it('keeps the time of acquisition while renewing', () => {
    const facts = { identity: 'me', nowMs: 5000, observedAtMs: 0, leaseDurationMs: 15_000 }
    const first = nextRecord(undefined, facts)
    const second = nextRecord(first, { ...facts, nowMs: 9000 })
    expect(second).toEqual({ ...first, renewTime: '1970-01-01T00:00:09.000000Z' })
    expect(nextRecord(first, { ...facts, identity: 'other' })).toBeUndefined()
  })
})
