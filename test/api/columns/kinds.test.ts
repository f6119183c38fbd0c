import { describe, expect, it } from 'vitest'
import { printerOf } from '../../../components/api/printers.ts'
import type { ResourceKey } from '../../../components/api/resources.ts'
import { ago, now, resources, rowOf } from './rows.ts'

const template = {
  spec: {
    containers: [
      { name: 'a', image: 'i:1' },
      { name: 'b', image: 'j' },
    ],
  },
}
const selector = { matchLabels: { app: 'web' } }

type Case = [ResourceKey, { metadata?: object; [field: string]: unknown }, Record<string, unknown>]

/** Every kind that has a printer of its own, but for pods. Rows name the cells that the object decides. */
const cases: Case[] = [
  ['componentStatuses', {}, { Name: 'x', Status: 'Unknown', Message: '', Error: '' }],
  [
    'componentStatuses',
    { conditions: [{ type: 'Healthy', status: 'False', message: 'm', error: 'e' }] },
    { Status: 'Unhealthy', Message: 'm', Error: 'e' },
  ],
  ['configMaps', { data: { a: '1', b: '2' }, binaryData: { c: '' } }, { Data: 3, Age: '5m' }],
  [
    'endpoints',
    {
      subsets: [
        { addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: [{ port: 80 }, { port: 81 }] },
      ],
    },
    { Endpoints: '10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more...' },
  ],
  ['endpoints', { subsets: [{ addresses: [{ ip: '10.0.0.1' }] }] }, { Endpoints: '10.0.0.1' }],
  ['endpoints', {}, { Endpoints: '<none>' }],
  [
    'events',
    {
      type: 'Warning',
      reason: 'Failed',
      involvedObject: { kind: 'Pod', name: 'p', fieldPath: 'spec.containers{a}' },
      source: { component: 'kubelet', host: 'n1' },
      message: ' it broke\n',
      firstTimestamp: ago(600),
      lastTimestamp: ago(60),
      count: 4,
    },
    {
      'Last Seen': '60s',
      Type: 'Warning',
      Reason: 'Failed',
      Object: 'pod/p',
      Subobject: 'spec.containers{a}',
      Source: 'kubelet, n1',
      Message: 'it broke',
      'First Seen': '10m',
      Count: 4,
      Name: 'x',
    },
  ],
  [
    'events',
    {
      eventTime: '2026-01-01T00:58:00.000000Z',
      series: { count: 7, lastObservedTime: '2026-01-01T00:59:30.000000Z' },
      involvedObject: { kind: 'Node' },
      reportingComponent: 'scheduler',
      reportingInstance: 's-1',
      lastTimestamp: null,
      firstTimestamp: null,
    },
    {
      'Last Seen': '30s',
      'First Seen': '2m',
      Count: 7,
      Object: 'node',
      Source: 'scheduler, s-1',
    },
  ],
  [
    'eventsV1',
    {
      eventTime: '2026-01-01T00:58:00.000000Z',
      regarding: { kind: 'Pod', name: 'p' },
      note: 'text',
      reportingController: 'c',
    },
    { 'Last Seen': '2m', Count: 1, Object: 'pod/p', Message: 'text', Source: 'c' },
  ],
  ['namespaces', { status: { phase: 'Active' } }, { Status: 'Active', Age: '5m' }],
  [
    'nodes',
    {
      metadata: {
        labels: {
          'node-role.kubernetes.io/worker': '',
          'node-role.kubernetes.io/control-plane': '',
          'kubernetes.io/role': 'edge',
          'node-role.kubernetes.io/': '',
        },
      },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        addresses: [
          { type: 'InternalIP', address: '10.1.1.1' },
          { type: 'Hostname', address: 'h' },
        ],
        nodeInfo: { kubeletVersion: 'v1.32.0', osImage: 'Linux' },
      },
    },
    {
      Status: 'Ready,SchedulingDisabled',
      Roles: 'control-plane,edge,worker',
      Version: 'v1.32.0',
      'Internal-IP': '10.1.1.1',
      'External-IP': '<none>',
      'OS-Image': 'Linux',
      'Kernel-Version': '<unknown>',
      'Container-Runtime': '<unknown>',
    },
  ],
  [
    'nodes',
    { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
    { Status: 'NotReady', Roles: '<none>' },
  ],
  ['nodes', {}, { Status: 'Unknown' }],
  [
    'persistentVolumes',
    {
      spec: {
        capacity: { storage: '5Gi' },
        accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
        persistentVolumeReclaimPolicy: 'Retain',
        claimRef: { namespace: 'n', name: 'c' },
        storageClassName: 'fast',
        volumeMode: 'Block',
      },
      status: { phase: 'Bound', reason: 'r' },
    },
    {
      Capacity: '5Gi',
      'Access Modes': 'RWO,RWX',
      'Reclaim Policy': 'Retain',
      Status: 'Bound',
      Claim: 'n/c',
      StorageClass: 'fast',
      VolumeAttributesClass: '<unset>',
      Reason: 'r',
      VolumeMode: 'Block',
    },
  ],
  [
    'persistentVolumeClaims',
    {
      metadata: { deletionTimestamp: ago(5) },
      spec: { volumeName: 'v', volumeAttributesClassName: 'gold' },
      status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOncePod'] },
    },
    {
      Status: 'Terminating',
      Volume: 'v',
      Capacity: '1Gi',
      'Access Modes': 'RWOP',
      StorageClass: '',
      VolumeAttributesClass: 'gold',
      VolumeMode: '<unset>',
    },
  ],
  [
    'persistentVolumeClaims',
    {
      metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'old' } },
      spec: { storageClassName: 'new' },
      status: { phase: 'Pending' },
    },
    { Status: 'Pending', Capacity: '', 'Access Modes': '', StorageClass: 'old' },
  ],
  [
    'podTemplates',
    { template: { ...template, metadata: { labels: { b: '2', a: '1' } } } },
    { Containers: 'a,b', Images: 'i:1,j', 'Pod Labels': 'a=1,b=2' },
  ],
  [
    'replicationControllers',
    { spec: { replicas: 3, selector: { app: 'x' }, template }, status: { replicas: 2 } },
    { Desired: 3, Current: 2, Ready: 0, Containers: 'a,b', Selector: 'app=x' },
  ],
  [
    'resourceQuotas',
    {
      status: {
        hard: { pods: '4', 'requests.cpu': '2', 'limits.memory': '1Gi' },
        used: { pods: '1', 'limits.memory': '0' },
      },
    },
    { Request: 'pods: 1/4, requests.cpu: 0/2', Limit: 'limits.memory: 0/1Gi' },
  ],
  ['secrets', { type: 'Opaque', data: { a: '' } }, { Type: 'Opaque', Data: 1 }],
  ['serviceAccounts', { secrets: [{ name: 's' }] }, { Secrets: 1 }],
  [
    'services',
    {
      spec: {
        type: 'NodePort',
        clusterIPs: ['10.0.0.1', 'fd00::1'],
        ports: [
          { port: 80, nodePort: 30080, protocol: 'TCP' },
          { port: 53, protocol: 'UDP' },
        ],
        selector: { app: 'x' },
      },
    },
    {
      Type: 'NodePort',
      'Cluster-IP': '10.0.0.1',
      'External-IP': '<none>',
      'Port(s)': '80:30080/TCP,53/UDP',
      Selector: 'app=x',
    },
  ],
  [
    'services',
    { spec: { type: 'LoadBalancer' } },
    { 'External-IP': '<pending>', 'Port(s)': '<none>', Selector: '<none>' },
  ],
  [
    'services',
    {
      spec: { type: 'LoadBalancer', externalIPs: ['9.9.9.9'] },
      status: { loadBalancer: { ingress: [{ hostname: 'lb' }, { ip: '1.1.1.1' }] } },
    },
    { 'External-IP': '1.1.1.1,lb,9.9.9.9' },
  ],
  [
    'services',
    { spec: { type: 'ExternalName', externalName: 'e.example.com' } },
    { 'External-IP': 'e.example.com', 'Cluster-IP': '<none>' },
  ],
  [
    'controllerRevisions',
    {
      metadata: {
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 's', uid: 'u', controller: true },
        ],
      },
      revision: 3,
    },
    { Controller: 'statefulset.apps/s', Revision: 3 },
  ],
  [
    'daemonSets',
    {
      spec: { template: { spec: { ...template.spec, nodeSelector: { disk: 'ssd' } } }, selector },
      status: { desiredNumberScheduled: 3, currentNumberScheduled: 2, numberReady: 1 },
    },
    {
      Desired: 3,
      Current: 2,
      Ready: 1,
      'Up-to-date': 0,
      Available: 0,
      'Node Selector': 'disk=ssd',
      Images: 'i:1,j',
      Selector: 'app=web',
    },
  ],
  [
    'deployments',
    {
      spec: { replicas: 3, selector, template },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    },
    { Ready: '2/3', 'Up-to-date': 3, Available: 1, Containers: 'a,b', Selector: 'app=web' },
  ],
  [
    'replicaSets',
    { spec: { replicas: 3, selector, template }, status: { replicas: 3, readyReplicas: 1 } },
    { Desired: 3, Current: 3, Ready: 1, Selector: 'app=web' },
  ],
  [
    'statefulSets',
    { spec: { replicas: 2, template }, status: { readyReplicas: 1 } },
    { Ready: '1/2', Images: 'i:1,j' },
  ],
  [
    'cronJobs',
    {
      spec: { schedule: '* * * * *', suspend: false, jobTemplate: { spec: { template } } },
      status: { active: [{}], lastScheduleTime: ago(30) },
    },
    {
      Schedule: '* * * * *',
      Timezone: '<none>',
      Suspend: 'False',
      Active: 1,
      'Last Schedule': '30s',
      Containers: 'a,b',
      Selector: '<none>',
    },
  ],
  [
    'jobs',
    {
      spec: { completions: 3, selector, template },
      status: { succeeded: 1, startTime: ago(100) },
    },
    { Status: 'Running', Completions: '1/3', Duration: '100s', Selector: 'app=web' },
  ],
  [
    'jobs',
    {
      spec: { parallelism: 4 },
      status: {
        succeeded: 1,
        startTime: ago(600),
        completionTime: ago(300),
        conditions: [{ type: 'Complete', status: 'True' }],
      },
    },
    { Status: 'Complete', Completions: '1/1 of 4', Duration: '5m' },
  ],
  [
    'jobs',
    { status: { conditions: [{ type: 'Suspended', status: 'True' }] } },
    { Status: 'Suspended', Completions: '0/1', Duration: '' },
  ],
  [
    'jobs',
    { status: { conditions: [{ type: 'FailureTarget', status: 'True' }] } },
    { Status: 'FailureTarget' },
  ],
  [
    'horizontalPodAutoscalers',
    {
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'd' },
        maxReplicas: 9,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } },
          { type: 'Pods', pods: { target: { averageValue: '1k' } } },
          { type: 'Object', object: { target: { value: '5' } } },
        ],
      },
      status: {
        currentReplicas: 2,
        currentMetrics: [{ type: 'Resource', resource: { current: { averageUtilization: 33 } } }],
      },
    },
    {
      Reference: 'Deployment/d',
      Targets: 'cpu: 33%/80%, <unknown>/1k + 1 more...',
      MinPods: '<unset>',
      MaxPods: 9,
      Replicas: 2,
    },
  ],
  [
    'horizontalPodAutoscalers',
    {
      spec: {
        minReplicas: 1,
        metrics: [
          { type: 'External', external: { target: { averageValue: '7' } } },
          { type: 'Resource', resource: { name: 'memory', target: { averageValue: '10Mi' } } },
        ],
      },
      status: {
        currentMetrics: [
          { external: { current: { averageValue: '3' } } },
          { resource: { current: { averageValue: '4Mi' } } },
        ],
      },
    },
    { Targets: '3/7 (avg), memory: 4Mi/10Mi', MinPods: '1' },
  ],
  [
    'horizontalPodAutoscalersV1',
    { spec: { targetCPUUtilizationPercentage: 50 } },
    { Targets: 'cpu: <unknown>/50%' },
  ],
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

describe('rows of', () => {
  it.each(cases)('%s: %j', (key, object, expected) => {
    expect(rowOf(key, object)).toMatchObject(expected)
  })

  it('every kind with a printer of its own are tested here', () => {
    const tested = new Set<string>(cases.map(([key]) => resources[key].plural).concat('pods'))
    const defaultColumns = printerOf(resources.limitRanges).columns
    for (const resource of resources.all) {
      if (printerOf(resource).columns === defaultColumns) continue
      expect(tested, resource.plural).toContain(resource.plural)
    }
  })

  it('a scale, whatever it scales', () => {
    const printer = printerOf(resources.deployments, 'scale')
    const scale = { metadata: { name: 'd' }, spec: { replicas: 3 }, status: { replicas: 1 } }
    expect(printer.cells(scale, now)).toEqual(['d', 3, 1, '<unknown>'])
  })
})
