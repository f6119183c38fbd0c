/** KubeSchedulerConfiguration: what a file means, and how its errors name the field. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { parseSchedulerConfiguration } from '../../../components/scheduler/configuration/kube-scheduler-configuration.ts'
import type { PluginSets } from '../../../components/scheduler/configuration/plugin-sets.ts'
import { createProfile } from '../../../components/scheduler/profile.ts'
import { Snapshot } from '../../../components/scheduler/snapshot.ts'
import { clusterWith, handleFor } from '../build.ts'

const head = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' }

function parse(fields: object) {
  return parseSchedulerConfiguration(JSON.stringify({ ...head, ...fields }), dialects.kubernetes)
}

describe('a file', () => {
  test('without any field has upstream defaults', () => {
    expect(parse({})).toMatchObject({
      parallelism: 16,
      leaderElection: {
        leaderElect: true,
        leaseDurationMs: 15_000,
        resourceName: 'kube-scheduler',
      },
      podInitialBackoffMs: 1000,
      podMaxBackoffMs: 10_000,
      extenders: [],
      profiles: [{ schedulerName: 'default-scheduler', percentageOfNodesToScore: 0 }],
    })
  })

  test('is YAML, too', () => {
    const text = `apiVersion: ${head.apiVersion}\nkind: ${head.kind}\nparallelism: 3\n`
    expect(parseSchedulerConfiguration(text, dialects.kubernetes).parallelism).toBe(3)
  })

  test('gives each profile its own percentage, or the common one', () => {
    const profiles = [{ schedulerName: 'a', percentageOfNodesToScore: 5 }, { schedulerName: 'b' }]
    const parsed = parse({ percentageOfNodesToScore: 30, profiles })
    expect(parsed.profiles.map(({ percentageOfNodesToScore: share }) => share)).toEqual([5, 30])
  })

  test('completes the arguments that it gives', () => {
    const pluginConfig = [
      { name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } },
      { name: 'InterPodAffinity', args: { hardPodAffinityWeight: 0 } },
      {
        name: 'DefaultPreemption',
        args: { ...head, kind: 'DefaultPreemptionArgs', minCandidateNodesPercentage: 20 },
      },
    ]
    const [profile] = parse({ profiles: [{ pluginConfig }] }).profiles
    expect(profile?.args).toMatchObject({
      NodeResourcesFit: {
        ignoredResources: [],
        scoringStrategy: {
          type: 'MostAllocated',
          resources: [
            { name: 'cpu', weight: 1 },
            { name: 'memory', weight: 1 },
          ],
        },
      },
      InterPodAffinity: { hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: false },
      DefaultPreemption: { minCandidateNodesPercentage: 20, minCandidateNodesAbsolute: 100 },
    })
  })

  test('warns of fields that have no effect', () => {
    expect(parse({ clientConnection: { qps: 50, burst: 100 } }).warnings).toEqual([
      'clientConnection.qps has no effect on this scheduler',
      'clientConnection.burst has no effect on this scheduler',
    ])
  })
})

const argumentsOf = (name: string, args: object) => ({
  profiles: [{ pluginConfig: [{ name, args }] }],
})
const at = 'profiles[0].pluginConfig[0].args'
const extender = (fields: object) => ({ extenders: [{ urlPrefix: 'https://x', ...fields }] })

const faults: [string, object, string][] = [
  [
    'another kind',
    { kind: 'Pod' },
    'no kind "Pod" is registered for version "kubescheduler.config.k8s.io/v1"',
  ],
  [
    'an older version',
    { apiVersion: 'kubescheduler.config.k8s.io/v1beta3' },
    'no kind "KubeSchedulerConfiguration" is registered',
  ],
  ['an unknown field', { paralelism: 1 }, 'strict decoding error: unknown field "paralelism"'],
  [
    'no parallelism',
    { parallelism: 0 },
    'parallelism: Invalid value: 0: should be an integer value greater than zero',
  ],
  [
    'a share above 100',
    { percentageOfNodesToScore: 101 },
    'percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]',
  ],
  [
    'no first back-off',
    { podInitialBackoffSeconds: 0 },
    'podInitialBackoffSeconds: Invalid value: 0: must be greater than 0',
  ],
  [
    'back-offs the wrong way round',
    { podInitialBackoffSeconds: 20 },
    'podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds',
  ],
  [
    'a burst below 0',
    { clientConnection: { burst: -1 } },
    'clientConnection.burst: Invalid value: -1: must be non-negative',
  ],
  [
    'another lock',
    { leaderElection: { resourceLock: 'endpoints' } },
    'leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"',
  ],
  [
    'a lease shorter than its renewal',
    { leaderElection: { leaseDuration: '5s' } },
    'leaderElection.leaseDuration: Invalid value: "5s": LeaseDuration must be greater than RenewDeadline',
  ],
  [
    'two profiles without names',
    { profiles: [{}, {}] },
    'profiles[0].schedulerName: Required value',
  ],
  [
    'two profiles of one name',
    { profiles: [{ schedulerName: 'a' }, { schedulerName: 'a' }] },
    'profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"',
  ],
  [
    'a plugin of former versions',
    { profiles: [{ plugins: { filter: { enabled: [{ name: 'EBSLimits' }] } } }] },
    'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version',
  ],
  [
    'queues that sort differently',
    {
      profiles: [
        { schedulerName: 'a' },
        { schedulerName: 'b', plugins: { queueSort: { disabled: [{ name: '*' }] } } },
      ],
    },
    'must be the same for all profiles',
  ],
  [
    'arguments twice',
    { profiles: [{ pluginConfig: [{ name: 'NodeAffinity' }, { name: 'NodeAffinity' }] }] },
    'profiles[0].pluginConfig[1]: Duplicate value: "NodeAffinity"',
  ],
  [
    'arguments of another kind',
    argumentsOf('NodeAffinity', { kind: 'InterPodAffinityArgs' }),
    'has to match plugin args',
  ],
  [
    'an unknown argument',
    argumentsOf('NodeAffinity', { added: {} }),
    `decoding profiles[0].pluginConfig[0].args: strict decoding error: unknown field "added"`,
  ],
  [
    'a weight above 100',
    argumentsOf('InterPodAffinity', { hardPodAffinityWeight: 101 }),
    `${at}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]`,
  ],
  [
    'no candidates at all',
    argumentsOf('DefaultPreemption', {
      minCandidateNodesPercentage: 0,
      minCandidateNodesAbsolute: 0,
    }),
    `${at}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute`,
  ],
  [
    'a strategy that does not exist',
    argumentsOf('NodeResourcesFit', { scoringStrategy: { type: 'Random' } }),
    `${at}.scoringStrategy.type: Unsupported value: "Random": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"`,
  ],
  [
    'a ratio without a shape',
    argumentsOf('NodeResourcesFit', { scoringStrategy: { type: 'RequestedToCapacityRatio' } }),
    `${at}.scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio`,
  ],
  [
    'a group with a slash',
    argumentsOf('NodeResourcesFit', { ignoredResourceGroups: ['a/b'] }),
    `${at}.ignoredResourceGroups[0]: Invalid value: "a/b": resource group name can't contain '/'`,
  ],
  [
    'a weight of balance',
    argumentsOf('NodeResourcesBalancedAllocation', { resources: [{ name: 'cpu', weight: 2 }] }),
    `${at}.resources[0].weight: Invalid value: 2: must be 1`,
  ],
  [
    'constraints beside the system ones',
    argumentsOf('PodTopologySpread', {
      defaultConstraints: [
        { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
    }),
    `${at}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty`,
  ],
  [
    'a constraint with a selector',
    argumentsOf('PodTopologySpread', {
      defaultingType: 'List',
      defaultConstraints: [
        { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} },
      ],
    }),
    `${at}.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod`,
  ],
  [
    'a timeout below 0',
    argumentsOf('VolumeBinding', { bindTimeoutSeconds: -1 }),
    `${at}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value`,
  ],
  [
    'an extender without a weight',
    extender({ prioritizeVerb: 'score' }),
    'extenders[0].weight: Invalid value: 0: must have a positive weight applied to it',
  ],
  [
    'two extenders that bind',
    {
      extenders: [
        { urlPrefix: 'https://x', bindVerb: 'b' },
        { urlPrefix: 'https://y', bindVerb: 'b' },
      ],
    },
    'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
  ],
  [
    'a managed resource that is not extended',
    extender({ managedResources: [{ name: 'cpu' }] }),
    'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
  ],
  [
    'a timeout that is no duration',
    extender({ httpTimeout: 'soon' }),
    'time: invalid duration "soon"',
  ],
]

describe('is refused in one line that names the field', () => {
  test.each(faults)('%s', (_title, fields, message) => {
    expect(() => parse(fields)).toThrow(message)
    expect(() => parse(fields)).not.toThrow('\n')
  })
})

describe('plugin sets', () => {
  const points = (plugins: PluginSets) => {
    const { profile } = clusterWith({ plugins })
    return {
      filters: profile.filters.map(({ name }) => name),
      scores: profile.scores.map(({ plugin, weight }) => `${plugin.name} ${weight}`),
    }
  }

  test('without any word are the default plugins in their default weights', () => {
    expect(points({})).toEqual({
      filters: expect.arrayContaining(['NodeUnschedulable', 'NodeName', 'TaintToleration']),
      scores: expect.arrayContaining([
        'TaintToleration 3',
        'NodeAffinity 2',
        'NodeResourcesFit 1',
        'PodTopologySpread 2',
        'InterPodAffinity 2',
        'NodeResourcesBalancedAllocation 1',
        'ImageLocality 1',
      ]),
    })
  })

  test('disable by name and add a weight at one point', () => {
    const { filters, scores } = points({
      filter: { disabled: [{ name: 'TaintToleration' }] },
      score: { enabled: [{ name: 'ImageLocality', weight: 9 }] },
    })
    expect(filters).not.toContain('TaintToleration')
    expect(scores[0]).toBe('ImageLocality 9')
    expect(scores).toContain('TaintToleration 3')
  })

  test('disable everything at a point with *, and enable one again', () => {
    const { filters, scores } = points({
      score: { disabled: [{ name: '*' }], enabled: [{ name: 'NodeAffinity' }] },
    })
    expect(scores).toEqual(['NodeAffinity 2'])
    expect(filters).toContain('NodeAffinity')
  })

  test('disable and weigh at every point with multiPoint', () => {
    const multiPoint = {
      disabled: [{ name: 'ImageLocality' }],
      enabled: [{ name: 'NodeResourcesFit', weight: 5 }],
    }
    expect(points({ multiPoint }).scores).toContain('NodeResourcesFit 5')
    expect(points({ multiPoint }).scores.join()).not.toContain('ImageLocality')
  })

  const bad: [PluginSets, string][] = [
    [{ filter: { enabled: [{ name: 'Nope' }] } }, 'plugin "Nope" does not exist'],
    [
      { bind: { enabled: [{ name: 'NodeName' }] } },
      'plugin "NodeName" does not extend bind plugin',
    ],
    [{ bind: { disabled: [{ name: '*' }] } }, 'at least one bind plugin is needed'],
    [{ queueSort: { disabled: [{ name: '*' }] } }, 'no queue sort plugin is enabled'],
  ]
  test.each(bad)('%j stop the start', (plugins, message) => {
    const settings = parse({ profiles: [{ schedulerName: 'mine', plugins }] }).profiles[0]
    if (settings === undefined) throw new Error('one profile')
    expect(() => createProfile(settings, handleFor(new Snapshot()))).toThrow(
      `creating profile for scheduler name mine: ${message}`,
    )
  })
})
