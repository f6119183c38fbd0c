import { describe, expect, test } from 'vitest'
import { dialects } from '../../../../components/api/dialect.ts'
import { strategyRuns } from '../../../support/strategy-runs.ts'

const time = '2026-01-02T03:04:05.000000Z'

describe('an event of the core group', () => {
  const events = strategyRuns('events')
  const about = { involvedObject: { kind: 'Pod', name: 'p', namespace: 'ns' } }

  test.each([
    [about, []],
    [
      { involvedObject: { namespace: 'other' } },
      ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ],
    [
      { involvedObject: { name: 'n' } },
      ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ],
    [{ metadata: { namespace: 'default' }, involvedObject: { kind: 'Node', name: 'n' } }, []],
    [{ ...about, metadata: { name: 'Pod_A.1' } }, []],
    [
      { ...about, eventTime: time },
      [
        'reportingComponent: Required value',
        'reportingComponent: Invalid value: "": name part must be non-empty',
        expect.stringContaining('reportingComponent: Invalid value: "": name part must consist of'),
        'reportingInstance: Required value',
        'action: Required value',
        'reason: Required value',
      ],
    ],
    [
      {
        ...about,
        eventTime: time,
        reportingComponent: 'a/b',
        reportingInstance: 'x'.repeat(129),
        action: 'a',
        reason: 'r',
        message: 'm'.repeat(1025),
      },
      [
        'reportingInstance: Invalid value: "": can have at most 128 characters',
        'message: Invalid value: "": can have at most 1024 characters',
      ],
    ],
  ])('%#', (event, faults) => {
    expect(events.createFaults(event)).toEqual(faults)
  })

  test('may change in anything', () => {
    const old = events.created({ ...about, count: 1, reason: 'A' })
    expect(events.updateFaults(old, { ...about, count: 2, reason: 'B' })).toEqual([])
  })

  test('with a time, about a cluster-scoped object, is in default or the namespace of the system', () => {
    const svc = strategyRuns('events', { dialect: dialects.svc })
    const event = (namespace: string) => ({
      metadata: { namespace },
      involvedObject: { kind: 'Node', name: 'n' },
      eventTime: time,
      reportingComponent: 'a',
      reportingInstance: 'b',
      action: 'c',
      reason: 'd',
    })
    expect(svc.createFaults(event('svc-system'))).toEqual([])
    expect(svc.createFaults(event('kube-system'))).toHaveLength(1)
  })
})

describe('an event of the events group', () => {
  const events = strategyRuns('eventsV1')
  const good = {
    eventTime: time,
    reportingController: 'example.com/c',
    reportingInstance: 'c-1',
    action: 'Bind',
    reason: 'Bound',
    type: 'Normal',
    regarding: { kind: 'Pod', name: 'p', namespace: 'ns' },
  }

  test('needs its time, and leaves the deprecated fields unset', () => {
    expect(events.createFaults(good)).toEqual([])
    const { eventTime: _, ...timeless } = good
    expect(events.createFaults(timeless)).toEqual(['eventTime: Required value'])
    const old = {
      deprecatedCount: 1,
      deprecatedFirstTimestamp: '2026-01-02T03:04:05Z',
      deprecatedLastTimestamp: '2026-01-02T03:04:05Z',
      deprecatedSource: { component: 'c' },
      type: 'Bad',
    }
    expect(events.createFaults({ ...good, ...old })).toEqual([
      'type: Invalid value: "": has invalid value: Bad',
      'firstTimestamp: Invalid value: "": needs to be unset',
      'lastTimestamp: Invalid value: "": needs to be unset',
      'count: Invalid value: "": needs to be unset',
      'source: Invalid value: "": needs to be unset',
    ])
  })

  test('has a name that is a subdomain, and a series of at least two', () => {
    const faults = events.createFaults({ ...good, metadata: { name: 'A' }, series: { count: 1 } })
    expect(faults).toEqual([
      expect.stringContaining('metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain'),
      'series.count: Invalid value: "": should be at least 2',
      'series.lastObservedTime: Required value',
    ])
  })

  test('changes only in its series', () => {
    const old = events.created(good)
    const series = { count: 2, lastObservedTime: time }
    expect(events.updateFaults(old, { ...good, series })).toEqual([])
    expect(events.updateFaults(old, { ...good, action: 'Other', type: 'Warning' })).toEqual([
      'type: Invalid value: "Warning": field is immutable',
      'action: Invalid value: "Other": field is immutable',
    ])
  })
})
