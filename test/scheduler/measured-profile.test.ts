import { describe, expect, test } from 'vitest'
import { measuredProfile } from '../../components/scheduler/measured-profile.ts'
import type { PluginRun } from '../../components/scheduler/measured-profile.ts'
import { NodeFinder } from '../../components/scheduler/find-node.ts'
import { podInfoOf } from '../../components/scheduler/pod-info.ts'
import type { Plugin, Rejection } from '../../components/scheduler/plugin.ts'
import { createProfile, defaultProfile } from '../../components/scheduler/profile.ts'
import type { Profile } from '../../components/scheduler/profile.ts'
import { Snapshot } from '../../components/scheduler/snapshot.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { handleFor, node, pod } from './build.ts'

/** A clock on which every look takes two milliseconds. */
class SlowClock extends FakeClock {
  #looks = 0
  override elapsed(): number {
    this.#looks += 2
    return this.#looks
  }
}

function measured(more: Partial<Profile> = {}) {
  const snapshot = new Snapshot()
  snapshot.setNode(node('free'))
  snapshot.setNode(node('closed', { taints: [{ key: 'k', effect: 'NoSchedule' }] }))
  const plain = createProfile(defaultProfile('default-scheduler'), handleFor(snapshot))
  const runs: PluginRun[] = []
  const profile = measuredProfile({ ...plain, ...more }, new SlowClock(), (run) => runs.push(run))
  const of = (plugin: string) =>
    runs
      .filter((run) => run.plugin === plugin)
      .map(({ point, status, seconds }) => `${point} ${status} ${seconds}`)
  return { snapshot, profile, of }
}

const info = podInfoOf(pod({ name: 'p' }))

describe('a measured profile', () => {
  test('decides like the plain one, and tells each run of a plugin', () => {
    const { snapshot, profile, of } = measured()
    const decision = new NodeFinder(snapshot).find(profile, info)
    expect(decision).toMatchObject({ ok: true, node: { name: 'free' } })
    expect(of('TaintToleration').toSorted()).toEqual([
      'Filter Success 0.002',
      'Filter UnschedulableAndUnresolvable 0.002',
      'PreFilter Success 0.002',
    ])
    // No other plugin is asked about a node that one has rejected.
    expect(of('NodeResourcesFit')).toEqual(['PreFilter Success 0.002', 'Filter Success 0.002'])
    expect(of('NodePorts')).toEqual(['PreFilter Skip 0.002'])
  })

  test('tells failures, and what was reserved and given back', async () => {
    const no: Rejection = { reasons: ['no'], resolvable: true }
    const plugin: Required<Pick<Plugin, 'name' | 'bind' | 'reserve'>> = {
      name: 'Own',
      bind: () => Promise.reject(new Error('no server')),
      reserve: (_pod, { name }) =>
        name === 'closed' ? no : { preBind: () => Promise.resolve(), unreserve: () => {} },
    }
    const { snapshot, profile, of } = measured({ binds: [plugin], reserves: [plugin] })
    const [reserving] = profile.reserves
    const [free, closed] = ['free', 'closed'].map((name) => snapshot.node(name))
    const reservation = free && reserving?.reserve(info, free)
    expect(closed && reserving?.reserve(info, closed)).toBe(no)
    if (reservation === undefined || 'reasons' in reservation) throw new Error('not reserved')
    await reservation.preBind?.(new AbortController().signal)
    reservation.unreserve()
    await expect(profile.binds[0]?.bind(info, 'free')).rejects.toThrow('no server')
    expect(of('Own')).toEqual([
      'Reserve Success 0.002',
      'Reserve Unschedulable 0.002',
      'PreBind Success 0.002',
      'Unreserve Success 0.002',
      'Bind Error 0.002',
    ])
  })
})
