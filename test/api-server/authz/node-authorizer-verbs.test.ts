/** The Node authorizer verb by verb: which ones a node has on each kind, and the reason for those that it has not. */
import { expect, test } from 'vitest'
import { NodeGraph } from '../../../components/api-server/authz/node-graph.ts'
import { nodeAuthorizer } from '../../../components/api-server/authz/node-authorizer.ts'
import type { AuthorizationAttributes } from '../../../components/api-server/request/request.ts'
import { nodeRules } from '../../../components/api/bootstrap-policy/policy-objects.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { attributes, nodeUser } from './attributes.ts'

const dialect = dialects.kubernetes
const resources = resourcesOf(dialect)
const reader = new FakeReader()
reader.put(resources.pods, {
  metadata: { namespace: 'a', name: 'p' },
  spec: {
    nodeName: 'n1',
    serviceAccountName: 'bot',
    containers: [],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'claim' } }],
    resourceClaims: [{ name: 'r', resourceClaimName: 'device' }],
  },
})
for (const [name, nodeName] of [
  ['own', 'n1'],
  ['other', 'n2'],
] as const) {
  reader.put(resources.resourceSlices, { metadata: { name }, spec: { nodeName } })
  reader.put(resources.volumeAttachments, { metadata: { name }, spec: { nodeName } })
}

const subject = nodeAuthorizer({
  graph: new NodeGraph(reader, dialect),
  reader,
  dialect,
  rules: nodeRules(dialect),
})
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
type Asked = Partial<AuthorizationAttributes>

/** `allowed`, or the reason why not; of each verb. */
function outcomes(asked: Asked): Record<string, string> {
  return Object.fromEntries(
    verbs.map((verb) => {
      const decision = subject.authorize(attributes({ user: nodeUser('n1'), ...asked, verb }))
      const { decision: made, reason } = decision as { decision: string; reason: string }
      return [verb, made === 'allow' ? `allowed${reason}` : `${made}: ${reason}`]
    }),
  )
}
/** The same for all verbs but those named. */
function expected(rest: string, but: Record<string, string> = {}): Record<string, string> {
  const no = (text: string): string => (text === 'allowed' ? text : `no-opinion: ${text}`)
  const named = new Map(
    Object.entries(but).flatMap(([names, text]) => names.split(' ').map((one) => [one, no(text)])),
  )
  return Object.fromEntries(verbs.map((verb) => [verb, named.get(verb) ?? no(rest)]))
}

const unrelated = "no relationship found between node 'n1' and this object"
const noName = 'No Object name found'
const onlyGet = 'can only get individual resources of this type'
const onlyTokens = 'can only create tokens for individual service accounts'
const onlyClaim = 'can only get/update/patch this type'
const ownNode = "node 'n1' cannot read 'n2', only its own Node object"
const allNodes = "node 'n1' cannot read all nodes, only its own Node object"
const ownPods = 'can only list/watch pods with spec.nodeName field selector'
const leaseVerbs = 'can only get, create, update, patch, or delete a node lease'
const leaseName = 'can only access node lease with the same name as the requesting node'
const leaseSpace = 'can only access leases in the "kube-node-lease" system namespace'
const driverVerbs = 'can only get, create, update, patch, or delete a CSINode'
const driverName = 'can only access CSINode with the same name as the requesting node'
const sliceSelector =
  'can only list/watch/deletecollection resourceslices with nodeName field selector'
const selecting = (operator: string, ...values: string[]) => ({
  fieldSelector: [{ key: 'spec.nodeName', operator, values }],
})
const own = 'get create update patch delete'

const claim = { resource: 'persistentvolumeclaims', namespace: 'a', name: 'claim' }
const device = {
  group: 'resource.k8s.io',
  resource: 'resourceclaims',
  namespace: 'a',
  name: 'device',
}
const attachment = { group: 'storage.k8s.io', resource: 'volumeattachments' }
const slice = { group: 'resource.k8s.io', resource: 'resourceslices' }
const account = { resource: 'serviceaccounts', namespace: 'a', name: 'bot' }
const lease = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease' }
const csiNode = { group: 'storage.k8s.io', resource: 'csinodes' }
const pod = { resource: 'pods', namespace: 'a', name: 'p' }

const cases: [title: string, asked: Asked, wanted: Record<string, string>][] = [
  ['a claim of its pods', claim, expected(onlyGet, { get: 'allowed' })],
  [
    'the status of it',
    { ...claim, subresource: 'status' },
    expected(onlyClaim, { 'update patch': 'allowed' }),
  ],
  [
    'another sub-resource of it',
    { ...claim, subresource: 'x' },
    expected(onlyGet, { get: 'cannot get subresource' }),
  ],
  ['a claim without a name', { ...claim, name: '' }, expected(onlyGet, { get: noName })],
  ['a claim of no pod', { ...claim, name: 'x' }, expected(onlyGet, { get: unrelated })],
  ['a device of its pods', device, expected(onlyGet, { get: 'allowed' })],
  ['its attachment', { ...attachment, name: 'own' }, expected(onlyGet, { get: 'allowed' })],
  ["another's attachment", { ...attachment, name: 'other' }, expected(onlyGet, { get: unrelated })],
  ['no attachment', { ...attachment, name: 'none' }, expected(onlyGet, { get: unrelated })],
  [
    'its slice',
    { ...slice, name: 'own' },
    expected('allowed', { 'list watch deletecollection': sliceSelector }),
  ],
  [
    "another's slice",
    { ...slice, name: 'other' },
    expected(unrelated, { create: 'allowed', 'list watch deletecollection': sliceSelector }),
  ],
  [
    'no slice',
    { ...slice, name: 'none' },
    expected(unrelated, { create: 'allowed', 'list watch deletecollection': sliceSelector }),
  ],
  [
    'slices selected by node',
    { ...slice, name: 'own', ...selecting('=', 'n1') },
    expected('allowed'),
  ],
  [
    'a sub-resource of its slice',
    { ...slice, name: 'own', subresource: 'x' },
    expected('cannot authorize ResourceSlice subresources'),
  ],
  [
    'tokens of an account of its pods',
    { ...account, subresource: 'token' },
    expected(onlyTokens, { create: 'allowed' }),
  ],
  ['tokens of no account', { ...account, name: '', subresource: 'token' }, expected(onlyTokens)],
  [
    'tokens of another account',
    { ...account, name: 'x', subresource: 'token' },
    expected(onlyTokens, { create: unrelated }),
  ],
  [
    'an account',
    account,
    expected(onlyTokens, { create: 'can only create token subresource of serviceaccount' }),
  ],
  ['its lease', { ...lease, name: 'n1' }, expected(leaseVerbs, { [own]: 'allowed' })],
  [
    "another's lease",
    { ...lease, name: 'n2' },
    expected(leaseVerbs, { [own]: leaseName, create: 'allowed' }),
  ],
  [
    'its lease elsewhere',
    { ...lease, namespace: 'a', name: 'n1' },
    expected(leaseVerbs, { [own]: leaseSpace }),
  ],
  ['its CSINode', { ...csiNode, name: 'n1' }, expected(driverVerbs, { [own]: 'allowed' })],
  [
    "another's CSINode",
    { ...csiNode, name: 'n2' },
    expected(driverVerbs, { [own]: driverName, create: 'allowed' }),
  ],
  [
    'a sub-resource of its CSINode',
    { ...csiNode, name: 'n1', subresource: 'x' },
    expected(driverVerbs, { [own]: 'cannot authorize CSINode subresources' }),
  ],
  [
    'its Node',
    { resource: 'nodes', name: 'n1' },
    expected('', { 'get list watch create update patch': 'allowed' }),
  ],
  [
    "another's Node",
    { resource: 'nodes', name: 'n2' },
    expected('', { 'get list watch': ownNode, 'create update patch': 'allowed' }),
  ],
  [
    'all Nodes',
    { resource: 'nodes' },
    expected('', { 'get list watch': allNodes, 'create update patch': 'allowed' }),
  ],
  [
    'the status of a Node',
    { resource: 'nodes', name: 'n2', subresource: 'status' },
    expected('', { 'update patch': 'allowed' }),
  ],
  ['the proxy of a Node', { resource: 'nodes', name: 'n1', subresource: 'proxy' }, expected('')],
  ['its pod', pod, expected('', { 'get list watch create delete': 'allowed' })],
  [
    'no pod of its own',
    { ...pod, name: 'x' },
    expected('', { 'get list watch': unrelated, 'create delete': 'allowed' }),
  ],
  [
    'the status of a pod',
    { ...pod, subresource: 'status' },
    expected('', { 'update patch': 'allowed' }),
  ],
  [
    'the eviction of a pod',
    { ...pod, subresource: 'eviction' },
    expected('', { create: 'allowed' }),
  ],
  ['the log of its pod', { ...pod, subresource: 'log' }, expected('')],
  ...(['=', '==', 'In'] as const).map((operator): [string, Asked, Record<string, string>] => [
    `pods selected by ${operator}`,
    { resource: 'pods', ...selecting(operator, 'n1') },
    expected('', { get: noName, 'list watch create delete': 'allowed' }),
  ]),
  ...(
    [
      ['pods selected by another node', selecting('=', 'n2')],
      ['pods selected by two nodes', selecting('In', 'n1', 'n2')],
      ['pods selected by all but the node', selecting('!=', 'n1')],
      ['pods that are not selected', {}],
    ] as const
  ).map(([title, selector]): [string, Asked, Record<string, string>] => [
    title,
    { resource: 'pods', ...selector },
    expected('', { get: noName, 'list watch': ownPods, 'create delete': 'allowed' }),
  ]),
]

test.each(cases)('%s', (_, asked, wanted) => {
  expect(outcomes(asked)).toEqual(wanted)
})

test('it has a name, knows no nameless node, and lists no rules', () => {
  expect(subject.name).toBe('Node')
  const nameless = attributes({ user: nodeUser(''), resource: 'nodes', verb: 'list' })
  expect(subject.authorize(nameless)).toEqual({
    decision: 'no-opinion',
    reason: 'unknown node for user "system:node:"',
  })
  const none = { resourceRules: [], nonResourceRules: [] }
  expect(subject.rulesFor?.(nodeUser('n1'), 'a')).toEqual({
    ...none,
    incomplete: true,
    errors: ['node authorizer does not support user rule resolution'],
  })
  expect(subject.rulesFor?.({ name: 'jane', groups: [] }, 'a')).toEqual({
    ...none,
    incomplete: false,
    errors: [],
  })
})
