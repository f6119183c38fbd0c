/** Jobs and their controllers on a fake cluster; the test plays the nodes' agents. Every status that the server would refuse is a fault. */
import type { Job, JobSpec, Pod } from '../../components/api/generated/types.ts'
import { validateJobStatusChange } from '../../components/api-server/kinds/batch/job-status-validation.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import { jobController } from '../../components/controller-manager/job/job.ts'
import type { ControllerManagerOptions } from '../../components/controller-manager/options.ts'
import { isActive } from '../../components/controller-manager/pod-state.ts'
import { keyOf } from '../../components/machinery/objects/object.ts'
import { FieldPath } from '../../components/machinery/validation/field-path.ts'
import type { FakeCluster } from './fake-client.ts'
import { createReconcilerHarness } from './reconciler-harness.ts'
import type { ReconcilerHarness } from './reconciler-harness.ts'

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

/** As the server leaves it, with every default. */
export function job(name: string, spec: Partial<JobSpec> = {}): Job {
  const uid = `uid-of-${name}`
  const labels = { 'batch.kubernetes.io/controller-uid': uid, 'batch.kubernetes.io/job-name': name }
  const isWorkQueue = spec.parallelism !== undefined && spec.completions === undefined
  return {
    metadata: { name, namespace: 'default', uid },
    spec: {
      ...(isWorkQueue ? {} : { completions: 1 }),
      parallelism: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: spec.podFailurePolicy ? 'Failed' : 'TerminatingOrFailed',
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
      template: {
        metadata: { labels },
        spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox' }] },
      },
      ...spec,
    },
  }
}

export interface JobStory {
  readonly harness: ReconcilerHarness
  readonly cluster: FakeCluster
  /** What the server would have refused of the statuses written. */
  readonly faults: string[]
  job(name?: string): Job
  /** In the order of their names, which is the order they were made in. */
  pods(): Pod[]
  active(): Pod[]
  /** `type=status reason` of each condition. */
  conditions(): string[]
  change(edit: (job: Job) => void): void
  run(pod: Pod): void
  /** The pod's only container ends with that code. */
  end(pod: Pod, exitCode?: number, status?: Pod['status']): void
  /** Lets time pass and the controllers act. */
  wait(ms?: number): Promise<void>
}

export async function startJobs(
  jobs: readonly Job[],
  options: {
    flags?: Partial<ControllerManagerOptions>
    cluster?: FakeCluster
    before?: (harness: ReconcilerHarness) => void
  } = {},
): Promise<JobStory> {
  const { flags, cluster: given, before } = options
  const harness = createReconcilerHarness({
    ...(flags && { flags }),
    ...(given && { cluster: given }),
  })
  const { cluster, resources, clock } = harness
  const faults: string[] = []
  cluster.react('update', 'jobs/status', ({ key, object }) => {
    const old = cluster.peek<Job>(resources.jobs, key)
    if (old === undefined) return undefined
    const root = FieldPath.root()
    const change = { object: object as Job, old }
    validateJobStatusChange(change, root.child('status'), harness.context.gates)
    faults.push(...root.errors.map((error) => JSON.stringify(error)))
    return undefined
  })
  const story: JobStory = {
    harness,
    cluster,
    faults,
    job: (name = 'work') => cluster.peek<Job>(resources.jobs, `default/${name}`) as Job,
    pods: () => cluster.all<Pod>(resources.pods),
    active: () => story.pods().filter(isActive),
    conditions: () =>
      (story.job().status?.conditions ?? []).map(
        ({ type, status, reason = '' }) => `${type}=${status} ${reason}`,
      ),
    change: (edit) => void cluster.change(resources.jobs, 'default/work', edit as never),
    run: (pod) => {
      cluster.change(resources.pods, keyOf(pod), (object) => {
        const lastTransitionTime = timestamp(clock.now())
        object['status'] = {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
        }
      })
    },
    end: (pod, exitCode = 0, status = {}) => {
      cluster.change(resources.pods, keyOf(pod), (object) => {
        const terminated = { exitCode, finishedAt: timestamp(clock.now()) }
        object['status'] = {
          phase: exitCode === 0 ? 'Succeeded' : 'Failed',
          containerStatuses: [{ name: 'main', restartCount: 0, state: { terminated } }],
          ...status,
        }
      })
    },
    wait: (ms = 3000) => harness.step(ms),
  }
  for (const one of jobs) cluster.seed(resources.jobs, one)
  before?.(harness)
  await harness.start(jobController)
  return story
}
