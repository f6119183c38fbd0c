import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import type { JobSpec, Pod } from '../../../components/api/generated/types.ts'
import { servedRelease } from '../../../components/api/lifecycle.ts'
import { createMetrics } from '../../../components/component-base/metrics.ts'
import { declareJobMetrics } from '../../../components/controller-manager/job/job-metrics.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { job, startJobs } from '../../support/job-story.ts'
import type { JobStory } from '../../support/job-story.ts'

let story: JobStory
afterEach(() => story.harness.stop())

async function started(spec: Partial<JobSpec> = {}): Promise<void> {
  story = await startJobs([job('work', spec)])
}

const shown = (name: string): string[] => story.harness.shown(`job_controller_${name}`)

/** Ends every active pod. */
async function endAll(exitCode = 0): Promise<void> {
  for (const pod of story.active()) story.end(pod, exitCode)
  await story.wait()
}

describe('the metrics of Jobs', () => {
  it('count what each sync did, and each pod and Job that finished once', async () => {
    const rules = [{ action: 'Count', onExitCodes: { operator: 'In', values: [42] } }]
    await started({ podFailurePolicy: { rules } })
    await story.wait()
    await endAll(42)
    // Waiting for the back-off counts as making pods, as upstream.
    const created = '{completion_mode="NonIndexed",result="success",action="pods_created"}'
    expect(shown('job_syncs_total')).toContain(`${created} 3`)
    await story.wait(20_000)
    await endAll()
    expect(story.conditions()).toContain('Complete=True CompletionsReached')
    expect(shown('jobs_finished_total')).toEqual([
      '{completion_mode="NonIndexed",result="succeeded",reason="CompletionsReached"} 1',
    ])
    expect(shown('job_pods_finished_total')).toEqual([
      '{completion_mode="NonIndexed",result="succeeded"} 1',
      '{completion_mode="NonIndexed",result="failed"} 1',
    ])
    expect(shown('pod_failures_handled_by_failure_policy_total')).toEqual(['{action="Count"} 1'])
    expect(shown('terminated_pods_tracking_finalizer_total')).toEqual([
      '{event="add"} 2',
      '{event="delete"} 2',
    ])
    expect(shown('job_pods_creation_total')).toEqual([
      '{reason="new",status="succeeded"} 1',
      '{reason="recreate_failed",status="succeeded"} 1',
    ])
    expect(shown('job_syncs_total')).toContain(`${created} 4`)
    expect(shown('job_sync_duration_seconds')).toContain(`${created} 4, 0`)
  })

  it('count pods that could not be made, and syncs that failed', async () => {
    story = await startJobs([job('work')], {
      before: ({ cluster }) => {
        cluster.react('create', 'pods', () => {
          throw new StatusError('InternalError', 'not now')
        })
      },
    })
    expect(shown('job_pods_creation_total')).toEqual(['{reason="new",status="failed"} 1'])
    expect(shown('job_syncs_total')).toEqual([
      '{completion_mode="NonIndexed",result="error",action="pods_created"} 1',
    ])
  })

  it('count the indexes that finished, by whose limit it was', async () => {
    await started({
      completionMode: 'Indexed',
      completions: 3,
      parallelism: 3,
      backoffLimitPerIndex: 0,
      backoffLimit: 2 ** 31 - 1,
    })
    await story.wait()
    story.end(story.active()[1] as Pod, 1)
    await story.wait()
    await endAll()
    expect(shown('job_finished_indexes_total')).toEqual([
      '{status="succeeded",backoffLimit="perIndex"} 2',
      '{status="failed",backoffLimit="perIndex"} 1',
    ])
    expect(shown('jobs_finished_total')).toEqual([
      '{completion_mode="Indexed",result="failed",reason="FailedIndexes"} 1',
    ])
    expect(shown('job_pods_finished_total')).toEqual([
      '{completion_mode="Indexed",result="succeeded"} 2',
      '{completion_mode="Indexed",result="failed"} 1',
    ])
  })

  it('count Jobs of other controllers', async () => {
    await started({ managedBy: 'example.com/other' })
    expect(shown('jobs_by_external_controller_total')).toEqual([
      '{controller_name="example.com/other"} 1',
    ])
    expect(shown('job_syncs_total')).toEqual([])
  })

  it('name so many other controllers, and count the rest as one', () => {
    const metrics = createMetrics({ release: servedRelease })
    const { countManagedElsewhere } = declareJobMetrics(metrics, dialects.kubernetes)
    for (let i = 0; i < 150; i += 1) countManagedElsewhere(`example.com/c${i}`)
    countManagedElsewhere('example.com/c7')
    const lines = metrics.text().match(/^job_controller_jobs_by_external.*$/gm)
    expect(lines).toHaveLength(101)
    expect(lines).toContain(
      'job_controller_jobs_by_external_controller_total{controller_name="example.com/c7"} 2',
    )
    expect(lines).toContain(
      'job_controller_jobs_by_external_controller_total{controller_name="other"} 50',
    )
  })
})
