/** What the kinds of the remaining groups show. */
import { ago } from './rows.ts'
import type { RowCase } from './rows.ts'

const selector = { matchLabels: { app: 'web' } }

export const otherRows: readonly RowCase[] = [
  [
    'ingressClasses',
    { spec: { controller: 'c', parameters: { apiGroup: 'g.io', kind: 'P', name: 'n' } } },
    { Controller: 'c', Parameters: 'P.g.io/n' },
  ],
  [
    'ingresses',
    {
      spec: {
        ingressClassName: 'k',
        rules: [{ host: 'a' }, {}, { host: 'b' }, { host: 'c' }, { host: 'd' }],
        tls: [{}],
      },
      status: { loadBalancer: { ingress: [{ ip: '1.1.1.1' }] } },
    },
    { Class: 'k', Hosts: 'a,b,c + 2 more...', Address: '1.1.1.1', Ports: '80, 443' },
  ],
  ['ingresses', {}, { Class: '<none>', Hosts: '*', Address: '', Ports: '80' }],
  [
    'ipAddresses',
    { spec: { parentRef: { resource: 'services', namespace: 'default', name: 'k' } } },
    { ParentRef: 'services/default/k' },
  ],
  ['networkPolicies', { spec: { podSelector: selector } }, { 'Pod-Selector': 'app=web' }],
  ['networkPolicies', { spec: { podSelector: {} } }, { 'Pod-Selector': '<none>' }],
  [
    'serviceCidrs',
    { spec: { cidrs: ['10.0.0.0/16', 'fd00::/64'] } },
    { CIDRs: '10.0.0.0/16,fd00::/64' },
  ],
  [
    'endpointSlices',
    {
      addressType: 'IPv4',
      ports: [{ port: 80 }, { name: 'n' }, {}],
      endpoints: [{ addresses: ['1', '2'] }, { addresses: ['3', '4'] }],
    },
    { AddressType: 'IPv4', Ports: '80,n,*', Endpoints: '1,2,3 + 1 more...' },
  ],
  ['endpointSlices', {}, { Ports: '<unset>', Endpoints: '<unset>' }],
  [
    'roleBindings',
    {
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'User', name: 'v' },
        { kind: 'Group', name: 'g' },
        { kind: 'ServiceAccount', namespace: 'n', name: 's' },
      ],
    },
    { Role: 'Role/r', Users: 'u, v', Groups: 'g', ServiceAccounts: 'n/s' },
  ],
  [
    'clusterRoleBindings',
    { roleRef: { kind: 'ClusterRole', name: 'r' } },
    { Role: 'ClusterRole/r' },
  ],
  [
    'certificateSigningRequests',
    {
      spec: { signerName: 's', username: 'u', expirationSeconds: 86_400 },
      status: { conditions: [{ type: 'Approved' }], certificate: 'x' },
    },
    { SignerName: 's', Requestor: 'u', RequestedDuration: '24h', Condition: 'Approved,Issued' },
  ],
  [
    'certificateSigningRequests',
    { status: { conditions: [{ type: 'Denied' }, { type: 'Approved' }, { type: 'Failed' }] } },
    { SignerName: '<none>', RequestedDuration: '<none>', Condition: 'Denied,Failed' },
  ],
  ['certificateSigningRequests', {}, { Condition: 'Pending' }],
  ['clusterTrustBundles', { spec: { signerName: 's' } }, { SignerName: 's' }],
  [
    'csiDrivers',
    {},
    {
      AttachRequired: true,
      PodInfoOnMount: false,
      StorageCapacity: false,
      TokenRequests: '<unset>',
      RequiresRepublish: false,
      Modes: '<none>',
    },
  ],
  [
    'csiDrivers',
    {
      spec: {
        attachRequired: false,
        tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    },
    { AttachRequired: false, TokenRequests: 'a,b', Modes: 'Persistent,Ephemeral' },
  ],
  ['csiNodes', { spec: { drivers: [{}, {}] } }, { Drivers: 2 }],
  [
    'csiStorageCapacities',
    { storageClassName: 'c', capacity: '1Gi' },
    { StorageClassName: 'c', Capacity: '1Gi' },
  ],
  [
    'storageClasses',
    {
      metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'p',
    },
    {
      Name: 'x (default)',
      Provisioner: 'p',
      ReclaimPolicy: 'Delete',
      VolumeBindingMode: 'Immediate',
      AllowVolumeExpansion: false,
    },
  ],
  [
    'volumeAttachments',
    {
      spec: { attacher: 'd', nodeName: 'n', source: { persistentVolumeName: 'v' } },
      status: { attached: true },
    },
    { Attacher: 'd', PV: 'v', Node: 'n', Attached: true },
  ],
  ['volumeAttributesClasses', { driverName: 'd' }, { Name: 'x', DriverName: 'd' }],
  ['mutatingWebhookConfigurations', { webhooks: [{}] }, { Webhooks: 1 }],
  ['validatingWebhookConfigurations', { webhooks: [{}, {}] }, { Webhooks: 2 }],
  [
    'validatingAdmissionPolicies',
    { spec: { validations: [{}], paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } } },
    { Validations: 1, ParamKind: 'v1/ConfigMap' },
  ],
  [
    'mutatingAdmissionPolicies',
    { spec: { mutations: [{}] } },
    { Mutations: 1, ParamKind: '<unset>' },
  ],
  [
    'validatingAdmissionPolicyBindings',
    { spec: { policyName: 'p', paramRef: { name: 'n' } } },
    { PolicyName: 'p', ParamRef: '*/n' },
  ],
  [
    'mutatingAdmissionPolicyBindings',
    { spec: { policyName: 'p', paramRef: { name: 'n', namespace: 'ns' } } },
    { PolicyName: 'p', ParamRef: 'ns/n' },
  ],
  ['apiServices', {}, { Service: 'Local', Available: 'Unknown' }],
  [
    'apiServices',
    {
      spec: { service: { namespace: 'n', name: 's' } },
      status: { conditions: [{ type: 'Available', status: 'False', reason: 'Down' }] },
    },
    { Service: 'n/s', Available: 'False (Down)' },
  ],
  [
    'podDisruptionBudgets',
    { spec: { minAvailable: '50%' }, status: { disruptionsAllowed: 2 } },
    { 'Min Available': '50%', 'Max Unavailable': 'N/A', 'Allowed Disruptions': 2 },
  ],
  ['leases', { spec: { holderIdentity: 'h' } }, { Holder: 'h' }],
  [
    'leaseCandidates',
    { spec: { leaseName: 'l', binaryVersion: '1.32.0', emulationVersion: '1.31.0' } },
    { LeaseName: 'l', BinaryVersion: '1.32.0', EmulationVersion: '1.31.0' },
  ],
  [
    'priorityClasses',
    { value: 10, globalDefault: true, preemptionPolicy: 'Never' },
    { Value: 10, 'Global-Default': true, PreemptionPolicy: 'Never' },
  ],
  ['runtimeClasses', { handler: 'h' }, { Handler: 'h' }],
  [
    'flowSchemas',
    {
      spec: {
        priorityLevelConfiguration: { name: 'p' },
        matchingPrecedence: 100,
        distinguisherMethod: { type: 'ByUser' },
      },
      status: { conditions: [{ type: 'Dangling', status: 'False' }] },
    },
    {
      PriorityLevel: 'p',
      MatchingPrecedence: 100,
      DistinguisherMethod: 'ByUser',
      MissingPL: 'False',
    },
  ],
  ['flowSchemas', {}, { DistinguisherMethod: '<none>', MissingPL: '?' }],
  [
    'priorityLevelConfigurations',
    {
      spec: {
        type: 'Limited',
        limited: {
          nominalConcurrencyShares: 30,
          limitResponse: { queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 } },
        },
      },
    },
    {
      Type: 'Limited',
      NominalConcurrencyShares: 30,
      Queues: 64,
      HandSize: 6,
      QueueLengthLimit: 50,
    },
  ],
  ['priorityLevelConfigurations', { spec: { type: 'Exempt' } }, { Queues: '<none>' }],
  ['deviceClasses', {}, { Name: 'x', Age: '5m' }],
  ['resourceClaims', {}, { State: 'pending' }],
  [
    'resourceClaims',
    { status: { allocation: {}, reservedFor: [{}] } },
    { State: 'allocated,reserved' },
  ],
  ['resourceClaimTemplates', {}, { Age: '5m' }],
  [
    'resourceSlices',
    { spec: { nodeName: 'n', driver: 'd', pool: { name: 'p' } } },
    { Node: 'n', Driver: 'd', Pool: 'p' },
  ],
  [
    'storageVersions',
    { status: { storageVersions: [{ apiServerID: 'a', encodingVersion: 'v1' }] } },
    { CommonEncodingVersion: '<unset>', StorageVersions: 'a=v1' },
  ],
  [
    'storageVersionMigrations',
    { spec: { resource: { resource: 'pods', version: 'v1', group: 'g' } } },
    { Resource: 'pods.v1.g' },
  ],
  ['limitRanges', {}, { Name: 'x', 'Created At': ago(300) }],
  ['clusterRoles', {}, { 'Created At': ago(300) }],
  ['customResourceDefinitions', {}, { 'Created At': ago(300) }],
]
