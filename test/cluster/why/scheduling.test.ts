/** What `skiff why pod` makes of the scheduler's answer: causes, nodes in groups, and the change that would let the pod run. */
import { describe, expect, it } from 'vitest'
import { pod as explainer } from '../../../cluster/why/kinds/pod.ts'
import type { Related, SchedulerAnswer } from '../../../cluster/why/related.ts'
import { schedulingAdvice } from '../../../cluster/why/scheduling-advice.ts'
import type { Node, Pod } from '../../../components/api/generated/types.ts'
import type { PodExplanation, RefusedNode } from '../../../components/api/pod-explanation.ts'
import { causesOf, condition, dialect, event, object, related, textOf } from './objects.ts'

const refused = (node: string, plugin: string, more: Partial<RefusedNode> = {}): RefusedNode => ({
  node,
  fits: false,
  plugin,
  reasons: [`${plugin} says no`],
  resolvable: false,
  ...more,
})
const short = (node: string, free: string): RefusedNode =>
  refused(node, 'NodeResourcesFit', {
    reasons: ['Insufficient cpu'],
    shortages: [{ resource: 'cpu', requested: '8', free }],
  })
const answered = (explanation: Partial<PodExplanation>): SchedulerAnswer => ({
  kind: 'answered',
  explanation: { schedulerName: 'default-scheduler', nodes: [], ...explanation },
})

const waiting = (spec: object = {}): Pod =>
  object('Pod', 'a', {
    spec: { containers: [{ name: 'app', image: 'app' }], ...spec },
    status: {
      phase: 'Pending',
      conditions: [condition('PodScheduled', 'False', { reason: 'Unschedulable', message: '0/3' })],
    },
  }) as Pod

const claimed = { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] }
const claim = object('PersistentVolumeClaim', 'data', {
  spec: { storageClassName: 'gold' },
  status: { phase: 'Pending' },
})

describe('a pod without a node', () => {
  it.each<
    [
      title: string,
      pod: Pod,
      found: Partial<Record<keyof Related, unknown>>,
      causes: string[],
      words: string[],
    ]
  >([
    [
      'has its nodes in groups, the largest first, with what is missing on them',
      waiting(),
      {
        scheduler: answered({
          nodes: [
            refused('t', 'TaintToleration'),
            short('s1', '2'),
            short('s2', '2'),
            short('s3', '2'),
          ],
        }),
        events: [event('Pod', 'a', 'FailedScheduling', '0/4 nodes are available')],
      },
      ['Unschedulable'],
      [
        'None of 4 nodes',
        '3 nodes (s1, s2, s3): NodeResourcesFit: Insufficient cpu (cpu: needs 8, 2 left)',
        '1 node (t): TaintToleration',
        '0/4 nodes are available',
      ],
    ],
    [
      'is told about the preemption that would make room',
      waiting(),
      {
        scheduler: answered({
          nodes: [short('s1', '0')],
          preemption: { node: 's1', victims: ['shop/low'] },
        }),
      },
      ['Unschedulable'],
      ['Preemption would evict shop/low from s1', 'wait: preemption of shop/low'],
    ],
    [
      'that fits now has the scores, the best node first',
      waiting(),
      {
        scheduler: answered({
          chosen: 'b',
          nodes: [
            {
              node: 'a',
              fits: true,
              total: 30,
              scores: [{ plugin: 'ImageLocality', score: 30, weight: 1 }],
            },
            {
              node: 'b',
              fits: true,
              total: 90,
              scores: [{ plugin: 'TaintToleration', score: 30, weight: 3 }],
            },
          ],
        }),
      },
      ['NotTriedAgain'],
      ['fits on b now', 'b fits, with a score of 90: TaintToleration 30 x 3'],
    ],
    [
      'waits for its gates',
      waiting({ schedulingGates: [{ name: 'example.com/wait' }] }),
      { scheduler: answered({ gatedBy: { plugin: 'SchedulingGates', reasons: ['gates'] } }) },
      ['SchedulingGated'],
      ['example.com/wait'],
    ],
    [
      'is not said to have gates when it waits for its resource claims',
      waiting(),
      {
        scheduler: answered({
          gatedBy: { plugin: 'DynamicResources', reasons: ['resourceclaim "gpu" not found'] },
        }),
      },
      ['NotQueued'],
      ['DynamicResources: resourceclaim "gpu" not found', 'kubectl get resourceclaims -n shop'],
    ],
    [
      'is for a scheduler that does not exist',
      waiting({ schedulerName: 'mine' }),
      { scheduler: answered({ schedulerName: 'mine', profiles: ['default-scheduler'] }) },
      ['UnknownScheduler'],
      ['"mine"', 'schedulerName: default-scheduler'],
    ],
    [
      'is told that the scheduler does not run',
      waiting(),
      { scheduler: { kind: 'silent', why: 'it is stopped' } },
      ['SchedulerNotRunning'],
      ['it is stopped', 'skiff restart scheduler'],
    ],
    [
      'names a claim that does not exist, and nothing that follows from it',
      waiting(claimed),
      { scheduler: answered({ nodes: [refused('a', 'VolumeBinding')] }) },
      ['MissingClaim'],
      ['PersistentVolumeClaim data, which does not exist'],
    ],
    [
      'waits for the claim of its ephemeral volume, which its user does not create',
      waiting({ volumes: [{ name: 'd', ephemeral: {} }] }),
      {
        scheduler: answered({ nodes: [refused('a', 'VolumeBinding')] }),
        events: [event('Pod', 'a', 'FailedBinding', 'exceeded quota: few')],
      },
      ['MissingClaim'],
      ['The PersistentVolumeClaim a-d for an ephemeral volume', 'correct what the event names'],
    ],
    [
      'with an unbound claim and a node that is too small has both causes',
      waiting(claimed),
      { scheduler: answered({ nodes: [short('a', '1')] }), persistentVolumeClaims: [claim] },
      ['UnboundClaim', 'Unschedulable'],
      ['StorageClass gold does not exist', 'request at most 1 of cpu'],
    ],
    [
      'does not wait for a claim that waits for the pod',
      waiting(claimed),
      {
        scheduler: answered({ nodes: [short('a', '1')] }),
        persistentVolumeClaims: [claim],
        storageClasses: [
          object('StorageClass', 'gold', {
            provisioner: 'x',
            volumeBindingMode: 'WaitForFirstConsumer',
          }),
        ],
      },
      ['Unschedulable'],
      [],
    ],
    [
      'has no unbound claim because a bound one does not grow',
      waiting(claimed),
      {
        scheduler: answered({ nodes: [short('a', '1')] }),
        persistentVolumeClaims: [
          object('PersistentVolumeClaim', 'data', {
            spec: { resources: { requests: { storage: '4Gi' } } },
            status: { phase: 'Bound', capacity: { storage: '2Gi' } },
          }),
        ],
      },
      ['Unschedulable'],
      [],
    ],
    [
      'does not miss claims that could not be read',
      waiting(claimed),
      {
        scheduler: answered({ nodes: [short('a', '1')] }),
        incomplete: new Set(['persistentVolumeClaims']),
      },
      ['Unschedulable'],
      [],
    ],
    ['without an answer is explained by its condition', waiting(), {}, ['Unschedulable'], ['0/3']],
    [
      'of which no scheduler said anything is said to be so',
      object('Pod', 'a', { spec: {}, status: { phase: 'Pending' } }) as Pod,
      { scheduler: { kind: 'not-waiting' } },
      ['NotYetScheduled'],
      ['has not reported anything'],
    ],
  ])('%s', (_, pod, found, causes, words) => {
    const findings = explainer.explain(pod, related(found))
    expect(causesOf(findings)).toEqual(causes)
    const text = textOf(findings)
    for (const word of words) expect(text).toContain(word)
    for (const { evidence, next } of findings)
      expect(evidence.length * next.length).toBeGreaterThan(0)
  })
})

describe('the change that would let a pod run', () => {
  const nodes = [
    object('Node', 'a', {
      metadata: { labels: { zone: 'x' } },
      spec: { taints: [{ key: 'dedicated', value: 'db', effect: 'NoSchedule' }] },
    }),
    object('Node', 'lost', {
      spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
    }),
  ] as readonly Node[]
  const advice = (refusals: readonly RefusedNode[], spec: object = {}) =>
    schedulingAdvice(waiting(spec), { schedulerName: 's', nodes: refusals }, { nodes, dialect })

  it('is sought where the fewest plugins refuse, and names the largest room there', () => {
    const both = { others: [{ plugin: 'TaintToleration', reasons: [] }] }
    expect(
      advice([{ ...short('big', '6'), ...both }, short('small', '1'), short('mid', '4')]),
    ).toEqual([
      'request at most 4 of cpu instead of 8 (mid has the most left), or delete pods, or add a node that large',
      expect.stringMatching(/^request at most 6 of cpu .*; and let the pod tolerate the taint/),
    ])
  })

  it('takes nodes in the order of their names, whatever order the scheduler met them in', () => {
    const [text = ''] = advice([short('node-10', '2'), short('node-2', '2')])
    expect(text).toContain('(node-2 has the most left)')
  })

  it('names the labels that a node lacks, and the taint to tolerate', () => {
    expect(
      advice([refused('a', 'NodeAffinity')], { nodeSelector: { zone: 'x', disk: 'ssd' } }),
    ).toEqual(['give a node the labels: kubectl label node a disk=ssd'])
    expect(advice([refused('a', 'TaintToleration')])).toEqual([
      'let the pod tolerate the taint (dedicated=db:NoSchedule), or remove it: kubectl taint node a dedicated-',
    ])
    expect(advice([refused('a', 'NodeUnschedulable')])).toEqual([
      'uncordon the node: kubectl uncordon a',
    ])
    expect(advice([refused('a', 'DynamicResources')])).toEqual([
      'free devices, or publish more of them: kubectl get resourceclaims,resourceslices -A',
    ])
  })

  it('leads to the node whose own condition is the taint, and to the claim of the pod', () => {
    expect(advice([refused('lost', 'TaintToleration')])).toEqual([
      'see why the node has the taint (node.kubernetes.io/not-ready:NoSchedule): skiff why node lost',
    ])
    const [text = ''] = advice([refused('a', 'VolumeBinding')], claimed)
    expect(text).toContain('skiff why pvc data -n shop')
  })

  it('is a node when there is none, and names a plugin that nothing is known of', () => {
    expect(advice([])).toEqual(['add a node: skiff node add NAME'])
    expect(advice([refused('a', 'Custom')])).toEqual(['change what Custom checks'])
  })
})
