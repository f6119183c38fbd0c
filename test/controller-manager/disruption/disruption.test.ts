/** The disruption controller: what budgets say of their pods, and pods that were to go and did not. */
import { afterEach, describe, expect, it } from 'vitest'
import type { Pod, PodDisruptionBudget } from '../../../components/api/generated/types.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { timestamp } from '../../../components/component-base/clock.ts'
import type { Discover } from '../../../components/client/server-resources.ts'
import {
  disruptionController,
  runDisruption,
} from '../../../components/controller-manager/disruption/disruption.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { internalError } from '../../../components/machinery/objects/status-error.ts'
import { createReconcilerHarness } from '../../support/reconciler-harness.ts'
import type { ReconcilerHarness } from '../../support/reconciler-harness.ts'

let harness: ReconcilerHarness
afterEach(async () => {
  await harness.stop()
  expect(harness.complaints).toEqual([])
})

interface Owner {
  readonly kind: string
  readonly name: string
  readonly apiVersion?: string
}

function owned({ kind, name, apiVersion = 'apps/v1' }: Owner): KubeObject['metadata'] {
  const reference = { apiVersion, kind, name, uid: `uid-${name}`, controller: true }
  return { ownerReferences: [reference] }
}

function pod(name: string, owner?: Owner, isReady = true): Pod {
  const ready = { type: 'Ready', status: isReady ? 'True' : 'False' }
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      labels: { app: 'web' },
      ...(owner === undefined ? {} : owned(owner)),
    },
    spec: { containers: [] },
    status: { phase: 'Running', conditions: [ready] },
  }
}

function budget(spec: PodDisruptionBudget['spec'], status?: object): KubeObject {
  return {
    metadata: { name: 'b', namespace: 'default', generation: 3 },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
    status: {
      disruptionsAllowed: 0,
      currentHealthy: 0,
      desiredHealthy: 0,
      expectedPods: 0,
      ...status,
    },
  }
}

const web = { kind: 'ReplicaSet', name: 'web-1' }
const three = ['p1', 'p2', 'p3'].map((name) => pod(name, web))

interface Seed {
  readonly budget: KubeObject
  readonly pods?: readonly Pod[]
  /** Resource, name, replicas, owner. */
  readonly workloads?: readonly [
    'deployments' | 'replicaSets' | 'statefulSets' | 'replicationControllers' | 'jobs',
    string,
    number,
    Owner?,
  ][]
  readonly dialect?: 'kubernetes' | 'svc'
}

async function start(seed: Seed): Promise<void> {
  harness = createReconcilerHarness({ dialect: dialects[seed.dialect ?? 'kubernetes'] })
  const { cluster, resources } = harness
  for (const [plural, name, replicas, owner] of seed.workloads ?? []) {
    cluster.seed(resources[plural], {
      metadata: {
        name,
        namespace: 'default',
        uid: `uid-${name}`,
        ...(owner === undefined ? {} : owned(owner)),
      },
      spec: { replicas },
    })
  }
  for (const one of seed.pods ?? []) cluster.seed(resources.pods, one)
  cluster.seed(resources.podDisruptionBudgets, seed.budget)
  await harness.start(disruptionController)
  await harness.step()
}

const status = (): NonNullable<PodDisruptionBudget['status']> => {
  const [found] = harness.cluster.all(harness.resources.podDisruptionBudgets)
  return (found as PodDisruptionBudget).status!
}
const counts = () => {
  const { currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed } = status()
  return [currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed]
}
const change = (name: string, how: (pod: KubeObject) => void): void => {
  harness.cluster.change(harness.resources.pods, `default/${name}`, how)
}

describe('a budget', () => {
  it('[VER-079] with an empty selector counts every pod of its namespace', async () => {
    const bare = pod('bare')
    delete bare.metadata.labels
    const elsewhere = pod('elsewhere')
    elsewhere.metadata.namespace = 'other'
    await start({
      budget: budget({ selector: {}, minAvailable: 3 }),
      pods: [bare, pod('p1'), pod('p2'), pod('p3'), elsewhere],
    })
    expect(counts()).toEqual([4, 3, 4, 1])
  })

  it.each(['kubernetes', 'svc'] as const)('is counted, in dialect %s', async (dialect) => {
    await start({ dialect, budget: budget({ minAvailable: 2 }), pods: three })
    expect(status()).toEqual({
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
      disruptionsAllowed: 1,
      observedGeneration: 3,
      conditions: [
        {
          type: 'DisruptionAllowed',
          status: 'True',
          reason: 'SufficientPods',
          message: '',
          observedGeneration: 3,
          lastTransitionTime: '2025-01-01T00:00:00Z',
        },
      ],
    })
    const writes = harness.cluster.writes.length
    await harness.step(600_000)
    expect(harness.cluster.writes).toHaveLength(writes)
  })

  it.each<[string, PodDisruptionBudget['spec'], number[]]>([
    ['a number that must stay', { minAvailable: 3 }, [3, 3, 3, 0]],
    ['more than there are', { minAvailable: 9 }, [3, 9, 3, 0]],
    ['a share that must stay, rounded up', { minAvailable: '50%' }, [3, 3, 5, 0]],
    ['a number that may go, of what is wanted', { maxUnavailable: 3 }, [3, 2, 5, 1]],
    ['a share that may go, rounded up', { maxUnavailable: '50%' }, [3, 2, 5, 1]],
    ['more than all may go', { maxUnavailable: 9 }, [3, 0, 5, 3]],
    ['nothing said', {}, [3, 0, 0, 0]],
  ])('with %s', async (_, spec, wanted) => {
    const deployment = { kind: 'Deployment', name: 'web' }
    await start({
      budget: budget(spec),
      pods: three,
      workloads: [
        ['deployments', 'web', 5],
        ['replicaSets', 'web-1', 3, deployment],
      ],
    })
    expect(counts()).toEqual(wanted)
  })

  it('counts a pod whose name every object inherits', async () => {
    await start({ budget: budget({ minAvailable: 1 }), pods: [...three, pod('constructor', web)] })
    expect(counts()).toEqual([4, 1, 4, 3])
  })

  it('adds up all workloads of its pods, each once', async () => {
    const old = { kind: 'ReplicaSet', name: 'web-0' }
    const deployment = { kind: 'Deployment', name: 'web' }
    const legacy = { kind: 'ReplicationController', name: 'rc', apiVersion: 'v1' }
    await start({
      budget: budget({ maxUnavailable: 1 }),
      pods: [
        ...three,
        pod('old', old),
        pod('s-0', { kind: 'StatefulSet', name: 's' }),
        pod('rc-1', legacy),
        pod('bare'),
      ],
      workloads: [
        ['deployments', 'web', 4],
        ['replicaSets', 'web-0', 1, deployment],
        ['replicaSets', 'web-1', 3, deployment],
        ['statefulSets', 's', 2],
        ['replicationControllers', 'rc', 1],
      ],
    })
    expect(counts()).toEqual([7, 6, 7, 1])
  })

  it('follows its pods: readiness, deletion, labels, and new ones', async () => {
    await start({ budget: budget({ minAvailable: 1 }), pods: three })
    expect(counts()).toEqual([3, 1, 3, 2])
    change('p1', ({ status: its }) => (its.conditions[0].status = 'False'))
    await harness.step()
    expect(counts()).toEqual([2, 1, 3, 1])
    change('p2', ({ metadata }) => {
      metadata.deletionTimestamp = '2025-01-01T00:00:00Z'
      metadata.finalizers = ['x.example.com/f']
    })
    await harness.step()
    expect(counts()).toEqual([1, 1, 3, 0])
    expect(status().conditions).toMatchObject([{ status: 'False', reason: 'InsufficientPods' }])
    change('p2', ({ metadata }) => (metadata.labels = { app: 'other' }))
    harness.cluster.seed(harness.resources.pods, pod('p4'))
    await harness.step()
    expect(counts()).toEqual([2, 1, 3, 1])
  })

  it('without pods allows nothing, and says so in an event', async () => {
    await start({ budget: budget({ minAvailable: 0 }), pods: [] })
    expect(counts()).toEqual([0, 0, 0, 0])
    expect(harness.events).toEqual([
      'Normal NoPods PodDisruptionBudget default/b: No matching pods found',
    ])
  })

  it('allows nothing while a workload of its pods cannot be counted, and counts once it can', async () => {
    await start({ budget: budget({ maxUnavailable: 1 }), pods: three })
    expect(status().conditions).toMatchObject([
      {
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'SyncFailed',
        message: 'found no controllers for pod "p1"',
      },
    ])
    expect(harness.events).toEqual([
      'Warning CalculateExpectedPodCountFailed PodDisruptionBudget default/b: ' +
        'Failed to calculate the number of expected pods: found no controllers for pod "p1"',
    ])
    harness.cluster.seed(harness.resources.replicaSets, {
      metadata: { name: 'web-1', namespace: 'default', uid: 'uid-web-1' },
      spec: { replicas: 3 },
    })
    await harness.step(30_000)
    expect(counts()).toEqual([3, 2, 3, 1])
    expect(harness.events).toHaveLength(1)
  })

  it('of pods whose kind has no scale says so', async () => {
    const job = { kind: 'Job', name: 'j', apiVersion: 'batch/v1' }
    await start({ budget: budget({ minAvailable: '10%' }), pods: [pod('p', job)] })
    expect(status().conditions?.[0]?.message).toBe(
      'jobs.batch does not implement the scale subresource',
    )
  })

  describe('of pods of custom resources', () => {
    const widget = { kind: 'Widget', name: 'w', apiVersion: 'example.com/v1' }
    const widgets = (subresources: readonly string[]): Resource => ({
      ...harness.resources.replicaSets,
      group: 'example.com',
      version: 'v1',
      kind: 'Widget',
      plural: 'widgets',
      storagePrefix: 'example.com/widgets',
      subresources: subresources.map((name) => ({ name, verbs: ['get'], kind: 'Scale' })),
    })
    const scale = (uid: string, replicas: number) => ({ metadata: { uid }, spec: { replicas } })
    let discoveries = 0

    async function startWith(
      found: readonly Resource[],
      answer: (key: string) => unknown,
    ): Promise<void> {
      const { cluster, resources } = harness
      discoveries = 0
      cluster.react('get', 'widgets/scale', ({ key }) => answer(key))
      cluster.seed(resources.podDisruptionBudgets, budget({ minAvailable: '50%' }))
      for (const name of ['p1', 'p2', 'p3']) cluster.seed(resources.pods, pod(name, widget))
      const discover: Discover = async () => {
        discoveries += 1
        return { all: found, preferred: found, failed: [] }
      }
      await harness.start({
        name: 'disruption-controller',
        start: (own, signal) => runDisruption(discover, own, signal),
      })
      await harness.step()
    }
    const said = (): string | undefined => status().conditions?.[0]?.message

    it('percentages are of their scale', async () => {
      harness = createReconcilerHarness()
      await startWith([widgets(['scale'])], (key) =>
        key === 'default/w' ? scale('uid-w', 4) : undefined,
      )
      expect(counts()).toEqual([3, 2, 4, 1])
      expect(discoveries).toBe(1)
      const before = harness.cluster.writes.length
      await harness.step(600_000)
      expect(harness.cluster.writes.length).toBe(before)
    })

    it('one of another uid is gone', async () => {
      harness = createReconcilerHarness()
      await startWith([widgets(['scale'])], () => scale('other', 4))
      expect(said()).toBe('found no controllers for pod "p1"')
    })

    it('a kind without a scale says so', async () => {
      harness = createReconcilerHarness()
      await startWith([widgets(['status'])], () => undefined)
      expect(said()).toBe('widgets.example.com does not implement the scale subresource')
    })

    it('a kind that nobody serves says so, and counts once it is served', async () => {
      harness = createReconcilerHarness()
      const found: Resource[] = []
      await startWith(found, () => scale('uid-w', 3))
      expect(said()).toBe('no matches for kind "Widget" in version "example.com/v1"')
      found.push(widgets(['scale']))
      await harness.step(30_000)
      expect(counts()).toEqual([3, 2, 3, 1])
    })

    it('a server that fails for a while is asked again', async () => {
      harness = createReconcilerHarness()
      let isBroken = true
      await startWith([widgets(['scale'])], () => {
        if (isBroken) throw internalError('broken')
        return scale('uid-w', 3)
      })
      expect(said()).toContain('broken')
      isBroken = false
      await harness.step(30_000)
      expect(counts()).toEqual([3, 2, 3, 1])
    })
  })

  it('does not count pods whose eviction was granted, until it is two minutes overdue', async () => {
    const disruptedPods = { p1: '2024-12-31T23:59:30Z', gone: '2024-12-31T23:59:30Z' }
    await start({ budget: budget({ minAvailable: 1 }, { disruptedPods }), pods: three })
    expect(counts()).toEqual([2, 1, 3, 1])
    expect(status().disruptedPods).toEqual({ p1: '2024-12-31T23:59:30Z' })
    await harness.step(89_000)
    expect(counts()).toEqual([2, 1, 3, 1])
    await harness.step(2000)
    expect(counts()).toEqual([3, 1, 3, 2])
    expect(status().disruptedPods).toBeUndefined()
    expect(harness.events).toEqual([
      "Warning NotDeleted Pod default/p1: Pod was expected by PDB default/b to be deleted but it wasn't",
    ])
  })
})

describe('a pod that was to be disrupted', () => {
  const target = (reason: string): Pod => {
    const disrupted = pod('p')
    const lastTransitionTime = timestamp(Date.parse('2025-01-01T00:00:00Z'))
    disrupted.status?.conditions?.push({
      type: 'DisruptionTarget',
      status: 'True',
      reason,
      lastTransitionTime,
    })
    return disrupted
  }
  const condition = () => {
    const [found] = harness.cluster.all(harness.resources.pods)
    return (found as Pod).status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
  }

  it('and is there two minutes later is no target any more', async () => {
    await start({ budget: budget({}), pods: [target('EvictionByEvictionAPI')] })
    await harness.step(119_000)
    expect(condition()?.status).toBe('True')
    await harness.step(2000)
    expect(condition()).toEqual({
      type: 'DisruptionTarget',
      status: 'False',
      lastTransitionTime: '2025-01-01T00:02:00Z',
    })
  })

  it('stays one when its node agent says so, or when it ends', async () => {
    await start({ budget: budget({}), pods: [target('TerminationByKubelet')] })
    await harness.step(600_000)
    expect(condition()?.status).toBe('True')
    await harness.stop()
    const ending = target('EvictionByEvictionAPI')
    ending.metadata.deletionTimestamp = '2025-01-01T00:00:00Z'
    ending.metadata.finalizers = ['x.example.com/f']
    await start({ budget: budget({}), pods: [ending] })
    await harness.step(600_000)
    expect(condition()?.status).toBe('True')
  })
})
