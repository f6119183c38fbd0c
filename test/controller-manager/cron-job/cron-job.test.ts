import { afterEach, describe, expect, it } from 'vitest'
import type { CronJob, CronJobSpec, Job } from '../../../components/api/generated/types.ts'
import { timestamp } from '../../../components/component-base/clock.ts'
import { runCronJobController } from '../../../components/controller-manager/cron-job/cron-job.ts'
import { keyOf } from '../../../components/machinery/objects/object.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

let harness: ReconcilerHarness
afterEach(() => harness.stop())

function cronJob(spec: Partial<CronJobSpec> = {}): CronJob {
  return {
    metadata: { name: 'tick', namespace: 'default' },
    spec: {
      schedule: '*/5 * * * *',
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: {
        metadata: { labels: { app: 'tick' }, annotations: { note: 'kept' } },
        spec: { template: { spec: { containers: [{ name: 'main', image: 'busybox' }] } } },
      },
      ...spec,
    },
  }
}

/** On a clock that shows 2025-01-01T00:00:00Z, where schedules without a zone mean UTC. */
async function started(spec: Partial<CronJobSpec> = {}, status?: CronJob['status']): Promise<void> {
  harness = createReconcilerHarness()
  harness.cluster.seed(harness.resources.cronJobs, { ...cronJob(spec), ...(status && { status }) })
  await start()
}

async function start(): Promise<void> {
  await harness.start({
    name: 'cronjob-controller',
    start: (context, signal) => runCronJobController(context, signal, 'UTC'),
  })
}

const jobs = (): Job[] => harness.cluster.all<Job>(harness.resources.jobs)
const names = (): string[] => jobs().map(({ metadata }) => metadata.name ?? '')
const tick = (): CronJob =>
  harness.cluster.peek<CronJob>(harness.resources.cronJobs, 'default/tick') as CronJob
const change = (edit: (spec: CronJobSpec) => void): void =>
  void harness.cluster.change(harness.resources.cronJobs, 'default/tick', (object) =>
    edit(object['spec'] as CronJobSpec),
  )
function end(job: Job, type: 'Complete' | 'Failed' = 'Complete'): void {
  const now = timestamp(harness.clock.now())
  harness.cluster.change(harness.resources.jobs, keyOf(job), (object) => {
    object['status'] = {
      startTime: job.metadata.creationTimestamp,
      ...(type === 'Complete' && { completionTime: now }),
      conditions: [{ type, status: 'True', lastTransitionTime: now }],
    }
  })
}
const reasons = (): string[] =>
  harness.events.map((event) => event.split(' ')[1] ?? '').filter((reason) => reason !== '')
const minutes = (ms: number): number => Math.floor(ms / minuteMs)
const startMs = Date.parse('2025-01-01T00:00:00Z')

describe('a CronJob', () => {
  it('starts a Job at its time, named after that time, and lists it while it is active', async () => {
    await started()
    expect(jobs()).toEqual([])
    await harness.step(5 * minuteMs + 200)
    const [job] = jobs() as [Job]
    expect(job.metadata).toMatchObject({
      name: `tick-${minutes(startMs) + 5}`,
      labels: { app: 'tick' },
      annotations: {
        note: 'kept',
        'batch.kubernetes.io/cronjob-scheduled-timestamp': '2025-01-01T00:05:00Z',
      },
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'CronJob', name: 'tick', controller: true },
      ],
    })
    expect(job.spec).toEqual(cronJob().spec?.jobTemplate.spec)
    expect(tick().status).toMatchObject({
      active: [
        { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: job.metadata.name },
      ],
      lastScheduleTime: '2025-01-01T00:05:00Z',
    })
    end(job)
    await harness.step(1000)
    expect(tick().status).toEqual({
      lastScheduleTime: '2025-01-01T00:05:00Z',
      lastSuccessfulTime: '2025-01-01T00:05:00Z',
    })
    expect(harness.events).toEqual([
      `Normal SuccessfulCreate CronJob default/tick: Created job ${job.metadata.name}`,
      `Normal SawCompletedJob CronJob default/tick: Saw completed job: ${job.metadata.name}, status: Complete`,
    ])
  })

  it('writes nothing between its runs', async () => {
    await started({ schedule: '@daily' })
    await harness.step(24 * hourMs + 1000)
    for (const job of jobs()) end(job)
    await harness.step(1000)
    const before = harness.cluster.writes.length
    await harness.step(22 * hourMs)
    expect(harness.cluster.writes.slice(before)).toEqual([])
  })

  it('runs by the clocks of its time zone, and says so in the annotation', async () => {
    await started({ schedule: '30 9 * * *', timeZone: 'Asia/Kolkata' })
    await harness.step(4 * hourMs + 200)
    const key = 'batch.kubernetes.io/cronjob-scheduled-timestamp'
    expect(jobs()[0]?.metadata.annotations?.[key]).toBe('2025-01-01T09:30:00+05:30')
    expect(tick().status?.lastScheduleTime).toBe('2025-01-01T04:00:00Z')
  })

  it.each([
    // Clocks go from 2:00 to 3:00 on the 9th: that day has no half past two.
    ['30 2 8-10 3 *', ['2025-03-08T02:30:00-05:00', '2025-03-10T02:30:00-04:00']],
    [
      '0 3 8-10 3 *',
      ['03-08T03:00:00-05:00', '03-09T03:00:00-04:00', '03-10T03:00:00-04:00'].map(
        (at) => `2025-${at}`,
      ),
    ],
    // Clocks go from 2:00 to 1:00 on the 2nd: that day has two half past ones.
    [
      '30 1 1-3 11 *',
      [
        '2025-11-01T01:30:00-04:00',
        '2025-11-02T01:30:00-04:00',
        '2025-11-02T01:30:00-05:00',
        '2025-11-03T01:30:00-05:00',
      ],
    ],
  ])(
    'at %s in New York runs at these times around a change of its clocks: %j',
    async (schedule, times) => {
      await started({ schedule, timeZone: 'America/New_York' })
      const key = 'batch.kubernetes.io/cronjob-scheduled-timestamp'
      const seen: (string | undefined)[] = []
      // A day at a time: finished Jobs beyond the history limit go.
      for (let day = 1; day <= 310; day += 1) {
        await harness.step(24 * hourMs)
        for (const job of jobs()) {
          const at = job.metadata.annotations?.[key]
          if (!seen.includes(at)) seen.push(at)
        }
      }
      expect(seen).toEqual(times)
    },
  )

  it.each([
    ['Allow', 3, 3, 'SuccessfulCreate'],
    ['Forbid', 1, 1, 'JobAlreadyActive'],
    ['Replace', 1, 1, 'SuccessfulDelete'],
  ])(
    'with the policy %s, of three runs that do not end %d are there, %d active',
    async (policy, count, active, reason) => {
      await started({ concurrencyPolicy: policy })
      await harness.step(15 * minuteMs + 1000)
      expect(jobs()).toHaveLength(count)
      expect(tick().status?.active).toHaveLength(active)
      expect(reasons()).toContain(reason)
      const last = policy === 'Forbid' ? 5 : 15
      expect(names().at(-1)).toBe(`tick-${minutes(startMs) + last}`)
    },
  )

  it('that forbids concurrency starts what was due as soon as the run before has ended', async () => {
    await started({ concurrencyPolicy: 'Forbid' })
    await harness.step(12 * minuteMs)
    end(jobs()[0] as Job)
    await harness.step(1000)
    expect(names()).toEqual([5, 10].map((minute) => `tick-${minutes(startMs) + minute}`))
  })

  it('starts nothing while it is suspended, and then the last run alone', async () => {
    await started({ suspend: true })
    await harness.step(hourMs)
    expect(jobs()).toEqual([])
    change((spec) => {
      spec.suspend = false
    })
    await harness.step(1000)
    expect(names()).toEqual([`tick-${minutes(startMs) + 60}`])
  })

  it.each([
    [undefined, 1],
    [10, 0],
    [121, 1],
  ])(
    'with a starting deadline of %s s, finds %d run to start two minutes late',
    async (deadline, count) => {
      harness = createReconcilerHarness()
      const late = cronJob({ ...(deadline !== undefined && { startingDeadlineSeconds: deadline }) })
      late.metadata.creationTimestamp = '2024-12-31T23:53:00Z'
      harness.clock.setBack(minuteMs)
      await harness.step(3 * minuteMs)
      harness.cluster.seed(harness.resources.cronJobs, late)
      await start()
      expect(jobs()).toHaveLength(count)
    },
  )

  it('that has missed more than 100 runs starts the last one, and says so', async () => {
    await started({ schedule: '* * * * *' }, { lastScheduleTime: '2024-12-01T00:00:00Z' })
    expect(names()).toEqual([`tick-${minutes(startMs)}`])
    expect(harness.events[0]).toBe(
      'Warning TooManyMissedTimes CronJob default/tick: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    )
  })

  it('that never matches starts nothing, says so once, and asks for no more time', async () => {
    await started({ schedule: '0 0 30 2 *' })
    await harness.step(48 * hourMs)
    expect(harness.events).toEqual([
      'Warning InvalidSchedule CronJob default/tick: invalid schedule: 0 0 30 2 * : time difference between two schedules is less than 1 second',
    ])
    expect(harness.cluster.writes).toEqual([])
    expect(harness.clock.pending).toBe(0)
  })

  it.each([
    [
      { schedule: 'x * * * *' },
      'UnparseableSchedule',
      'unparseable schedule: "x * * * *" : failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
    ],
    [
      { timeZone: 'Mars/Base' },
      'UnknownTimeZone',
      'invalid timeZone: "Mars/Base": unknown time zone Mars/Base',
    ],
  ])('that no server would take now, %j, says what is wrong: %s', async (spec, reason, message) => {
    await started(spec)
    await harness.step(hourMs)
    expect(jobs()).toEqual([])
    expect(harness.events).toEqual([`Warning ${reason} CronJob default/tick: ${message}`])
  })

  it('from a time when zones stood in schedules still runs by that zone, with a warning', async () => {
    await started({ schedule: 'CRON_TZ=Asia/Tokyo 0 10 * * *' })
    await harness.step(hourMs + 200)
    expect(jobs()).toHaveLength(1)
    expect(reasons()).toContain('UnsupportedSchedule')
  })

  it('with a new schedule makes up for no run that this would have had before', async () => {
    await started({ schedule: '0 0 1 1 *' })
    await harness.step(12 * hourMs)
    change((spec) => {
      spec.schedule = '0 6 * * *'
    })
    await harness.step(17 * hourMs)
    expect(jobs()).toEqual([])
    await harness.step(hourMs + 1000)
    expect(names()).toEqual([`tick-${minutes(startMs) + 30 * 60}`])
  })

  it('keeps as many finished Jobs as its history limits say, the last ones', async () => {
    await started({
      schedule: '* * * * *',
      successfulJobsHistoryLimit: 2,
      failedJobsHistoryLimit: 1,
    })
    for (let run = 1; run <= 6; run += 1) {
      await harness.step(minuteMs)
      await harness.step(500)
      const last = jobs().at(-1) as Job
      end(last, run % 2 === 0 ? 'Failed' : 'Complete')
    }
    await harness.step(1000)
    expect(names()).toEqual([3, 5, 6].map((minute) => `tick-${minutes(startMs) + minute}`))
    expect(reasons().filter((reason) => reason === 'SuccessfulDelete')).toHaveLength(3)
  })

  it('notices a Job that went, and one that it did not make', async () => {
    await started()
    await harness.step(5 * minuteMs + 200)
    const [job] = jobs() as [Job]
    const { name: _, uid: __, resourceVersion: ___, ...metadata } = job.metadata
    harness.cluster.seed(harness.resources.jobs, {
      metadata: { ...metadata, name: 'by-hand' },
      spec: job.spec,
    } as Job)
    harness.cluster.remove(harness.resources.jobs, keyOf(job))
    await harness.step(1000)
    expect(tick().status?.active).toBeUndefined()
    expect(harness.events).toContain(
      `Normal MissingJob CronJob default/tick: Active job went missing: ${job.metadata.name}`,
    )
    expect(harness.events).toContain(
      'Warning UnexpectedJob CronJob default/tick: Saw a job that the controller did not create or forgot: by-hand',
    )
  })

  it('runs nothing twice when the clock is set back', async () => {
    await started()
    await harness.step(10 * minuteMs + 1000)
    expect(jobs()).toHaveLength(2)
    for (const job of jobs()) end(job)
    await harness.step(1000)
    harness.clock.setBack(9 * minuteMs)
    change((spec) => {
      spec.successfulJobsHistoryLimit = 0
    })
    await harness.step(5 * minuteMs)
    // The Jobs of those runs are gone; only the time of the last one tells that they were.
    expect(jobs()).toEqual([])
    await harness.step(10 * minuteMs)
    expect(names()).toEqual([`tick-${minutes(startMs) + 15}`])
  })

  it('makes one Job, whatever was lost of the answers, and writes it down in the end', async () => {
    await started()
    let refusals = 0
    harness.cluster.react('update', 'cronjobs/status', () => {
      refusals += 1
      if (refusals <= 4) throw new StatusError('InternalError', 'not now')
      return undefined
    })
    await harness.step(5 * minuteMs + 30_000)
    expect(names()).toEqual([`tick-${minutes(startMs) + 5}`])
    expect(tick().status).toMatchObject({
      active: [{ name: names()[0] }],
      lastScheduleTime: '2025-01-01T00:05:00Z',
    })
    expect(reasons().filter((reason) => reason === 'SuccessfulCreate')).toHaveLength(1)
  })

  it('goes on with a Job that was made, and not written down, before the controller was restarted', async () => {
    await started()
    const allow = harness.cluster.react('update', 'cronjobs/status', () => {
      throw new StatusError('InternalError', 'the process is gone')
    })
    await harness.step(5 * minuteMs + 500)
    await harness.stop()
    allow()
    harness = createReconcilerHarness({ cluster: harness.cluster })
    await start()
    await harness.step(1000)
    expect(names()).toEqual([`tick-${minutes(startMs) + 5}`])
    expect(tick().status).toMatchObject({
      active: [{ name: names()[0] }],
      lastScheduleTime: '2025-01-01T00:05:00Z',
    })
  })

  it.each(['TooManyRequests', 'InternalError'] as const)(
    'starts its Job once a server that answers %s for minutes is well again',
    async (reason) => {
      await started()
      const allow = harness.cluster.react('*', 'jobs', ({ verb }) => {
        if (verb === 'create') throw new StatusError(reason, 'not now')
        return undefined
      })
      await harness.step(9 * minuteMs)
      expect(harness.cluster.writes.length).toBeLessThan(20)
      allow()
      await harness.step(minuteMs)
      expect(names().length).toBeGreaterThan(0)
      expect(new Set(names()).size).toBe(names().length)
    },
  )
})

describe('the metrics of CronJobs', () => {
  it('tell how late a Job was made', async () => {
    await started({ schedule: '58 23 * * *' }, { lastScheduleTime: '2024-12-30T23:58:00Z' })
    expect(names()).toHaveLength(1)
    const name = 'cronjob_controller_job_creation_skew_duration_seconds'
    expect(harness.shown(name)).toEqual(['1, 120'])
  })
})
