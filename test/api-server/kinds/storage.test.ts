import { describe, expect, test } from 'vitest'
import { strategyRuns } from '../../support/strategy-runs.ts'

const contains = (text: string): unknown => expect.stringContaining(text)

describe('StorageClass', () => {
  const classes = strategyRuns('storageClasses')
  const good = { provisioner: 'example.com/disk' }

  test('deletes volumes and binds them at once by default', () => {
    expect(classes.created(good)).toMatchObject({
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
    })
  })

  test.each([
    [good, []],
    [{ provisioner: 'Kubernetes.io/No-Provisioner' }, []],
    [
      { provisioner: '', reclaimPolicy: 'Recycle', volumeBindingMode: 'Later' },
      [
        'provisioner: Required value',
        'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
        'volumeBindingMode: Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
      ],
    ],
    [
      { ...good, parameters: { '': 'x' } },
      ['parameters: Invalid value: "": field can not be empty.'],
    ],
    [
      {
        ...good,
        allowedTopologies: [
          { matchLabelExpressions: [{ key: 'zone', values: ['a', 'a'] }] },
          {
            matchLabelExpressions: [
              { key: 'zone', values: [] },
              { key: 'zone', values: ['b'] },
            ],
          },
        ],
      },
      [
        'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
        'allowedTopologies[1].matchLabelExpressions[0].values: Required value',
        'allowedTopologies[1].matchLabelExpressions[1].key: Duplicate value: "zone"',
      ],
    ],
  ])('%j', (object, faults) => {
    expect(classes.createFaults(object)).toEqual(faults)
  })

  test('keeps what volumes were made with', () => {
    const old = classes.created(good)
    const changed = {
      provisioner: 'example.com/other',
      parameters: { a: 'b' },
      reclaimPolicy: 'Retain',
      volumeBindingMode: 'WaitForFirstConsumer',
    }
    expect(classes.updateFaults(old, changed)).toEqual([
      'parameters: Forbidden: updates to parameters are forbidden.',
      'provisioner: Forbidden: updates to provisioner are forbidden.',
      'reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.',
      'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ])
    expect(classes.updateFaults(old, { ...good, allowVolumeExpansion: true })).toEqual([])
  })
})

test('VolumeAttributesClass has parameters, which stay', () => {
  const classes = strategyRuns('volumeAttributesClasses')
  expect(classes.createFaults({ driverName: 'a' })).toEqual([
    'parameters: Required value: must contain at least one key/value pair',
  ])
  const old = classes.created({ driverName: 'a', parameters: { x: '1' } })
  expect(classes.updateFaults(old, { driverName: 'a', parameters: { x: '2' } })).toEqual([
    'parameters: Forbidden: updates to parameters are forbidden.',
  ])
})

describe('CSIDriver', () => {
  const drivers = strategyRuns('csiDrivers')
  const old = drivers.created({ spec: {} })

  test('has its defaults', () => {
    expect(old['spec']).toEqual({
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      requiresRepublish: false,
      seLinuxMount: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
    })
  })

  test.each([
    [
      { fsGroupPolicy: 'All', volumeLifecycleModes: ['Eternal'] },
      [
        'spec.fsGroupPolicy: Unsupported value: "All": supported values: "File", "None", "ReadWriteOnceWithFSType"',
        'spec.volumeLifecycleModes: Unsupported value: "Eternal": supported values: "Persistent", "Ephemeral"',
      ],
    ],
    [
      {
        tokenRequests: [
          { audience: 'a' },
          { audience: 'a' },
          { audience: 'b', expirationSeconds: 5 },
        ],
      },
      [
        'spec.tokenRequests[1].audience: Duplicate value: "a"',
        'spec.tokenRequests[2].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
      ],
    ],
  ])('%j', (spec, faults) => {
    expect(drivers.createFaults({ spec })).toEqual(faults)
  })

  test('counts its changes from nothing, and keeps how it attaches', () => {
    expect(drivers.updated(old, { spec: { podInfoOnMount: true } }).metadata.generation).toBe(1)
    expect(drivers.updated(old, { spec: {} }).metadata.generation).toBeUndefined()
    expect(drivers.updateFaults(old, { spec: { attachRequired: false } })).toEqual([
      'spec.attachedRequired: Invalid value: false: field is immutable',
    ])
  })
})

test('CSINode: each driver once, with its id; entries stay as they are', () => {
  const nodes = strategyRuns('csiNodes')
  const drivers = [{ name: 'a.io', nodeID: 'n', topologyKeys: ['zone'] }]
  const old = nodes.created({ spec: { drivers } })
  expect(
    nodes.createFaults({ spec: { drivers: [...drivers, { name: 'a.io', nodeID: '' }] } }),
  ).toEqual([
    'spec.drivers[1].nodeID: Required value',
    'spec.drivers[1].name: Duplicate value: "a.io"',
  ])
  expect(nodes.updateFaults(old, { spec: { drivers: [{ name: 'a.io', nodeID: 'm' }] } })).toEqual([
    contains('field is immutable'),
  ])
  expect(nodes.updateFaults(old, { spec: { drivers: [] } })).toEqual([])
})

test('CSIStorageCapacity: topology and class stay, the capacity is not negative', () => {
  const capacities = strategyRuns('csiStorageCapacities')
  const old = capacities.created({ storageClassName: 'fast', nodeTopology: {} })
  expect(capacities.createFaults({ storageClassName: 'fast', capacity: '-1' })).toEqual([
    'capacity: Invalid value: "-1": must be greater than or equal to 0',
  ])
  const changed = { storageClassName: 'slow', nodeTopology: { matchLabels: { a: 'b' } } }
  expect(capacities.updateFaults(old, changed)).toEqual([
    'nodeTopology: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable',
    'storageClassName: Invalid value: "slow": field is immutable',
  ])
})

describe('VolumeAttachment', () => {
  const attachments = strategyRuns('volumeAttachments')
  const spec = { attacher: 'a.io', nodeName: 'n1', source: { persistentVolumeName: 'pv' } }

  test.each([
    [spec, []],
    [
      { attacher: '', nodeName: 'n1', source: {} },
      [
        'spec.attacher: Required value',
        'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
        'spec.attacher: Required value',
        contains('spec.attacher: Invalid value: "": a lowercase RFC 1123 subdomain'),
      ],
    ],
    [
      {
        ...spec,
        source: {
          inlineVolumeSpec: {
            capacity: { storage: '1Gi' },
            hostPath: { path: '/a' },
            persistentVolumeReclaimPolicy: 'Delete',
            storageClassName: 's',
            volumeMode: 'Block',
          },
        },
      },
      [
        'capacity: Forbidden: may not be specified in the context of inline volumes',
        'csi: Required value: has to be specified in the context of inline volumes',
        'accessModes: Required value',
        'persistentVolumeReclaimPolicy: Forbidden: may only be Retain in the context of inline volumes',
        'storageClassName: Forbidden: may not be specified in the context of inline volumes',
        'volumeMode: Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes',
      ].map((fault) => `spec.source.inlineVolumeSpec.${fault}`),
    ],
  ])('%j', (given, faults) => {
    expect(attachments.createFaults({ spec: given })).toEqual(faults)
  })

  test('starts detached; only its status changes', () => {
    const old = attachments.created({ spec, status: { attached: true } })
    expect(old['status']).toEqual({ attached: false })
    expect(attachments.updateFaults(old, { spec: { ...spec, nodeName: 'n2' } })).toEqual([
      contains('field is immutable'),
    ])
    const update = { spec: { ...spec, nodeName: 'n2' }, status: { attached: true } }
    expect(attachments.updateFaults(old, update, 'status')).toEqual([])
    const attached = attachments.updated(old, update, 'status')
    expect(attached).toMatchObject({ spec, status: { attached: true } })
  })
})

test('RuntimeClass: a handler that stays, an overhead of known resources', () => {
  const classes = strategyRuns('runtimeClasses')
  const toleration = { key: 'a', operator: 'Exists' }
  expect(
    classes.createFaults({
      handler: 'a.b',
      overhead: { podFixed: { cpu: '-1' } },
      scheduling: { tolerations: [toleration, toleration] },
    }),
  ).toEqual([
    contains('handler: Invalid value: "a.b"'),
    contains('overhead.podFixed.limits[cpu]: Invalid value: "-1"'),
    contains('scheduling.tolerations[1]: Duplicate value'),
  ])
  const tolerations = [{ operator: 'Exists', value: '0' }]
  expect(classes.createFaults({ handler: 'runc', scheduling: { tolerations } })).toEqual([
    'scheduling.tolerations.tolerations[0].operator: Invalid value: "0": value must be empty when `operator` is \'Exists\'',
  ])
  const old = classes.created({ handler: 'runc' })
  expect(classes.updateFaults(old, { handler: 'kata' })).toEqual([
    'handler: Invalid value: "kata": field is immutable',
  ])
})
