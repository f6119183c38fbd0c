/** How many seats requests take (cases as upstream's width_test.go, max_seats_test.go and watch_tracker_test.go). */
import { describe, expect, it } from 'vitest'
import { parseRequestInfo } from '../../../components/api-server/request/request-info.ts'
import type { RequestInfo } from '../../../components/api-server/request/request.ts'
import { PriorityLevel } from '../../../components/api-server/flow-control/priority-level.ts'
import { SeatIntegrator } from '../../../components/api-server/flow-control/seat-integrator.ts'
import { WatchTracker } from '../../../components/api-server/flow-control/watch-tracker.ts'
import { estimateWork } from '../../../components/api-server/flow-control/work-estimator.ts'
import { queueSetOf } from '../../support/queue-set-run.ts'

const events = '/apis/foo.bar/v1/events'
const foos = '/apis/foo.bar/v1/foos'
const infoOf = (method: string, url: string): RequestInfo => parseRequestInfo(method, url)

interface Known {
  readonly stored?: number
  readonly watches?: number
  readonly maxSeats?: number
  readonly isConsistentFromCache?: boolean
  readonly withWatchList?: boolean
}

function estimate(method: string, url: string, known: Known = {}) {
  const { stored, watches = 0, maxSeats = 10 } = known
  return estimateWork(infoOf(method, url), maxSeats, {
    countOf: () => stored,
    watches: { interested: () => watches },
    withWatchList: known.withWatchList ?? true,
    isConsistentFromCache: known.isConsistentFromCache ?? true,
  })
}

describe('a list takes a seat for each hundred objects', () => {
  const fromEtcd = { isConsistentFromCache: false }
  it.each<[string, Known, number]>([
    ['limit=invalid', { stored: 799 }, 10],
    ['limit=399&resourceVersion=1', { stored: 699 }, 8],
    ['resourceVersion=1', { stored: 699 }, 7],
    ['limit=399', { stored: 699 }, 7],
    ['limit=399', { stored: 699, ...fromEtcd }, 8],
    ['', { stored: 399 }, 4],
    ['', { stored: 399, ...fromEtcd }, 8],
    ['', {}, 1],
    ['continue=token&limit=399', { stored: 699 }, 8],
    ['continue=token&limit=100&labelSelector=a%3Db', { stored: 699 }, 8],
    ['continue=token&limit=100&fieldSelector=a%3Db', { stored: 599 }, 7],
    ['limit=299&resourceVersion=0', { stored: 399 }, 4],
    ['resourceVersion=0', { stored: 799, maxSeats: 0 }, 8],
    ['resourceVersion=foo&resourceVersionMatch=Exact&limit=399', { stored: 699 }, 8],
    ['resourceVersion=foo&resourceVersionMatch=NotOlderThan', { stored: 799 }, 8],
    ['resourceVersion=foo', { stored: 1999 }, 10],
    ['resourceVersion=foo', { stored: 1999, maxSeats: 5 }, 5],
    ['resourceVersion=foo', { stored: 1999, maxSeats: 50 }, 10],
    ['resourceVersion=0&limit=799', {}, 1],
    ['', { stored: 0 }, 1],
    ['fieldSelector=metadata.name%3Dtest', { stored: 799 }, 1],
    ['fieldSelector=metadata.name%3Dtest&limit=500&resourceVersion=0', { stored: 799 }, 1],
    ['fieldSelector=metadata.name!%3Dtest', { stored: 799 }, 8],
    ['watch=true', { stored: 799 }, 1],
    ['watch=true&sendInitialEvents=false', { stored: 799 }, 1],
    ['watch=true&sendInitialEvents=true', { stored: 799 }, 8],
    ['watch=true&sendInitialEvents=true', { stored: 799, withWatchList: false }, 1],
  ])('%s, %j', (query, known, initialSeats) => {
    expect(estimate('GET', `${events}?${query}`, known)).toEqual({
      initialSeats,
      finalSeats: 0,
      additionalLatencyMs: 0,
    })
  })
})

describe('a write takes seats for its watchers after the answer', () => {
  const one = `${foos}/myfoo`
  const accounts = '/api/v1/namespaces/foo/serviceaccounts'
  it.each<[string, string, Known, [number, number]]>([
    ['POST', foos, {}, [0, 0]],
    ['POST', foos, { watches: 29 }, [3, 5]],
    ['POST', foos, { watches: 5 }, [0, 0]],
    ['POST', foos, { watches: 199 }, [10, 10]],
    ['PUT', one, {}, [0, 0]],
    ['PUT', one, { watches: 29 }, [3, 5]],
    ['PATCH', one, { watches: 29 }, [3, 5]],
    ['PATCH', one, { watches: 100, maxSeats: 5 }, [5, 10]],
    ['DELETE', one, {}, [0, 0]],
    ['DELETE', one, { watches: 29 }, [3, 5]],
    ['POST', `${accounts}/default/token`, { watches: 5777 }, [0, 0]],
    ['POST', accounts, { watches: 1000 }, [10, 50]],
    ['DELETE', foos, { watches: 1000 }, [0, 0]],
    ['GET', one, { watches: 1000 }, [0, 0]],
  ])('%s %s, %j', (method, url, known, [finalSeats, additionalLatencyMs]) => {
    const work = estimate(method, url, known)
    expect(work).toEqual({ initialSeats: 1, finalSeats, additionalLatencyMs })
  })
})

describe('the most seats of a request of a level', () => {
  it.each([
    [5, 6, 1],
    [10, 6, 1],
    [15, 6, 2],
    [20, 6, 3],
    [35, 6, 5],
    [100, 6, 15],
    [200, 6, 30],
    [10, 1, 2],
    [100, 20, 5],
  ])('%d nominal seats, hands of %d queues: %d', (nominal, handSize, maxSeats) => {
    const { queueSet } = queueSetOf({ queues: 0, handSize: 0, queueLengthLimit: 0, limit: 0 })
    const level = new PriorityLevel({ name: 'a', queueSet, integrator: new SeatIntegrator(0) })
    level.configure({
      metadata: { name: 'a' },
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 10,
          limitResponse: { type: 'Queue', queuing: { queues: 64, handSize, queueLengthLimit: 50 } },
        },
      },
    })
    level.share(nominal, 10)
    expect(level).toMatchObject({ nominal, maxSeats })
  })
})

describe('the watches that a write notifies', () => {
  const watch = (url: string): RequestInfo =>
    infoOf('GET', `${url}${url.includes('?') ? '&' : '?'}watch=true`)
  const pods = '/api/v1/pods'
  const inA = '/api/v1/namespaces/a/pods'
  const tracker = new WatchTracker()
  const over = [
    pods,
    pods,
    inA,
    `${inA}?fieldSelector=metadata.name%3Dx`,
    `${inA}?fieldSelector=spec.nodeName%3Dn`,
    `${pods}?fieldSelector=spec.nodeName%3D`,
    '/api/v1/namespaces/b/pods',
    '/api/v1/secrets',
    '/apis/apps/v1/pods',
  ].map((url) => tracker.register(watch(url)))

  it('are those of the kind, of the namespace and of the name', () => {
    const interested = (method: string, url: string) => tracker.interested(infoOf(method, url))
    expect(interested('POST', inA)).toBe(4)
    expect(interested('PUT', `${inA}/x`)).toBe(5)
    expect(interested('PUT', `${inA}/y`)).toBe(4)
    expect(interested('DELETE', '/api/v1/namespaces/c/pods/x')).toBe(3)
    expect(interested('POST', '/api/v1/namespaces/c/secrets')).toBe(1)
    expect(interested('POST', '/api/v1/namespaces/c/configmaps')).toBe(0)
    for (const end of over) {
      end()
      end()
    }
    expect(interested('PUT', `${inA}/x`)).toBe(0)
  })
})
