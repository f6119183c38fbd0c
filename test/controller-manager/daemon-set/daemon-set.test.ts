import { afterEach, describe, expect, it } from 'vitest'
import type { DaemonSetSpec } from '../../../components/api/generated/types.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { startDaemon } from '../../support/daemon-story.ts'
import type { DaemonStory } from '../../support/daemon-story.ts'
import { daemonSet, template } from '../../support/workloads.ts'

let story: DaemonStory
afterEach(() => story.harness.stop())

async function started(...from: Parameters<typeof startDaemon>): Promise<DaemonStory> {
  story = await startDaemon(...from)
  return story
}

const surging = {
  type: 'RollingUpdate',
  rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
}

describe('placement', () => {
  it('puts a pod on every node, bound to it by its name', async () => {
    await started(daemonSet('log'))
    expect(story.shown()).toEqual(['n1 log:1 waits', 'n2 log:1 waits', 'n3 log:1 waits'])
    const [pod] = story.pods()
    const [revision] = story.revisions()
    const hash = revision?.metadata.labels?.['controller-revision-hash']
    expect(
      pod?.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
    ).toEqual({
      nodeSelectorTerms: [
        { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] },
      ],
    })
    expect(pod?.metadata.labels).toEqual({
      app: 'log',
      'controller-revision-hash': hash,
      'pod-template-generation': '1',
    })
    expect(revision?.metadata.name).toBe(`log-${hash}`)
    expect(pod?.spec?.tolerations?.map(({ key, effect }) => `${key} ${effect}`)).toEqual([
      'node.kubernetes.io/not-ready NoExecute',
      'node.kubernetes.io/unreachable NoExecute',
      'node.kubernetes.io/disk-pressure NoSchedule',
      'node.kubernetes.io/memory-pressure NoSchedule',
      'node.kubernetes.io/pid-pressure NoSchedule',
      'node.kubernetes.io/unschedulable NoSchedule',
    ])
    expect(story.harness.events[0]).toBe(
      `Normal SuccessfulCreate DaemonSet default/log: Created pod: ${pod?.metadata.name}`,
    )
    expect(story.harness.complaints).toEqual([])
  })

  it('counts nodes and pods in its status', async () => {
    await started(daemonSet('log'))
    await story.ready({ limit: 2 })
    expect(story.set().status).toEqual({
      currentNumberScheduled: 3,
      desiredNumberScheduled: 3,
      numberMisscheduled: 0,
      numberReady: 2,
      numberAvailable: 2,
      numberUnavailable: 1,
      observedGeneration: 1,
      updatedNumberScheduled: 3,
    })
  })

  const withSpec = (spec: object): Partial<DaemonSetSpec> => {
    const made = template('log')
    return { template: { ...made, spec: { containers: [], ...made.spec, ...spec } } }
  }
  const required = (terms: unknown[]): object => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
      },
    },
  })
  it.each([
    { what: 'a nodeSelector', spec: { nodeSelector: { disk: 'ssd' } }, nodes: ['ssd'] },
    {
      what: 'node affinity by label',
      spec: required([{ matchExpressions: [{ key: 'disk', operator: 'NotIn', values: ['ssd'] }] }]),
      nodes: ['n1', 'tainted', 'unready'].filter((name) => name !== 'tainted'),
    },
    {
      what: 'node affinity by name',
      spec: required([{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }]),
      nodes: ['n1'],
    },
    { what: 'a node name', spec: { nodeName: 'ssd' }, nodes: ['ssd'] },
    {
      what: 'a toleration',
      spec: { tolerations: [{ key: 'dedicated', operator: 'Exists' }] },
      nodes: ['n1', 'ssd', 'tainted', 'unready'],
    },
    { what: 'nothing', spec: {}, nodes: ['n1', 'ssd', 'unready'] },
  ])('with $what takes the nodes $nodes', async ({ spec, nodes }) => {
    await started(daemonSet('log', withSpec(spec)), {
      nodes: 1,
      before: ({ cluster, resources }) => {
        cluster.seed(resources.nodes, { metadata: { name: 'ssd', labels: { disk: 'ssd' } } })
        cluster.seed(resources.nodes, {
          metadata: { name: 'tainted' },
          spec: { taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }] },
        })
        cluster.seed(resources.nodes, {
          metadata: { name: 'unready' },
          spec: {
            unschedulable: true,
            taints: [
              { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
              { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
            ],
          },
        })
      },
    })
    expect(story.shown().map((line) => line.split(' ')[0])).toEqual(nodes)
    expect(story.set().status?.desiredNumberScheduled).toBe(nodes.length)
  })

  it('follows nodes that come, change their labels and taints, and go', async () => {
    await started(daemonSet('log'), { nodes: 1 })
    await story.addNode('n2')
    expect(story.shown()).toHaveLength(2)
    await story.taint('n2', { key: 'x', effect: 'NoSchedule' })
    expect(story.shown()).toHaveLength(2)
    expect(story.set().status).toMatchObject({ desiredNumberScheduled: 1, numberMisscheduled: 1 })
    await story.taint('n2', { key: 'x', effect: 'NoExecute' })
    expect(story.shown()).toEqual(['n1 log:1 waits'])
    await story.taint('n2')
    expect(story.shown()).toHaveLength(2)
    // The pod was never scheduled, so the DaemonSet controller alone deletes it.
    story.cluster.remove(story.harness.resources.nodes, 'n2')
    await story.harness.step(1000)
    expect(story.shown()).toEqual(['n1 log:1 waits'])
  })

  it('does not look at nodes whose heartbeat alone changed', async () => {
    await started(daemonSet('log'))
    await story.stabilize()
    const { calls } = story.cluster
    const before = calls.length
    for (let beat = 1; beat <= 5; beat += 1) {
      story.cluster.change(story.harness.resources.nodes, 'n1', (node) => {
        node['status'] = { conditions: [{ type: 'Ready', status: 'True', message: String(beat) }] }
      })
      await story.harness.step(10_000)
    }
    expect(calls.slice(before)).toEqual([])
  })

  it('makes at most 250 pods before it has seen them', async () => {
    let isBlind = true
    await started(daemonSet('log'), {
      nodes: 260,
      before: ({ cluster }) => {
        cluster.react('watch', 'pods', () => {
          if (isBlind) throw new StatusError('ServiceUnavailable', 'not now')
        })
      },
    })
    expect(story.pods()).toHaveLength(250)
    isBlind = false
    await story.harness.step(60_000)
    expect(story.pods()).toHaveLength(260)
  })

  it('replaces a failed pod, after a longer wait each time', async () => {
    await started(daemonSet('log'), { nodes: 1 })
    const fail = async (): Promise<void> => {
      const [pod] = story.pods()
      story.cluster.change(
        story.harness.resources.pods,
        `default/${pod?.metadata.name}`,
        (object) => {
          object['status'] = { phase: 'Failed' }
        },
      )
      await story.harness.step(10)
    }
    const uids = new Set([story.pods()[0]?.metadata.uid])
    const [first] = story.pods()
    await fail()
    uids.add(story.pods()[0]?.metadata.uid)
    expect(uids.size).toBe(2)
    expect(story.harness.events).toContain(
      `Warning FailedDaemonPod DaemonSet default/log: Found failed daemon pod default/${first?.metadata.name} on node n1, will try to kill it`,
    )
    for (const waitMs of [1000, 2000, 4000]) {
      await fail()
      await story.harness.step(waitMs - 400)
      expect(uids.has(story.pods()[0]?.metadata.uid)).toBe(true)
      await story.harness.step(400)
      expect(uids.has(story.pods()[0]?.metadata.uid)).toBe(false)
      uids.add(story.pods()[0]?.metadata.uid)
    }
  })

  it('replaces a finished pod at once', async () => {
    await started(daemonSet('log'), { nodes: 1 })
    const [pod] = story.pods()
    story.cluster.change(
      story.harness.resources.pods,
      `default/${pod?.metadata.name}`,
      (object) => {
        object['status'] = { phase: 'Succeeded' }
      },
    )
    await story.harness.step(1000)
    expect(story.pods()).toHaveLength(1)
    expect(story.pods()[0]?.metadata.uid).not.toBe(pod?.metadata.uid)
    expect(story.harness.events).toContain(
      `Normal SucceededDaemonPod DaemonSet default/log: Found succeeded daemon pod default/${pod?.metadata.name} on node n1, will try to delete it`,
    )
  })
})

describe('a rolling update', () => {
  it('takes as many pods as may be unavailable, and broken ones first', async () => {
    await started(daemonSet('log'))
    await story.stabilize()
    await story.image(2)
    const old = () => story.shown().filter((line) => line.includes('log:1 ready')).length
    expect(old()).toBe(2)
    expect(story.set().status).toMatchObject({ updatedNumberScheduled: 1, numberUnavailable: 1 })
    await story.harness.step(60_000)
    expect(old()).toBe(2)
    await story.stabilize()
    expect(story.shown()).toEqual(['n1 log:2 ready', 'n2 log:2 ready', 'n3 log:2 ready'])
    expect(story.set().status).toMatchObject({ updatedNumberScheduled: 3, numberAvailable: 3 })
  })

  it.each([
    { maxUnavailable: 2, first: 2 },
    { maxUnavailable: '50%', first: 2 },
    { maxUnavailable: '100%', first: 4 },
    { maxUnavailable: '1%', first: 1 },
  ])('with maxUnavailable $maxUnavailable replaces $first of four at once', async (given) => {
    const { maxUnavailable, first } = given
    const rollingUpdate = { maxSurge: 0, maxUnavailable }
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate }
    await started(daemonSet('log', { updateStrategy }), { nodes: 4 })
    await story.stabilize()
    await story.image(2)
    expect(story.shown().filter((line) => line.includes('log:2'))).toHaveLength(first)
  })

  it('with maxSurge starts the new pod beside the old one, which goes when the new one is available', async () => {
    await started(daemonSet('log', { updateStrategy: surging, minReadySeconds: 10 }))
    await story.stabilize()
    await story.harness.step(10_000)
    await story.image(2)
    expect(story.shown()).toHaveLength(4)
    expect(story.shown().filter((line) => line.includes('log:2'))).toHaveLength(1)
    await story.ready()
    expect(story.shown()).toHaveLength(4)
    await story.harness.step(10_000)
    expect(story.shown().filter((line) => line.includes('log:1'))).toHaveLength(2)
    for (let round = 0; round < 4; round += 1) {
      await story.ready()
      await story.harness.step(11_000)
    }
    expect(story.shown()).toEqual(['n1 log:2 ready', 'n2 log:2 ready', 'n3 log:2 ready'])
  })

  it('takes up a template that changes in the middle', async () => {
    await started(daemonSet('log'))
    await story.stabilize()
    await story.image(666)
    await story.image(3)
    await story.stabilize({ broken: ['log:666'] })
    expect(story.shown()).toEqual(['n1 log:3 ready', 'n2 log:3 ready', 'n3 log:3 ready'])
  })

  it('waits for the user with OnDelete', async () => {
    await started(daemonSet('log', { updateStrategy: { type: 'OnDelete' } }))
    await story.stabilize()
    await story.image(2)
    expect(story.shown()).toEqual(['n1 log:1 ready', 'n2 log:1 ready', 'n3 log:1 ready'])
    const name = story.pods()[1]?.metadata.name
    story.cluster.remove(story.harness.resources.pods, `default/${name}`)
    await story.harness.step(1000)
    expect(story.shown()[1]).toBe('n2 log:2 waits')
  })
})

describe('revisions', () => {
  it('are kept up to the limit, and a rollback uses one again under a new number', async () => {
    await started(daemonSet('log', { revisionHistoryLimit: 2 }), { nodes: 1 })
    for (const version of [2, 3, 4, 5]) {
      await story.image(version)
      await story.stabilize()
    }
    const numbers = () =>
      story
        .revisions()
        .map(({ revision }) => revision)
        .toSorted((a, b) => a - b)
    expect(numbers()).toEqual([3, 4, 5])
    await story.image(3)
    await story.stabilize()
    expect(numbers()).toEqual([4, 5, 6])
    const [pod] = story.pods()
    const newest = story.revisions().find(({ revision }) => revision === 6)
    const hash = newest?.metadata.labels?.['controller-revision-hash']
    expect(pod?.metadata.labels?.['controller-revision-hash']).toBe(hash)
  })

  it('of one template become one, and pods follow it', async () => {
    await started(daemonSet('log'), { nodes: 1 })
    await story.stabilize()
    const { controllerRevisions } = story.harness.resources
    const [known] = story.revisions()
    const copy = structuredClone(known) as NonNullable<typeof known>
    copy.metadata = {
      name: 'log-copy',
      namespace: 'default',
      labels: { ...copy.metadata.labels, 'controller-revision-hash': 'copy' },
      ownerReferences: copy.metadata.ownerReferences ?? [],
    }
    story.cluster.seed(controllerRevisions, { ...copy, revision: 9 } as never)
    await story.harness.step(1000)
    expect(story.revisions().map(({ metadata }) => metadata.name)).toEqual(['log-copy'])
    expect(story.pods()[0]?.metadata.labels?.['controller-revision-hash']).toBe('copy')
    expect(story.shown()).toEqual(['n1 log:1 ready'])
  })
})
