import { afterEach, describe, expect, it } from 'vitest'
import type { Job, JobSpec, Pod } from '../../../components/api/generated/types.ts'
import { keyOf } from '../../../components/machinery/objects/object.ts'
import { job, startJobs, trackingFinalizer } from '../../support/job-story.ts'
import type { JobStory } from '../../support/job-story.ts'

let story: JobStory
afterEach(async () => {
  await story.harness.stop()
  expect(story.faults).toEqual([])
})

async function started(spec: Partial<JobSpec> = {}, gates = ''): Promise<JobStory> {
  story = await startJobs([job('work', spec)], { flags: { 'feature-gates': gates } })
  return story
}

const held = (): Pod[] =>
  story.pods().filter(({ metadata }) => metadata.finalizers?.includes(trackingFinalizer))
const indexOf = ({ metadata }: Pod): number =>
  Number(metadata.annotations?.['batch.kubernetes.io/job-completion-index'])
const podOf = (index: number): Pod => story.active().find((pod) => indexOf(pod) === index) as Pod
const eventsOf = (...reasons: string[]): string[] =>
  story.harness.events.filter((event) => reasons.some((reason) => event.includes(` ${reason} `)))
/** Ends every active pod, a few rounds of them. */
async function endAll(exitCode = 0, rounds = 1): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const pod of story.active()) story.end(pod, exitCode)
    await story.wait()
  }
}
const indexed = (completions: number, spec: Partial<JobSpec> = {}): Partial<JobSpec> => ({
  completionMode: 'Indexed',
  completions,
  parallelism: completions,
  ...spec,
})

describe('a Job', () => {
  it('makes its pod, counts it when it has succeeded, and is Complete', async () => {
    await started()
    const [pod] = story.pods() as [Pod]
    expect(pod.metadata).toMatchObject({
      generateName: 'work-',
      finalizers: [trackingFinalizer],
      labels: { 'batch.kubernetes.io/job-name': 'work' },
      ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'work', controller: true }],
    })
    await story.wait()
    expect(story.job().status).toEqual({
      startTime: '2025-01-01T00:00:00Z',
      active: 1,
      ready: 0,
      terminating: 0,
      uncountedTerminatedPods: {},
    })
    story.run(pod)
    await story.wait()
    expect(story.job().status).toMatchObject({ active: 1, ready: 1 })
    story.end(pod)
    await story.wait()
    const at = story.job().status?.completionTime
    const text = {
      status: 'True',
      reason: 'CompletionsReached',
      message: 'Reached expected number of succeeded pods',
      lastProbeTime: at,
      lastTransitionTime: at,
    }
    expect(story.job().status).toEqual({
      startTime: '2025-01-01T00:00:00Z',
      completionTime: '2025-01-01T00:00:07Z',
      succeeded: 1,
      ready: 0,
      terminating: 0,
      uncountedTerminatedPods: {},
      conditions: [
        { type: 'SuccessCriteriaMet', ...text },
        { type: 'Complete', ...text },
      ],
    })
    expect(held()).toEqual([])
    expect(story.pods()).toHaveLength(1)
    expect(story.harness.events).toEqual([
      `Normal SuccessfulCreate Job default/work: Created pod: ${pod.metadata.name}`,
      'Normal Completed Job default/work: Job completed',
    ])
  })

  it('writes nothing while nothing changes', async () => {
    await started({ completions: 3, parallelism: 2 })
    await story.wait()
    const [first] = story.active() as [Pod]
    story.end(first)
    await story.wait()
    const before = story.cluster.writes.length
    await story.wait(3_600_000)
    expect(story.cluster.writes.slice(before)).toEqual([])
    await endAll(0, 2)
    expect(story.conditions()).toContain('Complete=True CompletionsReached')
    const done = story.cluster.writes.length
    await story.wait(3_600_000)
    expect(story.cluster.writes.slice(done)).toEqual([])
  })

  it.each([
    [{ completions: 5, parallelism: 2 }, [2, 2, 1, 0]],
    [{ completions: 2, parallelism: 5 }, [2, 0]],
    [{ completions: 0, parallelism: 1 }, [0]],
    [{ completions: 3, parallelism: 0 }, [0, 0]],
    // A work queue: no more pods after the first success.
    [{ parallelism: 3 }, [3, 0]],
  ])('with %j has so many active pods, round by round: %j', async (spec, rounds) => {
    await started(spec)
    const seen: number[] = []
    for (const _ of rounds) {
      await story.wait()
      seen.push(story.active().length)
      await endAll()
    }
    expect(seen).toEqual(rounds)
    const isDone = story.conditions().includes('Complete=True CompletionsReached')
    expect(isDone).toBe(spec.parallelism !== 0)
  })

  it('makes and deletes pods as parallelism changes, and does not count those it deletes', async () => {
    await started({ completions: 10, parallelism: 4 })
    await story.wait()
    const [first, second] = story.active() as [Pod, Pod]
    for (const pod of [first, second]) story.run(pod)
    await story.wait()
    story.change(({ spec }) => {
      if (spec) spec.parallelism = 2
    })
    await story.wait()
    expect(story.active().map(keyOf)).toEqual([keyOf(first), keyOf(second)])
    expect(story.job().status?.failed).toBeUndefined()
    story.change(({ spec }) => {
      if (spec) spec.parallelism = 5
    })
    await story.wait()
    expect(story.active()).toHaveLength(5)
  })

  it('is left to another controller that spec.managedBy names', async () => {
    await started({ managedBy: 'example.com/other' })
    await story.wait(60_000)
    expect(story.cluster.writes).toEqual([])
  })

  it('says no more than Complete where the gate of success policies is off', async () => {
    await started({}, 'JobSuccessPolicy=false')
    await endAll()
    expect(story.conditions()).toEqual(['SuccessCriteriaMet=True ', 'Complete=True '])
  })
})

describe('a Job whose pods fail', () => {
  it('replaces them after 10 s, 20 s, 40 s, and fails past its back-off limit', async () => {
    await started({ backoffLimit: 3 })
    const made: number[] = []
    const startMs = story.harness.clock.now()
    for (let second = 0; second < 120; second += 1) {
      for (const pod of story.active()) {
        made.push(Math.round((story.harness.clock.now() - startMs) / 1000))
        story.end(pod, 1)
      }
      await story.wait(1000)
    }
    const waits = made.slice(1).map((at, position) => at - (made[position] ?? 0))
    expect(waits.map((wait) => Math.floor(wait / 10) * 10)).toEqual([10, 20, 40])
    expect(story.job().status).toMatchObject({ failed: 4 })
    expect(story.conditions()).toEqual([
      'FailureTarget=True BackoffLimitExceeded',
      'Failed=True BackoffLimitExceeded',
    ])
    expect(held()).toEqual([])
    expect(eventsOf('BackoffLimitExceeded')).toEqual([
      'Warning BackoffLimitExceeded Job default/work: Job has reached the specified backoff limit',
    ])
  })

  it('deletes the pods that still run when it fails, and counts them as failed', async () => {
    await started({ completions: 3, parallelism: 3, backoffLimit: 0 })
    await story.wait()
    story.end(story.active()[0] as Pod, 1)
    await story.wait()
    expect(story.active()).toEqual([])
    expect(story.job().status).toMatchObject({ failed: 3, terminating: 0 })
    expect(story.conditions().at(-1)).toBe('Failed=True BackoffLimitExceeded')
    expect(held()).toEqual([])
  })

  it.each([
    [0, 1, true],
    [2, 1, false],
    [2, 2, true],
  ])(
    'with OnFailure and a limit of %d, %d restarts in place end it: %s',
    async (limit, restarts, ends) => {
      const spec = job('work').spec as JobSpec
      const template = {
        ...spec.template,
        spec: { ...spec.template.spec, restartPolicy: 'OnFailure' },
      }
      await started({ backoffLimit: limit, template: template as JobSpec['template'] })
      story.cluster.change(story.harness.resources.pods, keyOf(story.active()[0] as Pod), (pod) => {
        pod['status'] = {
          phase: 'Running',
          containerStatuses: [{ name: 'main', restartCount: restarts }],
        }
      })
      await story.wait()
      expect(story.conditions().includes('Failed=True BackoffLimitExceeded')).toBe(ends)
    },
  )

  it('past its deadline ends, with the pods it has', async () => {
    await started({ activeDeadlineSeconds: 30, completions: 2, parallelism: 2 })
    await story.wait(29_000)
    expect(story.active()).toHaveLength(2)
    await story.wait(5000)
    expect(story.active()).toEqual([])
    expect(story.job().status?.failed).toBe(2)
    expect(eventsOf('DeadlineExceeded')).toEqual([
      'Warning DeadlineExceeded Job default/work: Job was active longer than specified deadline',
    ])
  })

  const rule = (
    action: string,
    on: { codes?: number[]; operator?: string; condition?: string; container?: string },
  ) => ({
    action,
    ...(on.codes && {
      onExitCodes: {
        operator: on.operator ?? 'In',
        values: on.codes,
        ...(on.container && { containerName: on.container }),
      },
    }),
    ...(on.condition && { onPodConditions: [{ type: on.condition, status: 'True' }] }),
  })
  it.each([
    ['fails the Job', rule('FailJob', { codes: [42] }), 'PodFailurePolicy', 1],
    ['fails the Job', rule('FailJob', { codes: [1], operator: 'NotIn' }), 'PodFailurePolicy', 1],
    ['fails the Job', rule('FailJob', { condition: 'DisruptionTarget' }), 'PodFailurePolicy', 1],
    ['does not match', rule('FailJob', { codes: [7] }), undefined, 1],
    ['does not match', rule('FailJob', { codes: [42], container: 'other' }), undefined, 1],
    ['ignores the pod', rule('Ignore', { codes: [42] }), undefined, undefined],
    ['ignores the pod', rule('Ignore', { condition: 'DisruptionTarget' }), undefined, undefined],
    ['counts the pod', rule('Count', { codes: [42] }), undefined, 1],
  ])('by a rule that %s: %j', async (_, one, reason, failed) => {
    await started({ podFailurePolicy: { rules: [one] } })
    const pod = story.active()[0] as Pod
    story.end(pod, 42, { conditions: [{ type: 'DisruptionTarget', status: 'True' }] })
    await story.wait()
    const target = story.job().status?.conditions?.find(({ type }) => type === 'FailureTarget')
    expect(target?.reason).toBe(reason)
    expect(story.job().status?.failed).toBe(failed)
    expect(held().filter(({ status }) => status?.phase === 'Failed')).toEqual([])
    if (reason === undefined) return
    const { name } = pod.metadata
    const why = one.onExitCodes
      ? `Container main for pod default/${name} failed with exit code 42 matching FailJob rule at index 0`
      : `Pod default/${name} has condition DisruptionTarget matching FailJob rule at index 0`
    expect(target?.message).toBe(why)
    expect(eventsOf('PodFailurePolicy')).toEqual([
      `Warning PodFailurePolicy Job default/work: ${why}`,
    ])
  })
})

describe('a Job whose pod takes time to go', () => {
  const hold = (pod: Pod): void =>
    void story.cluster.change(story.harness.resources.pods, keyOf(pod), ({ metadata }) => {
      metadata.finalizers = [...(metadata.finalizers ?? []), 'example.com/grace']
    })
  const letGo = (pod: Pod): void =>
    void story.cluster.change(story.harness.resources.pods, keyOf(pod), (object) => {
      object.metadata.finalizers = (object.metadata.finalizers ?? []).filter(
        (one) => one !== 'example.com/grace',
      )
    })

  it.each([
    ['TerminatingOrFailed', 1],
    ['Failed', 0],
  ])('replaces it by the policy %s: %d active meanwhile', async (podReplacementPolicy, active) => {
    await started({ podReplacementPolicy })
    await story.wait()
    const [pod] = story.active() as [Pod]
    hold(pod)
    story.cluster.remove(story.harness.resources.pods, keyOf(pod))
    await story.wait(15_000)
    expect(story.active()).toHaveLength(active)
    expect(story.job().status?.terminating).toBe(1)
    story.end(pod, 137)
    await story.wait(15_000)
    letGo(pod)
    await story.wait(15_000)
    expect(story.active()).toHaveLength(1)
    expect(story.job().status).toMatchObject({ failed: 1, terminating: 0 })
  })

  it('is announced to fail, and Failed only once it is gone', async () => {
    await started({ completions: 2, parallelism: 2, backoffLimit: 0 })
    await story.wait()
    const [first, second] = story.active() as [Pod, Pod]
    hold(second)
    story.end(first, 1)
    await story.wait()
    expect(story.conditions()).toEqual(['FailureTarget=True BackoffLimitExceeded'])
    expect(story.job().status).toMatchObject({ failed: 2, terminating: 1 })
    letGo(second)
    await story.wait()
    expect(story.conditions().at(-1)).toBe('Failed=True BackoffLimitExceeded')
    expect(story.job().status).toMatchObject({ failed: 2, terminating: 0 })
  })
})

describe('an Indexed Job', () => {
  it('makes a pod of each index, which knows its index by annotation, label, name and environment', async () => {
    await started(indexed(3))
    expect(story.active().map(indexOf)).toEqual([0, 1, 2])
    const { metadata, spec } = podOf(2)
    expect(metadata.generateName).toBe('work-2-')
    expect(metadata.labels?.['batch.kubernetes.io/job-completion-index']).toBe('2')
    expect(spec?.hostname).toBe('work-2')
    expect(spec?.containers[0]?.env).toEqual([
      {
        name: 'JOB_COMPLETION_INDEX',
        valueFrom: {
          fieldRef: {
            fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']",
          },
        },
      },
    ])
  })

  it('lists what is complete as intervals, and runs an index again that failed', async () => {
    await started(indexed(8, { parallelism: 8 }))
    await story.wait()
    for (const index of [0, 2, 3, 4, 6, 7]) story.end(podOf(index))
    story.end(podOf(5), 1)
    await story.wait()
    expect(story.job().status).toMatchObject({
      succeeded: 6,
      completedIndexes: '0,2-4,6,7',
      failed: 1,
    })
    await story.wait(15_000)
    expect(story.active().map(indexOf).toSorted()).toEqual([1, 5])
    await endAll()
    expect(story.job().status).toMatchObject({ succeeded: 8, completedIndexes: '0-7' })
    expect(story.conditions()).toContain('Complete=True CompletionsReached')
  })

  it('grows and shrinks with its parallelism', async () => {
    await started(indexed(3))
    await story.wait()
    story.end(podOf(2))
    await story.wait()
    const resize = (count: number): void =>
      story.change(({ spec }) => {
        if (spec) Object.assign(spec, { completions: count, parallelism: count })
      })
    resize(2)
    await story.wait()
    expect(story.active().map(indexOf)).toEqual([0, 1])
    expect(story.job().status?.succeeded).toBeUndefined()
    resize(4)
    await story.wait()
    expect(story.active().map(indexOf)).toEqual([0, 1, 2, 3])
    await endAll()
    expect(story.job().status).toMatchObject({ succeeded: 4, completedIndexes: '0-3' })
  })

  it('deletes one of two pods of the same index', async () => {
    await started(indexed(2))
    await story.wait()
    const { metadata, spec } = podOf(0)
    const { name: _, uid: __, resourceVersion: ___, ...others } = metadata
    story.cluster.seed(story.harness.resources.pods, {
      metadata: { ...others, name: 'work-0-again' },
      spec,
    } as Pod)
    await story.wait()
    expect(story.active().map(indexOf).toSorted()).toEqual([0, 1])
  })

  it('gives each index tries of its own, and fails with the indexes that used them up', async () => {
    await started(indexed(3, { backoffLimitPerIndex: 1, backoffLimit: 2 ** 31 - 1 }))
    await story.wait()
    story.end(podOf(0))
    story.end(podOf(1), 1)
    await story.wait()
    expect(story.job().status).toMatchObject({ completedIndexes: '0', failedIndexes: '' })
    // The failed pod stays until the next one carries its failures.
    expect(held().map(indexOf)).toEqual([1, 2])
    await story.wait(15_000)
    const again = podOf(1)
    expect(again.metadata.annotations?.['batch.kubernetes.io/job-index-failure-count']).toBe('1')
    story.end(again, 1)
    await story.wait()
    expect(story.job().status).toMatchObject({ failedIndexes: '1', failed: 2 })
    expect(story.active().map(indexOf)).toEqual([2])
    story.end(podOf(2))
    await story.wait()
    expect(story.conditions()).toEqual([
      'FailureTarget=True FailedIndexes',
      'Failed=True FailedIndexes',
    ])
    expect(story.job().status).toMatchObject({ succeeded: 2, completedIndexes: '0,2', failed: 2 })
    expect(held()).toEqual([])
  })

  it('fails past the most indexes that may fail, and by a rule that fails an index', async () => {
    await started(
      indexed(4, {
        backoffLimitPerIndex: 5,
        backoffLimit: 2 ** 31 - 1,
        maxFailedIndexes: 1,
        podFailurePolicy: {
          rules: [{ action: 'FailIndex', onExitCodes: { operator: 'In', values: [3] } }],
        },
      }),
    )
    await story.wait()
    story.end(podOf(3), 3)
    await story.wait()
    expect(story.job().status).toMatchObject({ failedIndexes: '3', failed: 1 })
    expect(story.active().map(indexOf)).toEqual([0, 1, 2])
    story.end(podOf(1), 3)
    await story.wait()
    expect(story.conditions().at(-1)).toBe('Failed=True MaxFailedIndexesExceeded')
    expect(story.active()).toEqual([])
  })

  it.each([
    [{ succeededIndexes: '1' }, [0], undefined],
    [{ succeededIndexes: '1' }, [1], 'Matched rules at index 0'],
    [{ succeededIndexes: '0-2', succeededCount: 1 }, [2], 'Matched rules at index 0'],
    [{ succeededIndexes: '0,3' }, [0, 3], 'Matched rules at index 0'],
    [{ succeededIndexes: '0,3' }, [0, 1, 2], undefined],
    [{ succeededCount: 2 }, [0, 3], 'Matched rules at index 0'],
    [{ succeededCount: 3 }, [0, 3], undefined],
  ])('with the success rule %j, of four indexes %j: %s', async (one, done, message) => {
    await started(indexed(4, { successPolicy: { rules: [one] } }))
    await story.wait()
    for (const index of done) story.end(podOf(index))
    await story.wait()
    const met = story.job().status?.conditions?.find(({ type }) => type === 'SuccessCriteriaMet')
    expect(met?.message).toBe(message)
    if (message === undefined) return
    expect(story.conditions()).toEqual([
      'SuccessCriteriaMet=True SuccessPolicy',
      'Complete=True SuccessPolicy',
    ])
    expect(story.active()).toEqual([])
    expect(story.job().status).toMatchObject({ succeeded: done.length })
    expect(story.job().status?.failed).toBeUndefined()
    expect(held()).toEqual([])
  })
})

describe('a suspended Job', () => {
  it('has no pods, and starts when it is resumed', async () => {
    await started({ suspend: true, activeDeadlineSeconds: 100, completions: 2, parallelism: 2 })
    await story.wait(200_000)
    expect(story.pods()).toEqual([])
    expect(story.job().status?.startTime).toBeUndefined()
    expect(story.conditions()).toEqual(['Suspended=True JobSuspended'])
    const suspend = (value: boolean): void =>
      story.change(({ spec }) => {
        if (spec) spec.suspend = value
      })
    suspend(false)
    await story.wait()
    expect(story.active()).toHaveLength(2)
    expect(story.job().status?.startTime).toBe('2025-01-01T00:03:20Z')
    suspend(true)
    await story.wait(200_000)
    expect(story.active()).toEqual([])
    expect(story.job().status?.failed).toBeUndefined()
    suspend(false)
    await story.wait()
    expect(story.conditions()).toEqual(['Suspended=False JobResumed'])
    await endAll()
    expect(story.job().status).toMatchObject({ succeeded: 2 })
    expect(eventsOf('Suspended', 'Resumed')).toEqual([
      'Normal Suspended Job default/work: Job suspended',
      'Normal Resumed Job default/work: Job resumed',
      'Normal Suspended Job default/work: Job suspended',
      'Normal Resumed Job default/work: Job resumed',
    ])
  })
})

describe('pods and their Job', () => {
  it('lose the finalizer when the Job is gone, and when nothing owns them', async () => {
    await started({ completions: 2, parallelism: 2 })
    await story.wait()
    story.cluster.seed(story.harness.resources.pods, {
      metadata: { name: 'lone', namespace: 'default', finalizers: [trackingFinalizer] },
    } as Pod)
    story.cluster.remove(story.harness.resources.jobs, 'default/work')
    await story.wait()
    expect(story.pods()).toHaveLength(3)
    expect(held()).toEqual([])
  })

  it('are let go while the Job is being deleted', async () => {
    await started({ completions: 2, parallelism: 2 })
    await story.wait()
    story.cluster.change(story.harness.resources.jobs, 'default/work', ({ metadata }) => {
      metadata.finalizers = ['foregroundDeletion']
    })
    story.cluster.remove(story.harness.resources.jobs, 'default/work')
    await story.wait()
    for (const pod of story.active()) story.cluster.remove(story.harness.resources.pods, keyOf(pod))
    await story.wait()
    expect(story.pods()).toEqual([])
  })

  it('are adopted with the finalizer, and counted, where they match the selector', async () => {
    await started({ completions: 2, parallelism: 2 })
    await story.wait()
    const labels = story.active()[0]?.metadata.labels ?? {}
    story.cluster.seed(story.harness.resources.pods, {
      metadata: { name: 'adopted', namespace: 'default', labels },
      status: { phase: 'Succeeded' },
    } as Pod)
    await story.wait()
    const adopted = story.pods().find(({ metadata }) => metadata.name === 'adopted')
    expect(adopted?.metadata.ownerReferences).toMatchObject([{ kind: 'Job', name: 'work' }])
    expect(story.job().status).toMatchObject({ succeeded: 1, active: 1 })
    expect((story.job() as Job).status?.uncountedTerminatedPods).toEqual({})
    expect(held()).toHaveLength(1)
  })

  it('are made anew, and not counted, where their labels no longer match', async () => {
    await started()
    await story.wait()
    const [pod] = story.active() as [Pod]
    story.cluster.change(story.harness.resources.pods, keyOf(pod), ({ metadata }) => {
      metadata.labels = { app: 'debug' }
    })
    await story.wait()
    const released = story.pods().find(({ metadata }) => metadata.name === pod.metadata.name)
    expect(released?.metadata).toMatchObject({ ownerReferences: [], finalizers: [] })
    expect(story.active()).toHaveLength(2)
    expect(story.job().status).toMatchObject({ active: 1 })
    expect(story.job().status?.failed).toBeUndefined()
  })

  it('stay with the Job that made them, where two Jobs select the same', async () => {
    const selector = { matchLabels: { app: 'shared' } }
    const template = job('work').spec?.template as JobSpec['template']
    const shared = { ...template, metadata: { labels: selector.matchLabels } }
    const spec = {
      completions: 2,
      parallelism: 2,
      manualSelector: true,
      selector,
      template: shared,
    }
    story = await startJobs([job('work', spec), job('other', spec)])
    for (let round = 1; round <= 5; round += 1) await story.wait()
    expect(story.active()).toHaveLength(4)
    await endAll()
    for (const name of ['work', 'other']) {
      expect(story.job(name).status).toMatchObject({ succeeded: 2 })
    }
    expect(story.pods()).toHaveLength(4)
    expect(held()).toEqual([])
  })
})
