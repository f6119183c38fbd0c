import { afterEach, describe, expect, it } from 'vitest'
import type { Job } from '../../../components/api/generated/types.ts'
import { ttlAfterFinishedController } from '../../../components/controller-manager/ttl-after-finished/ttl-after-finished.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(() => harness.stop())

function job(ttl: number | undefined, condition: string | undefined): Job {
  const lastTransitionTime = '2025-01-01T00:00:00Z'
  return {
    metadata: { name: 'done', namespace: 'default' },
    spec: { template: {}, ...(ttl !== undefined && { ttlSecondsAfterFinished: ttl }) },
    status: {
      conditions:
        condition === undefined ? [] : [{ type: condition, status: 'True', lastTransitionTime }],
    },
  }
}

async function started(one: Job): Promise<void> {
  harness = createReconcilerHarness()
  harness.cluster.seed(harness.resources.jobs, one)
  await harness.start(ttlAfterFinishedController)
}

const isGoing = (): boolean => {
  const found = harness.cluster.peek(harness.resources.jobs, 'default/done')
  return found === undefined || found.metadata.deletionTimestamp !== undefined
}

describe('ttl-after-finished-controller', () => {
  it.each([
    [0, 'Complete', 0, true],
    [100, 'Complete', 99_000, false],
    [100, 'Complete', 100_000, true],
    [100, 'Failed', 100_000, true],
    [100, 'FailureTarget', 200_000, false],
    [100, undefined, 200_000, false],
    [undefined, 'Complete', 200_000, false],
  ])(
    'of a Job with a TTL of %s that is %s, after %d ms: deleted %s',
    async (ttl, condition, ms, isDeleted) => {
      await started(job(ttl, condition))
      await harness.step(ms)
      expect(isGoing()).toBe(isDeleted)
      const gets = harness.cluster.calls.filter(({ verb }) => verb === 'get')
      expect(gets).toHaveLength(isDeleted ? 1 : 0)
    },
  )

  it('deletes that very Job and its pods first', async () => {
    await started(job(0, 'Complete'))
    const [call] = harness.cluster.calls.filter(({ verb }) => verb === 'delete')
    expect(call?.object).toMatchObject({
      propagationPolicy: 'Foreground',
      preconditions: { uid: expect.any(String) as string },
    })
    await harness.step(3_600_000)
    expect(harness.cluster.calls.filter(({ verb }) => verb === 'delete')).toHaveLength(1)
  })

  it('asks the server before it deletes, for the TTL may have grown', async () => {
    await started(job(100, 'Complete'))
    harness.cluster.react('watch', 'jobs', () => {
      throw new StatusError('ServiceUnavailable', 'not now')
    })
    harness.cluster.endWatches()
    harness.cluster.change(harness.resources.jobs, 'default/done', (object) => {
      object['spec'].ttlSecondsAfterFinished = 500
    })
    await harness.step(400_000)
    expect(isGoing()).toBe(false)
    await harness.step(150_000)
    expect(isGoing()).toBe(true)
  })

  it('waits for a clock that was set back', async () => {
    await started(job(100, 'Complete'))
    harness.clock.setBack(3_600_000)
    await harness.step(200_000)
    expect(isGoing()).toBe(false)
    await harness.step(3_600_000)
    expect(isGoing()).toBe(true)
  })

  it('deletes the Job once a server that failed for minutes is well again', async () => {
    await started(job(10, 'Complete'))
    const allow = harness.cluster.react('delete', 'jobs', () => {
      throw new StatusError('TooManyRequests', 'not now')
    })
    await harness.step(300_000)
    expect(isGoing()).toBe(false)
    allow()
    await harness.step(600_000)
    expect(isGoing()).toBe(true)
  })
})

describe('the metrics of ttl-after-finished-controller', () => {
  it('tell how late a Job was deleted', async () => {
    harness = createReconcilerHarness()
    harness.cluster.seed(harness.resources.jobs, job(10, 'Complete'))
    await harness.clock.step(40_000)
    await harness.start(ttlAfterFinishedController)
    expect(isGoing()).toBe(true)
    const name = 'ttl_after_finished_controller_job_deletion_duration_seconds'
    expect(harness.shown(name)).toEqual(['1, 30'])
  })
})
