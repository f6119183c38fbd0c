import { expect, test } from 'vitest'
import type { ClusterEvent } from '../../components/scheduler/cluster-event.ts'
import { InFlight } from '../../components/scheduler/in-flight.ts'
import { node, pod } from './build.ts'

const added = (name: string): ClusterEvent => ({
  resource: 'Node',
  action: 'Add',
  now: node(name),
})
const deleted: ClusterEvent = { resource: 'AssignedPod', action: 'Delete', old: pod() }

function setup() {
  const inFlight = new InFlight<string>()
  return { inFlight, counts: () => Object.fromEntries(inFlight.counts) }
}

test('an attempt sees what happened since its own beginning', () => {
  const { inFlight } = setup()
  inFlight.begin('a')
  inFlight.happened(added('n1'))
  inFlight.begin('b')
  inFlight.happened(deleted)
  expect(inFlight.eventsSince('a')).toEqual([added('n1'), deleted])
  expect(inFlight.eventsSince('b')).toEqual([deleted])
})

test('events are kept as long as an attempt needs them, and counted by their labels', () => {
  const { inFlight, counts } = setup()
  expect(counts()).toEqual({ PodPopped: 0 })
  inFlight.happened(added('n0'))
  expect(counts()).toEqual({ PodPopped: 0 })
  inFlight.begin('a')
  inFlight.happened(added('n1'))
  inFlight.happened(added('n2'))
  inFlight.begin('b')
  inFlight.happened(deleted)
  expect(counts()).toEqual({ PodPopped: 2, NodeAdd: 2, AssignedPodDelete: 1 })
  inFlight.ended('a')
  expect(counts()).toEqual({ PodPopped: 1, NodeAdd: 0, AssignedPodDelete: 1 })
  expect(inFlight.eventsSince('b')).toEqual([deleted])
  inFlight.ended('b')
  expect(counts()).toEqual({ PodPopped: 0, NodeAdd: 0, AssignedPodDelete: 0 })
})

test('the events after an older attempt stay when a younger one ends first', () => {
  const { inFlight, counts } = setup()
  inFlight.begin('old')
  inFlight.begin('young')
  inFlight.happened(deleted)
  inFlight.ended('young')
  expect(counts()).toEqual({ PodPopped: 1, AssignedPodDelete: 1 })
  expect(inFlight.eventsSince('old')).toEqual([deleted])
})

test('a pod that has its node stays in flight, and no event is kept for it', () => {
  const { inFlight, counts } = setup()
  inFlight.begin('a')
  inFlight.happened(deleted)
  inFlight.decided('a')
  inFlight.happened(deleted)
  expect(counts()).toEqual({ PodPopped: 1, AssignedPodDelete: 0 })
  expect(inFlight.eventsSince('a')).toEqual([])
  inFlight.ended('a')
  expect(counts()).toEqual({ PodPopped: 0, AssignedPodDelete: 0 })
})
