/** The flow control objects every cluster starts with, as release 1.32 has them (upstream: apiserver pkg/apis/flowcontrol/bootstrap). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import { apiGroup, type Dialect } from '../dialect.ts'

export interface FlowControlObjects {
  readonly levels: KubeObject[]
  readonly schemas: KubeObject[]
}

type Subject =
  | { readonly group: string }
  | { readonly user: string }
  /** A service account of the system's namespace; `*` is any. */
  | { readonly account: string }

interface Rule {
  readonly verbs: readonly string[]
  readonly group: string
  readonly resources: readonly string[]
  readonly clusterScope?: true
}

interface Schema {
  readonly name: string
  readonly level: string
  readonly precedence: number
  readonly by?: 'ByUser' | 'ByNamespace'
  readonly subjects: readonly Subject[]
  /** The requests it matches; absent: every one. */
  readonly rules?: readonly Rule[]
  /** The non-resource paths whose reads it matches. */
  readonly paths?: readonly string[]
}

const everybody = [{ group: 'system:unauthenticated' }, { group: 'system:authenticated' }]
const electing = { verbs: ['get', 'create', 'update'] } as const
const leases = { ...electing, group: 'coordination', resources: ['leases'] } as const
const manager = { user: 'system:kube-controller-manager' }
const scheduler = { user: 'system:kube-scheduler' }
const anyAccount = { account: '*' }

const mandatory: readonly Schema[] = [
  { name: 'exempt', level: 'exempt', precedence: 1, subjects: [{ group: 'system:masters' }] },
  {
    name: 'catch-all',
    level: 'catch-all',
    precedence: 10_000,
    by: 'ByUser',
    subjects: everybody,
  },
]

const electionSchemas: readonly Schema[] = [
  {
    name: 'probes',
    level: 'exempt',
    precedence: 2,
    subjects: everybody,
    rules: [],
    paths: ['/healthz', '/readyz', '/livez'],
  },
  {
    name: 'system-leader-election',
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    subjects: [manager, scheduler, anyAccount],
    rules: [leases],
  },
  {
    name: 'endpoint-controller',
    level: 'workload-high',
    precedence: 150,
    by: 'ByUser',
    subjects: [
      manager,
      { account: 'endpoint-controller' },
      { account: 'endpointslicemirroring-controller' },
    ],
    rules: [{ ...electing, group: '', resources: ['endpoints'] }],
  },
  {
    name: 'workload-leader-election',
    level: 'leader-election',
    precedence: 200,
    by: 'ByUser',
    subjects: [anyAccount],
    rules: [{ ...electing, group: '', resources: ['endpoints', 'configmaps'] }, leases],
  },
]

const nodeSchemas: readonly Schema[] = [
  {
    name: 'system-node-high',
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    subjects: [{ group: 'system:nodes' }],
    rules: [
      { verbs: ['*'], group: '', resources: ['nodes', 'nodes/status'], clusterScope: true },
      { verbs: ['*'], group: 'coordination', resources: ['leases'] },
    ],
  },
  {
    name: 'system-nodes',
    level: 'system',
    precedence: 500,
    by: 'ByUser',
    subjects: [{ group: 'system:nodes' }],
  },
]

const workloadSchemas = ({ systemNamespace }: Dialect): readonly Schema[] => [
  {
    name: 'kube-controller-manager',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    subjects: [manager],
  },
  {
    name: 'kube-scheduler',
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    subjects: [scheduler],
  },
  {
    name: `${systemNamespace}-service-accounts`,
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    subjects: [anyAccount],
  },
  {
    name: 'service-accounts',
    level: 'workload-low',
    precedence: 9000,
    by: 'ByUser',
    subjects: [{ group: 'system:serviceaccounts' }],
  },
  {
    name: 'global-default',
    level: 'global-default',
    precedence: 9900,
    by: 'ByUser',
    subjects: everybody,
  },
]

const suggestedSchemas = (dialect: Dialect): readonly Schema[] => [
  ...electionSchemas,
  ...nodeSchemas,
  ...workloadSchemas(dialect),
]

/** Shares, how much of them may be lent in percent, queues, and how many of them a flow may wait in. */
const suggestedLevels: readonly (readonly [
  name: string,
  shares: number,
  lendable: number,
  queues: number,
  hand: number,
])[] = [
  ['system', 30, 33, 64, 6],
  ['node-high', 40, 25, 64, 6],
  ['leader-election', 10, 0, 16, 4],
  ['workload-high', 40, 50, 128, 6],
  ['workload-low', 100, 90, 128, 6],
  ['global-default', 20, 50, 128, 6],
]
const queueLengthLimit = 50

function subjectOf(dialect: Dialect, subject: Subject): unknown {
  if ('group' in subject) return { kind: 'Group', group: { name: subject.group } }
  if ('user' in subject) return { kind: 'User', user: { name: subject.user } }
  const serviceAccount = { name: subject.account, namespace: dialect.systemNamespace }
  return { kind: 'ServiceAccount', serviceAccount }
}

/** The annotation by which an object's spec follows that of the release; an administrator who takes it over sets `false`. */
export function autoUpdateKey(dialect: Dialect): string {
  return `apf.${dialect.labelDomain}/autoupdate-spec`
}

function head(dialect: Dialect, kind: string, name: string): KubeObject {
  return {
    apiVersion: `${apiGroup(dialect, 'flowcontrol.apiserver')}/v1`,
    kind,
    metadata: { name, annotations: { [autoUpdateKey(dialect)]: 'true' } },
  }
}

function schemaObject(dialect: Dialect, schema: Schema): KubeObject {
  const { name, level, precedence, by, subjects, rules, paths } = schema
  const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true }
  const resourceRules = rules?.map(({ verbs, group, resources, clusterScope }) => ({
    verbs,
    apiGroups: [group === '' ? '' : apiGroup(dialect, group)],
    resources,
    ...(clusterScope === undefined ? {} : { clusterScope }),
    namespaces: ['*'],
  })) ?? [{ ...all, namespaces: ['*'] }]
  const pathRules =
    paths === undefined
      ? rules === undefined
        ? [{ verbs: ['*'], nonResourceURLs: ['*'] }]
        : []
      : [{ verbs: ['get'], nonResourceURLs: paths }]
  return {
    ...head(dialect, 'FlowSchema', name),
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
      rules: [
        {
          subjects: subjects.map((subject) => subjectOf(dialect, subject)),
          ...(resourceRules.length === 0 ? {} : { resourceRules }),
          ...(pathRules.length === 0 ? {} : { nonResourceRules: pathRules }),
        },
      ],
    },
  }
}

function levelObject(dialect: Dialect, name: string, spec: object): KubeObject {
  return { ...head(dialect, 'PriorityLevelConfiguration', name), spec }
}

/** Objects that always exist with this spec: the exemption of administrators, and the catch-all. */
export function mandatoryFlowControl(dialect: Dialect): FlowControlObjects {
  return {
    levels: [
      levelObject(dialect, 'exempt', {
        type: 'Exempt',
        exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 },
      }),
      levelObject(dialect, 'catch-all', {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 5,
          limitResponse: { type: 'Reject' },
          lendablePercent: 0,
        },
      }),
    ],
    schemas: mandatory.map((schema) => schemaObject(dialect, schema)),
  }
}

/** Objects that a new cluster gets besides, and that administrators may change. */
export function suggestedFlowControl(dialect: Dialect): FlowControlObjects {
  return {
    levels: suggestedLevels.map(([name, shares, lendablePercent, queues, handSize]) =>
      levelObject(dialect, name, {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: shares,
          limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit } },
          lendablePercent,
        },
      }),
    ),
    schemas: suggestedSchemas(dialect).map((schema) => schemaObject(dialect, schema)),
  }
}
