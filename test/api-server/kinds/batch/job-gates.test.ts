import { describe, expect, it } from 'vitest'
import { defaultFeatureGates } from '../../../../components/api/feature-gates.ts'
import type { FeatureGateName } from '../../../../components/api/feature-gates.ts'
import type { Job, JobSpec, JobStatus } from '../../../../components/api/generated/types.ts'
import { strategyRuns } from '../../../support/strategy-runs.ts'

const pod = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
const on = strategyRuns('jobs')

function without(...names: readonly FeatureGateName[]) {
  const off = Object.fromEntries(names.map((name) => [name, false]))
  return strategyRuns('jobs', { gates: { ...defaultFeatureGates, ...off } })
}

function indexed(more: Partial<JobSpec>) {
  return {
    metadata: { uid: 'u' },
    spec: { completions: 2, completionMode: 'Indexed', template: pod, ...more },
  }
}

const gated: readonly (readonly [FeatureGateName, Partial<JobSpec>])[] = [
  ['JobSuccessPolicy', { successPolicy: { rules: [{ succeededCount: 1 }] } }],
  ['JobBackoffLimitPerIndex', { backoffLimitPerIndex: 1, maxFailedIndexes: 1 }],
  ['JobPodReplacementPolicy', { podReplacementPolicy: 'Failed' }],
]

describe('a field of a Job behind a gate', () => {
  it.each(gated)('is dropped from a new Job without %s, and kept with it', (gate, fields) => {
    const off = without(gate)
    expect(on.created(indexed(fields))['spec']).toMatchObject(fields)
    const dropped = off.created(indexed(fields))['spec'] as object
    for (const name of Object.keys(fields)) expect(dropped).not.toHaveProperty(name)
    expect(off.createFaults(indexed(fields))).toEqual([])
  })

  it.each(gated)('stays in a stored Job without %s, and is not added to one', (gate, fields) => {
    const off = without(gate)
    const had = on.created(indexed(fields))
    expect(off.updated(had, had)['spec']).toMatchObject(fields)
    const lacked = off.created(indexed({}))
    const spec = off.updated(lacked, { spec: { ...(lacked['spec'] as object), ...fields } })['spec']
    for (const name of Object.keys(fields)) expect(spec).not.toHaveProperty(name)
  })

  it('managedBy is dropped from a new Job, and immutable as ever in a stored one', () => {
    const off = without('JobManagedBy')
    const managed = { spec: { template: pod, managedBy: 'example.com/queue' } }
    expect(off.created(managed)['spec']).not.toHaveProperty('managedBy')
    const lacked = off.created({ spec: { template: pod } })
    const spec = { ...(lacked['spec'] as object), managedBy: 'example.com/queue' }
    expect(off.updateFaults(lacked, { spec }).join()).toContain('spec.managedBy: Invalid value')
  })

  it('rules that fail an index go with the limit per index', () => {
    const rules = [
      { action: 'FailIndex', onExitCodes: { operator: 'In', values: [3] } },
      { action: 'FailJob', onExitCodes: { operator: 'In', values: [4] } },
    ]
    const wanted = indexed({ backoffLimitPerIndex: 1, podFailurePolicy: { rules } })
    const { spec } = without('JobBackoffLimitPerIndex').created(wanted) as Job
    expect(spec?.podFailurePolicy?.rules).toEqual([rules[1]])
  })

  it('a pod replacement policy is defaulted only with its gate on', () => {
    const job = { spec: { template: pod } }
    expect(on.created(job)['spec']).toHaveProperty('podReplacementPolicy', 'TerminatingOrFailed')
    const off = without('JobPodReplacementPolicy')
    expect(off.created(job)['spec']).not.toHaveProperty('podReplacementPolicy')
  })
})

describe('the status of a Job', () => {
  const isTrue = (type: string) => ({ type, status: 'True' })
  const before = { startTime: '2026-01-01T00:00:00Z', failed: 2 }
  const faultsOf = (
    status: JobStatus,
    { runs = on, old = before as JobStatus, spec = {} as Partial<JobSpec> } = {},
  ): string[] => {
    const stored = { ...runs.created({ spec: { template: pod, ...spec } }), status: old }
    return runs.updateFaults(stored, { ...stored, status }, 'status')
  }
  const fall = { ...before, failed: 1 }
  const finished = { ...before, conditions: [isTrue('Failed')], active: 1 }

  it.each<[string, JobStatus, string]>([
    ['a counter that falls', fall, 'cannot decrease the failed counter'],
    ['an end with pods', finished, 'active>0 is invalid for finished job'],
    ['an end that was not announced', finished, 'without the FailureTarget=true condition'],
    ['more ready pods than active', { ...before, ready: 2 }, 'more ready pods than active'],
  ])('without JobManagedBy may have %s', (_, status, fault) => {
    expect(faultsOf(status).join('\n')).toContain(fault)
    expect(faultsOf(status, { runs: without('JobManagedBy') })).toEqual([])
  })

  it('with a fault that is stored already takes changes of other parts', () => {
    const old = { ...before, completedIndexes: '0-9', active: 1 }
    const options = { old, spec: { completionMode: 'Indexed', completions: 3 } }
    expect(faultsOf({ ...old, active: 2 }, options)).toEqual([])
    expect(faultsOf({ ...old, completedIndexes: '0-8' }, options).join()).toContain(
      'error parsing completedIndexes',
    )
  })

  it('meets criteria without a success policy only where a gate says so', () => {
    const met = { ...before, conditions: [isTrue('SuccessCriteriaMet')] }
    expect(faultsOf(met)).toEqual([])
    expect(faultsOf(met, { runs: without('JobManagedBy') })).toEqual([])
    const runs = without('JobManagedBy', 'JobPodReplacementPolicy')
    expect(faultsOf(met, { runs })).toEqual([
      'status.conditions: Invalid value: cannot set SuccessCriteriaMet to NonIndexed Job',
      'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job without SuccessPolicy',
    ])
    expect(faultsOf({ ...met, ready: 0 }, { runs, old: met })).toEqual([])
  })

  it('of a Job that is Complete meets no criteria afterwards', () => {
    const complete = { ...before, conditions: [isTrue('Complete')] }
    const status = { ...before, conditions: [isTrue('Complete'), isTrue('SuccessCriteriaMet')] }
    expect(faultsOf(status, { old: complete, runs: without('JobManagedBy') })).toEqual([
      'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
    ])
  })
})
