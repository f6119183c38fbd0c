/** Rules of a Pod's volumes, mounts and devices. */
import { describe, expect, test } from 'vitest'
import { container, contains, faultsOf, faultsOfContainer, pods, rules } from './pod-faults.ts'

describe('volumes', () => {
  const faults = (source: object, name = 'v') => faultsOf({ volumes: [{ name, ...source }] })
  const at = 'spec.volumes[0]'
  const octal = 'must be a number between 0 and 0777 (octal), both inclusive'
  const reserved = "must not start with '..'"

  rules(faults, [
    [{ emptyDir: { sizeLimit: '1Gi' } }, []],
    [
      { emptyDir: { sizeLimit: '-1' } },
      [`${at}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`],
    ],
    [{ hostPath: { path: '/a', type: 'Socket' } }, []],
    [{ hostPath: { path: '' } }, [`${at}.hostPath.path: Required value`]],
    [
      { hostPath: { path: '/a/../b', type: 'Pipe' } },
      [
        `${at}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`,
        contains(`${at}.hostPath.type: Unsupported value: "Pipe"`),
      ],
    ],
    [{ gitRepo: { repository: 'r', directory: 'a' } }, []],
    [
      { gitRepo: { repository: '', directory: '../a' } },
      [
        `${at}.gitRepo.repository: Required value`,
        `${at}.gitRepo.directory: Invalid value: "../a": must not contain '..'`,
      ],
    ],
    [{ secret: { secretName: 's', defaultMode: 0o777, items: [{ key: 'k', path: 'p' }] } }, []],
    [
      { secret: { defaultMode: 0o1000, items: [{ key: '', path: '', mode: -1 }] } },
      [
        `${at}.secret.secretName: Required value`,
        `${at}.secret.defaultMode: Invalid value: 512: ${octal}`,
        `${at}.secret.items[0].key: Required value`,
        `${at}.secret.items[0].path: Required value`,
        `${at}.secret.items[0].mode: Invalid value: -1: ${octal}`,
      ],
    ],
    [
      { configMap: { defaultMode: -1, items: [{ key: 'k', path: '..p' }] } },
      [
        `${at}.configMap.name: Required value`,
        `${at}.configMap.defaultMode: Invalid value: -1: ${octal}`,
        contains(`${at}.configMap.items[0].path: Invalid value: "..p": ${reserved}`),
      ],
    ],
    [{ persistentVolumeClaim: {} }, [`${at}.persistentVolumeClaim.claimName: Required value`]],
    [{ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } }, []],
    [
      {
        downwardAPI: {
          defaultMode: 512,
          items: [
            { path: '' },
            {
              path: 'p',
              mode: 512,
              fieldRef: { fieldPath: 'metadata.uid' },
              resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' },
            },
            { path: 'q', resourceFieldRef: { resource: 'limits.cpu' } },
            { path: 'r', fieldRef: { fieldPath: 'spec.nodeName' } },
          ],
        },
      },
      [
        `${at}.downwardAPI.defaultMode: Invalid value: 512: ${octal}`,
        `${at}.downwardAPI.path: Required value`,
        `${at}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
        `${at}.downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously`,
        `${at}.downwardAPI.mode: Invalid value: 512: ${octal}`,
        `${at}.downwardAPI.resourceFieldRef.containerName: Required value`,
        contains(`${at}.downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName"`),
      ],
    ],
    [{ csi: { driver: 'd', nodePublishSecretRef: { name: 's' } } }, []],
    [
      { csi: { driver: '', nodePublishSecretRef: {} } },
      expect.arrayContaining([
        `${at}.csi.driver: Required value`,
        `${at}.csi.nodePublishSecretRef.name: Required value`,
      ]) as unknown as string[],
    ],
    [
      { csi: { driver: 'd', nodePublishSecretRef: { name: 'S' } } },
      [contains(`${at}.csi.name: Invalid value: "S"`)],
    ],
    [{ csi: { driver: 'd'.repeat(63) } }, []],
    [{ csi: { driver: 'd'.repeat(64) } }, [contains(`${at}.csi.driver: Too long`)]],
    [{ ephemeral: {} }, [`${at}.ephemeral.volumeClaimTemplate: Required value`]],
    [
      {
        nfs: { server: '', path: 'a' },
        cephfs: { monitors: ['m'] },
        downwardAPI: {},
        flocker: { datasetName: 'd' },
      },
      [
        `${at}.nfs.server: Required value`,
        `${at}.nfs.path: Invalid value: "a": must be an absolute path`,
        `${at}.flocker: Forbidden: may not specify more than 1 volume type`,
        `${at}.cephFS: Forbidden: may not specify more than 1 volume type`,
        `${at}.downwarAPI: Forbidden: may not specify more than 1 volume type`,
      ],
    ],
  ])

  const iqn = 'iqn.2014-12.com.example:storage:v'
  const iscsi = { targetPortal: '10.0.0.1', iqn, lun: 0 }
  rules(faults, [
    [{ iscsi }, []],
    [{ iscsi: { ...iscsi, iqn: `eui.${'0'.repeat(16)}`, lun: 255 } }, []],
    [{ iscsi: { ...iscsi, iqn: `naa.${'a'.repeat(32)}` } }, []],
    [
      { iscsi: { targetPortal: '', iqn: '', lun: 256 } },
      [
        `${at}.iscsi.targetPortal: Required value`,
        `${at}.iscsi.iqn: Required value`,
        `${at}.iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive`,
      ],
    ],
    ...[
      'iqn.2014-1.com:a',
      'iqn.2014-12.com',
      'iqn.2014-12.com:a,b',
      `eui.${'0'.repeat(17)}`,
      'naa.a',
    ].map((name): [object, string[]] => [
      { iscsi: { ...iscsi, iqn: name } },
      [`${at}.iscsi.iqn: Invalid value: "${name}": must be valid format`],
    ]),
    [
      { iscsi: { ...iscsi, iqn: 'x', lun: -1 } },
      [
        `${at}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
        `${at}.iscsi.lun: Invalid value: -1: must be between 0 and 255, inclusive`,
      ],
    ],
    [{ iscsi: { ...iscsi, chapAuthSession: true } }, [`${at}.iscsi.secretRef: Required value`]],
    [{ iscsi: { ...iscsi, chapAuthDiscovery: true } }, [`${at}.iscsi.secretRef: Required value`]],
    [{ iscsi: { ...iscsi, chapAuthSession: true, secretRef: { name: 's' } } }, []],
    [{ iscsi: { ...iscsi, initiatorName: iqn } }, []],
    [{ iscsi: { ...iscsi, targetPortal: 'p'.repeat(62), initiatorName: iqn } }, []],
    [
      { iscsi: { ...iscsi, targetPortal: 'p'.repeat(63), initiatorName: 'y' } },
      [
        `${at}.iscsi.initiatorname: Invalid value: "y": must be valid format starting with iqn, eui, or naa`,
        contains(`must be under 64 characters if iscsi.initiatorName is specified.`),
      ],
    ],
    [{ fc: { targetWWNs: ['w'], lun: 255 } }, []],
    [{ fc: { wwids: ['w'] } }, []],
    [
      { fc: {} },
      [
        `${at}.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both`,
      ],
    ],
    [
      { fc: { targetWWNs: ['w'], wwids: ['x'] } },
      [
        contains('targetWWNs and wwids can not be specified simultaneously'),
        `${at}.fc.lun: Required value: lun is required if targetWWNs is specified`,
      ],
    ],
    [
      { fc: { targetWWNs: ['w'], lun: 256 } },
      [`${at}.fc.lun: Invalid value: 256: must be between 0 and 255, inclusive`],
    ],
    [{ quobyte: { registry: 'a:1,[::1]:2', volume: 'v', tenant: 't'.repeat(64) } }, []],
    [
      { quobyte: { registry: 'a:1,b', volume: '' } },
      [contains(`${at}.quobyte.registry: Invalid value`), `${at}.quobyte.volume: Required value`],
    ],
    [
      { quobyte: { registry: '', volume: 'v' } },
      [contains(`${at}.quobyte.registry: Required value`)],
    ],
    [
      { quobyte: { registry: 'a:1', volume: 'v', tenant: 't'.repeat(65) } },
      [contains(`${at}.quobyte.tenant: Required value: must be a UUID`)],
    ],
    [
      { flocker: {} },
      [`${at}.flocker: Required value: one of datasetName and datasetUUID is required`],
    ],
    [
      { flocker: { datasetName: 'a/b', datasetUUID: 'u' } },
      [
        contains('datasetName and datasetUUID can not be specified simultaneously'),
        `${at}.flocker.datasetName: Invalid value: "a/b": must not contain '/'`,
      ],
    ],
    [
      { azureDisk: { diskName: 'd', diskURI: 'https://a', kind: 'Shared', cachingMode: 'None' } },
      [],
    ],
    [{ azureDisk: { diskName: 'd', diskURI: '/subscriptions/s', kind: 'Managed' } }, []],
    [
      { azureDisk: { diskName: '', diskURI: 'https://a', kind: 'Managed', cachingMode: 'All' } },
      [
        `${at}.azureDisk.diskName: Required value`,
        contains(`${at}.azureDisk.cachingMode: Unsupported value: "All"`),
        contains(`${at}.azureDisk.diskURI: Unsupported value: "https://a"`),
      ],
    ],
    [
      { azureDisk: { diskName: 'd', diskURI: '/subscriptions/s', kind: 'Dedicated' } },
      [contains(`${at}.azureDisk.diskURI: Unsupported value: "/subscriptions/s"`)],
    ],
    [{ flexVolume: { driver: 'd', options: { 'example.com/a': 'b', notk8s: 'c' } } }, []],
    [
      { flexVolume: { driver: '', options: { 'A.Kubernetes.io/a': 'b', 'k8s.io/c': 'd' } } },
      [
        `${at}.flexVolume.driver: Required value`,
        contains('kubernetes.io and k8s.io namespaces are reserved'),
        contains('kubernetes.io and k8s.io namespaces are reserved'),
      ],
    ],
    [
      { gcePersistentDisk: { pdName: '', partition: 256 } },
      [
        `${at}.persistentDisk.pdName: Required value`,
        `${at}.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive`,
      ],
    ],
    [{ awsElasticBlockStore: { volumeID: 'v', partition: 255 } }, []],
    [
      { awsElasticBlockStore: { volumeID: 'v', partition: -1 } },
      [
        `${at}.awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive`,
      ],
    ],
    [{ cinder: { volumeID: 'v', secretRef: { name: 's' } } }, []],
    [
      { cinder: { volumeID: '', secretRef: {} } },
      [`${at}.cinder.volumeID: Required value`, `${at}.cinder.secretRef.name: Required value`],
    ],
    [
      { storageos: { volumeName: 'A', volumeNamespace: 'B', secretRef: {} } },
      [
        contains(`${at}.storageos.volumeName: Invalid value: "A"`),
        contains(`${at}.storageos.volumeNamespace: Invalid value: "B"`),
        `${at}.storageos.secretRef.name: Required value`,
      ],
    ],
    [{ storageos: {} }, [`${at}.storageos.volumeName: Required value`]],
    [
      { glusterfs: {} },
      [`${at}.glusterfs.endpoints: Required value`, `${at}.glusterfs.path: Required value`],
    ],
    [
      { rbd: { monitors: [], image: '' } },
      [`${at}.rbd.monitors: Required value`, `${at}.rbd.image: Required value`],
    ],
    [{ cephfs: { monitors: [] } }, [`${at}.cephfs.monitors: Required value`]],
    [
      { azureFile: {} },
      [`${at}.azureFile.secretName: Required value`, `${at}.azureFile.shareName: Required value`],
    ],
    [{ vsphereVolume: {} }, [`${at}.vsphereVolume.volumePath: Required value`]],
    [{ photonPersistentDisk: {} }, [`${at}.photonPersistentDisk.pdID: Required value`]],
    [{ portworxVolume: {} }, [`${at}.portworxVolume.volumeID: Required value`]],
    [
      { scaleIO: {} },
      [
        `${at}.scaleIO.gateway: Required value`,
        `${at}.scaleIO.system: Required value`,
        `${at}.scaleIO.volumeName: Required value`,
      ],
    ],
  ])

  test('have names, and are claimed once', () => {
    expect(faults({ emptyDir: {} }, '')).toEqual([`${at}.name: Required value`])
    expect(faults({ emptyDir: {} }, 'V')).toEqual([contains(`${at}.name: Invalid value: "V"`)])
    const ephemeral = {
      volumeClaimTemplate: {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
      },
    }
    const own = { name: 'o', ephemeral }
    const claiming = (claimName: string) =>
      faultsOf({ volumes: [own, { name: 'v', persistentVolumeClaim: { claimName } }] })
    expect(claiming('x-v')).toEqual([])
    expect(claiming('x-o')).toEqual([
      'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "x-o": must not reference a PVC that gets created for an ephemeral volume',
    ])
    const long = pods.createFaults({
      metadata: { name: 'x'.repeat(253) },
      spec: { containers: [container], volumes: [own] },
    })
    expect(long).toEqual([contains(`${at}.name: Invalid value: "o": PVC name`)])
    const named = {
      volumeClaimTemplate: {
        ...ephemeral.volumeClaimTemplate,
        metadata: { name: 'n', labels: { a: 'b' } },
      },
    }
    expect(faults({ ephemeral: named })).toEqual([
      `${at}.ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set`,
    ])
  })
})

describe('projected volumes', () => {
  const at = 'spec.volumes[0].projected'
  const faults = (...sources: object[]) =>
    faultsOf({
      serviceAccountName: 'sa',
      volumes: [{ name: 'v', projected: { sources } }],
    })
  const token = (more: object) => ({ serviceAccountToken: { path: 't', ...more } })

  test('hold tokens of ten minutes at least', () => {
    expect(
      faults(token({ expirationSeconds: 600 }), token({ expirationSeconds: 2 ** 32 })),
    ).toEqual([])
    expect(
      faults(token({ expirationSeconds: 599 }), token({ expirationSeconds: 2 ** 32 + 1 })),
    ).toEqual([
      `${at}.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes`,
      `${at}.sources[1].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds`,
    ])
    expect(faults(token({ path: '' }))).toEqual([`${at}.path: Required value`])
    expect(faults(token({ path: '../t' }))).not.toEqual([])
  })

  test('hold one thing per source, each at a path of its own', () => {
    const items = [{ key: 'k', path: 'p' }]
    const secret = { secret: { name: 's', items } }
    const configMap = { configMap: { name: 'm', items } }
    const downwardAPI = { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] }
    expect(faults(secret, { configMap: { name: 'm' } })).toEqual([])
    expect(faults(secret, configMap, { downwardAPI })).toEqual([
      `${at}: Invalid value: "m": conflicting duplicate paths`,
      `${at}: Invalid value: "p": conflicting duplicate paths`,
    ])
    expect(faults({ secret: {} }, { configMap: { items: [{ key: '', path: 'p' }] } })).toEqual([
      `${at}.sources[0].secret.name: Required value`,
      `${at}.sources[1].configMap.name: Required value`,
      `${at}.sources[1].configMap.items[0].key: Required value`,
    ])
    expect(faults({ secret: { name: 's' }, configMap: { name: 'm' } })).toEqual([
      `${at}.sources[0]: Forbidden: may not specify more than 1 volume type`,
    ])
  })
})

describe('mounts and devices', () => {
  const at = 'spec.containers[0]'
  const volumes = [
    { name: 'v', emptyDir: {} },
    { name: 'w', persistentVolumeClaim: { claimName: 'w' } },
  ]
  const mounts = (...volumeMounts: object[]) => faultsOfContainer({ volumeMounts }, { volumes })
  const devices = (volumeDevices: object[], volumeMounts: object[] = []) =>
    faultsOfContainer({ volumeDevices, volumeMounts }, { volumes })
  const mount = { name: 'v', mountPath: '/v' }
  const device = { name: 'w', devicePath: '/dev/w' }

  test('a mount has a path of its own, and stays below its volume', () => {
    expect(mounts(mount, { ...mount, mountPath: '/w' })).toEqual([])
    expect(mounts(mount, mount)).toEqual([
      `${at}.volumeMounts[1].mountPath: Invalid value: "/v": must be unique`,
    ])
    expect(mounts({ name: '', mountPath: '' })).toEqual([
      `${at}.volumeMounts[0].name: Required value`,
      `${at}.volumeMounts[0].name: Not found: ""`,
      `${at}.volumeMounts[0].mountPath: Required value`,
    ])
    expect(mounts({ ...mount, subPath: '../a' })).toEqual([
      `${at}.volumeMounts.subPath: Invalid value: "../a": must not contain '..'`,
    ])
    expect(mounts({ ...mount, subPathExpr: '/a' })).toEqual([
      contains(`${at}.volumeMounts.subPathExpr: Invalid value: "/a"`),
    ])
    expect(mounts({ ...mount, subPath: 'a', subPathExpr: 'b' })).toEqual([
      `${at}.volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and subPath are mutually exclusive`,
    ])
  })

  test('only privileged containers pass mounts on to the host', () => {
    const both = { ...mount, mountPropagation: 'Bidirectional' }
    const only = `${at}.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`
    expect(mounts(both)).toEqual([only])
    const withContext = (securityContext: object) =>
      faultsOfContainer({ volumeMounts: [both], securityContext }, { volumes })
    expect(withContext({ privileged: false })).toEqual([only])
    expect(withContext({ privileged: true })).toEqual([])
    expect(mounts({ ...mount, mountPropagation: 'HostToContainer' })).toEqual([])
    expect(mounts({ ...mount, mountPropagation: 'Sideways' })).toEqual([
      contains(`${at}.volumeMounts.mountPropagation: Unsupported value: "Sideways"`),
    ])
  })

  test('what is read-only recursively is read-only, and passed on nowhere', () => {
    const place = `${at}.volumeMounts[0].recursiveReadOnly`
    const recursive = (recursiveReadOnly: string, more: object = {}) =>
      mounts({ ...mount, recursiveReadOnly, ...more })
    expect(recursive('Disabled')).toEqual([])
    expect(recursive('Enabled', { readOnly: true })).toEqual([])
    expect(recursive('IfPossible', { readOnly: true, mountPropagation: 'None' })).toEqual([])
    expect(recursive('Enabled', { mountPropagation: 'HostToContainer' })).toEqual([
      `${place}: Forbidden: may only be specified when readOnly is true`,
      `${place}: Forbidden: may only be specified when mountPropagation is None or not specified`,
    ])
    expect(recursive('Always', { readOnly: true })).toEqual([
      contains(`${place}: Unsupported value: "Always"`),
    ])
  })

  test('a device is a claim, at a path of its own, and no mount', () => {
    const place = `${at}.volumeDevices`
    expect(devices([device])).toEqual([])
    expect(devices([device, device])).toEqual([
      `${place}[1].name: Invalid value: "w": must be unique`,
      `${place}[1].devicePath: Invalid value: "/dev/w": must be unique`,
    ])
    expect(devices([{ name: 'v', devicePath: '/a/../b' }])).toEqual([
      `${place}[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
      `${place}[0].devicePath: Invalid value: "/a/../b": can not contain backsteps ('..')`,
    ])
    expect(devices([{ name: '', devicePath: '' }])).toEqual([
      `${place}[0].name: Required value`,
      `${place}[0].name: Not found: ""`,
      `${place}[0].devicePath: Required value`,
    ])
    expect(devices([device], [{ name: 'w', mountPath: '/dev/w' }])).toEqual([
      `${at}.volumeMounts[0].name: Invalid value: "w": must not already exist in volumeDevices`,
      `${at}.volumeMounts[0].mountPath: Invalid value: "/dev/w": must not already exist as a path in volumeDevices`,
      `${place}[0].name: Invalid value: "w": must not already exist in volumeMounts`,
      `${place}[0].devicePath: Invalid value: "/dev/w": must not already exist as a path in volumeMounts`,
    ])
  })
})
