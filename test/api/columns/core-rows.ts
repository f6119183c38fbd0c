/** What the kinds of the core group show, but for pods. */
import { ago } from './rows.ts'
import type { RowCase } from './rows.ts'

const template = {
  spec: {
    containers: [
      { name: 'a', image: 'i:1' },
      { name: 'b', image: 'j' },
    ],
  },
}

export const coreRows: readonly RowCase[] = [
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
]
