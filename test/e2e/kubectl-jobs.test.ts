/** kubectl on Jobs and CronJobs: made, waited for, read, failed, suspended, made from a schedule, and gone after their time. */
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

function manifest(name: string, spec: object, command: readonly string[]): string {
  const containers = [{ name: 'main', image: 'busybox', command }]
  const template = { spec: { restartPolicy: 'Never', containers } }
  return JSON.stringify({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: { template, ...spec },
  })
}

describe('jobs', () => {
  let kubectl: Kubectl

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path, namespace: 'jobs' })
  })

  const field = async (name: string, template: string) =>
    await kubectl.ok`get ${name} -o jsonpath=${template}`

  test('create job runs a command to its end, and logs shows what it wrote', async () => {
    expect(await kubectl.ok`create job hello --image=busybox -- echo hello`).toBe(
      'job.batch/hello created',
    )
    expect(await kubectl.ok`wait --for=condition=complete job/hello --timeout=60s`).toBe(
      'job.batch/hello condition met',
    )
    expect(await kubectl.ok`logs job/hello`).toBe('hello')
    expect(await kubectl.ok`get job hello --no-headers`).toMatch(/^hello +.*1\/1 +/)
    expect(await kubectl.ok`describe job hello`).toMatch(/Normal +Completed +.+ Job completed/)
    expect(
      await kubectl.ok`get pods --selector=job-name=hello -o jsonpath={.items[*].metadata.finalizers}`,
    ).toBe('')
  })

  test('a job of an image that nothing is known of ends too', async () => {
    await kubectl.ok`create job pi --image=perl:5.34 -- perl -Mbignum=bpi -wle ${'print bpi(2000)'}`
    await kubectl.ok`wait --for=condition=complete job/pi --timeout=60s`
  })

  test('an indexed job tells each of its pods its index', async () => {
    const spec = { completions: 3, parallelism: 3, completionMode: 'Indexed' }
    const script = 'echo "index $JOB_COMPLETION_INDEX"'
    await kubectl.withInput(manifest('indexed', spec, ['sh', '-c', script])).ok`apply -f -`
    await kubectl.ok`wait --for=condition=complete job/indexed --timeout=60s`
    expect(await field('job/indexed', '{.status.completedIndexes} {.status.succeeded}')).toBe(
      '0-2 3',
    )
    const selector = 'batch.kubernetes.io/job-completion-index=2,job-name=indexed'
    expect(await kubectl.ok`logs --selector=${selector}`).toContain('index 2')
  })

  test('a job that fails says why, by its policy', async () => {
    const rules = [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [3] } }]
    const spec = { podFailurePolicy: { rules } }
    await kubectl.withInput(manifest('fails', spec, ['sh', '-c', 'exit 3'])).ok`create -f -`
    await kubectl.ok`wait --for=condition=failed job/fails --timeout=60s`
    expect(await field('job/fails', '{.status.failed} {.status.conditions[*].reason}')).toBe(
      '1 PodFailurePolicy PodFailurePolicy',
    )
  })

  test('a suspended job waits until it is resumed', async () => {
    await kubectl.withInput(manifest('later', { suspend: true }, ['true'])).ok`create -f -`
    await kubectl.ok`wait --for=condition=suspended job/later --timeout=60s`
    await kubectl.ok`patch job later --type=merge --patch=${'{"spec":{"suspend":false}}'}`
    await kubectl.ok`wait --for=condition=complete job/later --timeout=60s`
  })

  test('a deleted job takes its running pods with it', async () => {
    await kubectl.ok`create job long --image=busybox -- sleep 3600`
    await kubectl.ok`wait --for=jsonpath={.status.active}=1 job/long --timeout=60s`
    await kubectl.ok`delete job long --timeout=60s`
    await eventually(async () => {
      expect(await kubectl.ok`get pods --selector=job-name=long -o name`).toBe('')
    })
  })

  test('create job --from starts a run of a cron job by hand', async () => {
    await kubectl.ok`create cronjob yearly --image=busybox --schedule=${'0 0 1 1 *'} -- echo ran`
    await kubectl.ok`create job by-hand --from=cronjob/yearly`
    await kubectl.ok`wait --for=condition=complete job/by-hand --timeout=60s`
    expect(await kubectl.ok`logs job/by-hand`).toBe('ran')
    await eventually(async () => {
      expect(await field('cronjob/yearly', '{.status.lastSuccessfulTime}')).not.toBe('')
    })
  })

  test('a cron job starts jobs by itself', async () => {
    await kubectl.ok`create cronjob often --image=busybox --schedule=${'@every 2s'} -- true`
    await eventually(async () => {
      expect(await field('cronjob/often', '{.status.lastScheduleTime}')).not.toBe('')
    })
    await kubectl.ok`patch cronjob often --type=merge --patch=${'{"spec":{"suspend":true}}'}`
    expect(await kubectl.ok`describe cronjob often`).toMatch(
      /SuccessfulCreate .+ Created job often-/,
    )
  })

  test('a finished job is gone after its time', async () => {
    const spec = { ttlSecondsAfterFinished: 1 }
    await kubectl.withInput(manifest('brief', spec, ['true'])).ok`create -f -`
    await kubectl.ok`wait --for=delete job/brief --timeout=60s`
    await eventually(async () => {
      expect(await kubectl.ok`get pods --selector=job-name=brief -o name`).toBe('')
    })
  })
})
