/** A story for simulations: Jobs with indexes, with pods that fail, suspended and resumed, and one that goes when it is done. */
import type { KubernetesObject, SimulationOptions } from '../../library/index.ts'

const job = (name: string, command: readonly string[], spec: object = {}): KubernetesObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: {
    backoffLimit: 50,
    ...spec,
    template: {
      spec: {
        restartPolicy: 'Never',
        terminationGracePeriodSeconds: 5,
        containers: [{ name: 'main', image: 'main:1', command }],
      },
    },
  },
})

const indexed = job('indexed', ['sleep', '10'], {
  completions: 5,
  parallelism: 2,
  completionMode: 'Indexed',
})
const failing = job('failing', ['sh', '-c', 'exit 1'], { backoffLimit: 2 })
const brief = job('brief', ['sleep', '5'], { ttlSecondsAfterFinished: 10 })
const suspended = (suspend: boolean): KubernetesObject =>
  job('suspended', ['sleep', '20'], { completions: 2, parallelism: 2, suspend })

/** `Complete` or `Failed`, once it has ended. */
function endOf({ status }: KubernetesObject): string | undefined {
  const conditions: { type: string; status: string }[] = status?.conditions ?? []
  const ended = conditions.find(
    ({ type, status: is }) => (type === 'Complete' || type === 'Failed') && is === 'True',
  )
  return ended?.type
}

export const jobsStory = {
  story: async ({ client, sleep, eventually }) => {
    const apply = async (object: KubernetesObject): Promise<unknown> =>
      await eventually(async () => await client.apply(object))
    await apply(indexed)
    await apply(failing)
    await apply(brief)
    await apply(suspended(false))
    await sleep('10s')
    await apply(suspended(true))
    await sleep('1m')
    await apply(suspended(false))
  },
  check: async ({ client, eventually }) => {
    const jobs = await eventually(async () => await client.list({ kind: 'Job' }))
    const ends = jobs.map((one) => `${one.metadata?.name} ${endOf(one)}`).toSorted()
    if (ends.join() !== 'failing Failed,indexed Complete,suspended Complete')
      throw new Error(`the Jobs are ${ends.join()}`)
    const [whole] = jobs.filter(({ metadata }) => metadata?.name === 'indexed')
    if (whole?.['status'].completedIndexes !== '0-4')
      throw new Error(`the indexes are ${whole?.['status'].completedIndexes}`)
    const pods = await eventually(async () => await client.list({ kind: 'Pod' }))
    const active = pods.filter(({ status }) => ['Pending', 'Running'].includes(status.phase))
    if (active.length > 0) throw new Error(`${active.length} pods run still`)
    const kept = pods.filter(({ metadata }) =>
      metadata?.finalizers?.includes('batch.kubernetes.io/job-tracking'),
    )
    if (kept.length > 0) throw new Error(`${kept.length} pods are tracked still`)
  },
} satisfies SimulationOptions
