/** Runs a workload story in a namespace of its own, removes what is in the way of rest, and holds all of it against the invariants. */
import { setTimeout as delay } from 'node:timers/promises'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { Client } from '../../../components/client/client.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { watchCluster } from '../../../monitors/feed/cluster-watch.ts'
import type { Judge } from '../../invariants/invariants.ts'
import { createJudge, watchedKinds } from '../../invariants/invariants.ts'
import { eventually } from '../../support/eventually.ts'
import { createActor } from './actor.ts'
import { unsettled } from './rest-state.ts'
import type { Kill, Round } from './steps.ts'

export interface WorkloadSubject {
  /** An administrator's client. */
  readonly client: Client
  /** Ends the process without warning, after which it starts again by itself; or holds it, where the subject can. */
  kill(kill: Kill): Promise<void>
  /** How long the cluster may take to come to rest. */
  readonly restMs: number
  /** How long a cluster at rest is watched for writes. */
  readonly quietMs: number
}

/** Waits until the workloads are what they were asked to be. */
async function expectRest(subject: WorkloadSubject, namespace: string): Promise<void> {
  await eventually(async () => {
    const left = await unsettled(subject.client, namespace)
    if (left.length > 0) throw new Error(`the workloads do not settle:\n${left.join('\n')}`)
  }, subject.restMs)
}

/** Lets everything run that the story held up. */
async function clearTheWay({ client }: WorkloadSubject, namespace: string): Promise<void> {
  const { nodes, jobs, resourceQuotas } = resourcesOf(client.dialect)
  await eventually(async () => {
    for (const { metadata, ...node } of (await client.resource(nodes).list()).items) {
      if (node['spec']?.unschedulable !== true) continue
      const body = { spec: { unschedulable: null } }
      await client.resource(nodes).patch({ name: metadata.name ?? '' }, body, { type: 'merge' })
    }
    await client.resource(resourceQuotas).deleteCollection({ namespace })
    for (const { metadata, ...job } of (await client.resource(jobs).list({ namespace })).items) {
      if (job['spec']?.suspend !== true) continue
      const at = { namespace, name: metadata.name ?? '' }
      await client.resource(jobs).patch(at, { spec: { suspend: false } }, { type: 'merge' })
    }
  })
}

async function makeNamespace({ client }: WorkloadSubject, name: string): Promise<void> {
  const { namespaces, serviceAccounts } = resourcesOf(client.dialect)
  await eventually(async () => {
    try {
      await client.resource(namespaces).create({ metadata: { name } })
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
  })
  const account = { namespace: name, name: 'default' }
  await eventually(() => client.resource(serviceAccounts).get(account))
}

async function removeNamespace({ client, restMs }: WorkloadSubject, name: string): Promise<void> {
  const { namespaces } = resourcesOf(client.dialect)
  await eventually(async () => {
    try {
      await client.resource(namespaces).delete({ name })
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return
      if (!isStatusError(error, 'Conflict')) throw error
    }
    throw new Error(`namespace ${name} does not go`)
  }, restMs)
}

function expectNone(judge: Judge): void {
  if (judge.violations.length > 0)
    throw new Error(`invariants were violated:\n${judge.violations.join('\n')}`)
}

async function runRounds(
  subject: WorkloadSubject,
  rounds: readonly Round[],
  namespace: string,
): Promise<void> {
  const actor = createActor(subject.client, namespace)
  for (const { steps, kills, pauseMs } of rounds) {
    const killing = kills.map(async (kill) => {
      await delay(kill.afterMs)
      await subject.kill(kill)
    })
    await Promise.all([...steps.map((step) => actor.act(step)), ...killing])
    await delay(pauseMs)
  }
}

/** Rejects with the violations, or with what does not come to rest. Gives how many changes it has judged. */
export async function runWorkloadStory(
  subject: WorkloadSubject,
  rounds: readonly Round[],
  namespace: string,
): Promise<number> {
  const { client, quietMs } = subject
  const { dialect } = client
  let changes = 0
  let judge = createJudge({ dialect, patienceMs: 0 })
  const written = new Map<string, number>()
  await using watch = watchCluster({
    client,
    kinds: watchedKinds(dialect),
    onChange: (change) => {
      changes += 1
      const { namespace: place, name } = change.object.metadata
      const key = `${change.resource.kind} ${name}`
      if (place === namespace) written.set(key, (written.get(key) ?? 0) + 1)
      judge.take(change)
    },
    onReset: () => {
      judge = createJudge({ dialect, patienceMs: 0 })
    },
  })
  const settle = async (): Promise<void> => {
    await eventually(async () => {
      if (!(await watch.settle())) throw new Error('the watches do not catch up')
    }, subject.restMs)
  }
  await makeNamespace(subject, namespace)
  await runRounds(subject, rounds, namespace)
  await clearTheWay(subject, namespace)
  try {
    await expectRest(subject, namespace)
  } finally {
    // A violation says more than that the workloads do not settle.
    await settle()
    expectNone(judge)
  }
  written.clear()
  await delay(quietMs)
  await settle()
  // One write may still have been under way.
  const busy = [...written].filter(([, count]) => count > 1)
  if (busy.length > 0)
    throw new Error(`written at rest: ${busy.map(([key, n]) => `${key} ${n} times`).join(', ')}`)
  judge.rest(Date.now())
  expectNone(judge)
  await removeNamespace(subject, namespace)
  await settle()
  judge.rest(Date.now())
  expectNone(judge)
  return changes
}
