/** What `skiff why` finds about nodes, certificate requests, API priority and any other kind. */
import { expect, it } from 'vitest'
import { anyObject } from '../../../cluster/why/kinds/any-object.ts'
import { certificateSigningRequest as csrExplainer } from '../../../cluster/why/kinds/certificate-signing-request.ts'
import { flowSchema, priorityLevelConfiguration } from '../../../cluster/why/kinds/flow-control.ts'
import { node } from '../../../cluster/why/kinds/node.ts'
import { itExplains } from './cases.ts'
import { condition, event, object, podWith, related } from './objects.ts'

const csr = (signerName: string, status: object = {}) =>
  object('CertificateSigningRequest', 'ann', {
    metadata: { namespace: undefined },
    spec: { request: '', signerName, username: 'ann' },
    status,
  })
const own = 'kubernetes.io/kube-apiserver-client'
const flow = (rules: readonly object[]) =>
  object('FlowSchema', 'mine', {
    spec: { priorityLevelConfiguration: { name: 'gold' }, matchingPrecedence: 500, rules },
    status: { conditions: [condition('Dangling', 'False', { reason: 'Found' })] },
  })
const level = object('PriorityLevelConfiguration', 'gold', {
  spec: { type: 'Limited', limited: { nominalConcurrencyShares: 10 } },
})
itExplains([
  [
    'a certificate request without an answer waits for approval',
    csrExplainer,
    csr(own),
    {},
    ['NotApproved'],
    [`user ann asks the signer ${own}`, 'kubectl certificate approve ann'],
  ],
  [
    'an approved request of a signer of the cluster leads to the controller manager',
    csrExplainer,
    csr(own, { conditions: [condition('Approved', 'True')] }),
    {},
    ['NotSigned'],
    ['skiff status'],
  ],
  [
    'an approved request of another signer leads to its controller',
    csrExplainer,
    csr('example.com/web', { conditions: [condition('Approved', 'True')] }),
    {},
    ['NotSigned'],
    ['controller of the signer example.com/web runs'],
    ['skiff status'],
  ],
  [
    'a denied request stays denied',
    csrExplainer,
    csr(own, {
      conditions: [condition('Denied', 'True', { reason: 'Stranger', message: 'who?' })],
    }),
    {},
    ['Stranger'],
    ['The request was denied: who?', 'create a new request'],
  ],
  [
    'a request that its signer refused has the message of the signer',
    csrExplainer,
    csr(own, {
      conditions: [
        condition('Approved', 'True'),
        condition('Failed', 'True', { reason: 'SignerValidationFailure', message: 'bad usages' }),
      ],
    }),
    {},
    ['SignerValidationFailure'],
    ['The signer refused the request: bad usages.'],
  ],
  [
    'a request with its certificate is fine',
    csrExplainer,
    csr(own, { certificate: 'eA==', conditions: [condition('Approved', 'True')] }),
    {},
    [],
    [],
  ],
  [
    'a FlowSchema whose priority level exists is fine',
    flowSchema,
    flow([{ subjects: [] }]),
    { priorityLevelConfigurations: [level] },
    [],
    [],
  ],
  [
    'a FlowSchema without its priority level matches nothing',
    flowSchema,
    flow([{ subjects: [] }]),
    {},
    ['Dangling'],
    ['PriorityLevelConfiguration gold, which does not exist'],
  ],
  [
    'a priority level that could not be read is not missed',
    flowSchema,
    flow([{ subjects: [] }]),
    { incomplete: new Set(['priorityLevelConfigurations']) },
    [],
    [],
  ],
  [
    'a FlowSchema without rules matches nothing',
    flowSchema,
    flow([]),
    { priorityLevelConfigurations: [level] },
    ['NoRules'],
    ['add a rule'],
  ],
  [
    'a priority level with a FlowSchema is fine',
    priorityLevelConfiguration,
    level,
    { flowSchemas: [flow([])] },
    [],
    [],
  ],
  [
    'a priority level without a FlowSchema gets no requests',
    priorityLevelConfiguration,
    level,
    {},
    ['NoFlowSchemas'],
    ['spec.priorityLevelConfiguration.name: gold'],
  ],
])

itExplains([
  [
    'a node condition of another agent, or of the network, is not met by moving pods',
    node,
    object('Node', 'n1', {
      status: {
        conditions: [
          condition('Ready', 'True'),
          condition('NetworkUnavailable', 'True', { message: 'no routes' }),
          condition('KernelDeadlock', 'True'),
        ],
      },
    }),
    {},
    ['NetworkUnavailable', 'KernelDeadlock'],
    ['network plugin', 'correct what the condition names'],
    ['let its pods use less'],
  ],
  [
    'a condition that says that work goes on is no trouble once it is False',
    anyObject,
    object('StorageVersionMigration', 'm', {
      apiVersion: 'storagemigration.k8s.io/v1alpha1',
      status: {
        conditions: [
          condition('Running', 'False'),
          condition('Reconciling', 'False'),
          condition('Succeeded', 'True'),
        ],
      },
    }),
    {},
    [],
    [],
  ],
  [
    'a custom resource that was not observed leads to its own controller',
    anyObject,
    object('Backup', 'b', {
      apiVersion: 'example.com/v1',
      metadata: { generation: 2 },
      status: { observedGeneration: 1 },
    }),
    {},
    ['NotObserved'],
    ['acts on Backup objects'],
    ['skiff status'],
  ],
  [
    'a node whose agent is silent, and that is cordoned',
    node,
    object('Node', 'n1', {
      spec: { unschedulable: true },
      status: {
        conditions: [
          condition('Ready', 'Unknown', { message: 'Kubelet stopped posting node status.' }),
          condition('DiskPressure', 'True', { message: 'simulated' }),
        ],
      },
    }),
    {},
    ['NodeStatusUnknown', 'DiskPressure', 'Cordoned'],
    ['stopped posting', 'skiff logs n1', 'kubectl uncordon n1'],
  ],
  [
    'of a custom resource every bad condition is a cause, and the good ones are not',
    anyObject,
    object('Backup', 'b', {
      apiVersion: 'example.com/v1',
      metadata: { generation: 2 },
      status: {
        observedGeneration: 1,
        conditions: [
          condition('Ready', 'False', { reason: 'NoBucket', message: 'the bucket is missing' }),
          condition('Synced', 'Unknown'),
          condition('Stalled', 'True', { reason: 'Waiting' }),
          condition('Degraded', 'False'),
          condition('Available', 'True'),
        ],
      },
    }),
    { events: [event('Backup', 'b', 'Failed', 'cannot write')] },
    ['NotObserved', 'NoBucket', 'SyncedUnknown', 'Waiting'],
    ['the bucket is missing', 'cannot write'],
  ],
  [
    'an object without conditions is fine',
    anyObject,
    object('ConfigMap', 'c', { apiVersion: 'v1' }),
    {},
    [],
    [],
  ],
  [
    'a kind that nothing acts on is stored only',
    anyObject,
    object('NetworkPolicy', 'deny', { apiVersion: 'networking.k8s.io/v1' }),
    {},
    ['NothingActs'],
    ['stored only'],
  ],
  [
    'conditions that are none are no trouble',
    anyObject,
    object('Odd', 'o', {
      apiVersion: 'example.com/v1',
      status: { conditions: ['x', null, { type: 1 }] },
    }),
    {},
    [],
    [],
  ],
])

it('an object whose conditions are all bad says so', () => {
  expect(anyObject.state(podWith('a', {}), related())).toContain('no condition is as it should be')
})
