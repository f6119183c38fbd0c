/** Rules of a Pod's spec, part by part: security contexts, Windows, annotations, volumes, mounts, probes and the rest. */
import { describe, expect, test } from 'vitest'
import { strategyRuns } from '../../support/strategy-runs.ts'

const pods = strategyRuns('pods')
const container = { name: 'c', image: 'i' }
const contains = (text: string): string => expect.stringContaining(text) as unknown as string

const faultsOf = (spec: object, metadata: object = {}): string[] =>
  pods.createFaults({ metadata, spec: { containers: [container], ...spec } })
const faultsOfContainer = (fields: object, spec: object = {}): string[] =>
  faultsOf({ containers: [{ ...container, ...fields }], ...spec })

/** A row per rule: what the part is, and what is said of it. */
function rules(of: (part: object) => string[], rows: readonly (readonly [object, string[]])[]) {
  test.each(rows)('%j', (part, faults) => {
    expect(of(part)).toEqual(faults)
  })
}

const idText = 'must be between 0 and 2147483647, inclusive'

describe('security context of a Pod', () => {
  const at = 'spec.securityContext'
  rules(
    (securityContext) => faultsOf({ securityContext }),
    [
      [{ fsGroup: 0, runAsUser: 0, runAsGroup: 2 ** 31 - 1, supplementalGroups: [1] }, []],
      [
        { fsGroup: -1, runAsUser: 2 ** 31, runAsGroup: -1, supplementalGroups: [0, -1] },
        [
          `${at}.fsGroup: Invalid value: -1: ${idText}`,
          `${at}.runAsUser: Invalid value: 2147483648: ${idText}`,
          `${at}.runAsGroup: Invalid value: -1: ${idText}`,
          `${at}.supplementalGroups[1]: Invalid value: -1: ${idText}`,
        ],
      ],
      [{ fsGroupChangePolicy: 'Always' }, []],
      [{ fsGroupChangePolicy: 'OnRootMismatch' }, []],
      [
        { fsGroupChangePolicy: 'Never' },
        [
          `${at}.fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch"`,
        ],
      ],
      [
        { seccompProfile: {} },
        [`${at}.seccompProfile.type: Required value: type is required when seccompProfile is set`],
      ],
      [{ appArmorProfile: { type: 'Localhost', localhostProfile: 'x' } }, []],
      [{ appArmorProfile: { type: 'RuntimeDefault' } }, []],
      [
        { appArmorProfile: { type: 'Unconfined', localhostProfile: 'x' } },
        [
          `${at}.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost`,
        ],
      ],
      [
        { appArmorProfile: { type: 'RuntimeDefault', localhostProfile: 'x' } },
        [
          `${at}.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost`,
        ],
      ],
      [
        { appArmorProfile: { type: 'Localhost', localhostProfile: '' } },
        [
          `${at}.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
        ],
      ],
      [
        { appArmorProfile: { type: 'Localhost' } },
        [
          `${at}.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
        ],
      ],
      [
        { appArmorProfile: { type: 'Localhost', localhostProfile: ' x' } },
        [
          `${at}.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace`,
        ],
      ],
      [{ appArmorProfile: { type: 'Localhost', localhostProfile: 'x'.repeat(4095) } }, []],
      [
        { appArmorProfile: { type: 'Localhost', localhostProfile: 'x'.repeat(4096) } },
        [contains(`${at}.appArmorProfile.localhostProfile: Too long`)],
      ],
      [
        { appArmorProfile: { type: '' } },
        [
          `${at}.appArmorProfile.type: Required value: type is required when appArmorProfile is set`,
        ],
      ],
      [
        { appArmorProfile: { type: 'Other' } },
        [
          `${at}.appArmorProfile.type: Unsupported value: "Other": supported values: "Localhost", "RuntimeDefault", "Unconfined"`,
        ],
      ],
    ],
  )

  test('processes are shared within the Pod, or with the host, not both', () => {
    expect(faultsOf({ shareProcessNamespace: true })).toEqual([])
    expect(faultsOf({ hostPID: true })).toEqual([])
    expect(faultsOf({ shareProcessNamespace: true, hostPID: true })).toEqual([
      `${at}.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled`,
    ])
  })
})

describe('fields whose feature is off, of a Pod that has them', () => {
  const faults = (spec: object): string[] => {
    const old = pods.created({ spec: { containers: [container] } })
    const now = { ...old, spec: { ...(old['spec'] as object), ...spec } }
    return pods.updateFaults(now, now)
  }

  test('with users of its own it shares nothing of the host', () => {
    const host = { hostNetwork: true, hostPID: true, hostIPC: true }
    expect(faults({ ...host, hostUsers: true })).toEqual([])
    expect(faults({ hostUsers: false })).toEqual([])
    expect(faults({ ...host, hostUsers: false })).toEqual([
      'spec.hostNetwork: Forbidden: when `pod.Spec.HostUsers` is false',
      'spec.HostPID: Forbidden: when `pod.Spec.HostUsers` is false',
      'spec.HostIPC: Forbidden: when `pod.Spec.HostUsers` is false',
    ])
    expect(faults({ hostUsers: false, os: { name: 'windows' } })).toEqual([
      'spec.hostUsers: Forbidden: cannot be set for a windows pod',
    ])
  })

  test('groups are added in one of two ways, /proc is mounted in one of two', () => {
    const groups = (supplementalGroupsPolicy: string) =>
      faults({ securityContext: { supplementalGroupsPolicy } })
    expect([...groups('Merge'), ...groups('Strict')]).toEqual([])
    expect(groups('None')).toEqual([
      'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "None": supported values: "Merge", "Strict"',
    ])
    const proc = (procMount: string) => {
      const { spec } = pods.created({ spec: { containers: [container] } })
      const [made] = spec.containers as object[]
      return faults({ containers: [{ ...made, securityContext: { procMount } }] })
    }
    expect([...proc('Default'), ...proc('Unmasked')]).toEqual([])
    expect(proc('Masked')).toEqual([
      'spec.containers[0].securityContext.procMount: Unsupported value: "Masked": supported values: "Default", "Unmasked"',
    ])
  })
})

describe('sysctls', () => {
  const faults = (names: readonly string[], spec: object = {}) =>
    faultsOf({
      securityContext: { sysctls: names.map((name) => ({ name, value: '1' })) },
      ...spec,
    })
  const at = (index: number) => `spec.securityContext.sysctls[${index}].name`

  test('have names in dots or slashes, each once', () => {
    expect(
      faults(['kernel.shm_rmid_forced', 'net/ipv4/conf/eth0.100/forwarding', 'a-b.c']),
    ).toEqual([])
    for (const name of ['a..b', '-a', 'a-', 'A', 'a b', `a.${'b'.repeat(252)}`]) {
      expect(faults([name])).toEqual([contains(`${at(0)}: Invalid value: "${name}": must have at`)])
    }
    expect(faults([`a.${'b'.repeat(251)}`])).toEqual([])
    expect(faults(['', 'a', 'a'])).toEqual([
      `${at(0)}: Required value`,
      `${at(2)}: Duplicate value: "a"`,
    ])
  })

  test('of the network or of messages are not those of the host', () => {
    const net = ['net.core.somaxconn', 'net/core/somaxconn']
    const ipc = ['kernel.sem', 'kernel.shmmax', 'kernel.msgmax', 'fs.mqueue.x', 'kernel/sem']
    const other = ['network.x', 'kernel.semaphore', 'fs.mqueues', 'vm.swappiness', 'a.net/x']
    expect(faults([...net, ...ipc, ...other])).toEqual([])
    expect(faults([...net, ...ipc, ...other], { hostNetwork: true })).toEqual(
      net.map(
        (name, i) =>
          `${at(i)}: Invalid value: "${name}": may not be specified when 'hostNetwork' is true`,
      ),
    )
    expect(faults([...ipc, ...net, ...other], { hostIPC: true })).toEqual(
      ipc.map(
        (name, i) =>
          `${at(i)}: Invalid value: "${name}": may not be specified when 'hostIPC' is true`,
      ),
    )
  })
})

describe('security context of a container', () => {
  const at = 'spec.containers[0].securityContext'
  const addsAdmin = { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } }
  rules(
    (securityContext) => faultsOfContainer({ securityContext }),
    [
      [{ runAsUser: 0, runAsGroup: 0, procMount: 'Default' }, []],
      [
        { runAsUser: -1, runAsGroup: 2 ** 31 },
        [
          `${at}.runAsUser: Invalid value: -1: ${idText}`,
          `${at}.runAsGroup: Invalid value: 2147483648: ${idText}`,
        ],
      ],
      [
        addsAdmin,
        [
          contains(
            'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
          ),
        ],
      ],
      [{ ...addsAdmin, allowPrivilegeEscalation: true }, []],
      [{ ...addsAdmin, capabilities: { add: ['SYS_ADMIN', 'CAP_NET_ADMIN'] } }, []],
      [{ ...addsAdmin, capabilities: {} }, []],
      [{ privileged: true }, []],
      [{ privileged: true, allowPrivilegeEscalation: true }, []],
      [
        { seccompProfile: { type: 'Localhost' }, appArmorProfile: { type: 'Localhost' } },
        [
          `${at}.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost`,
          `${at}.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
        ],
      ],
    ],
  )
})

describe('options of Windows', () => {
  const faults = (windowsOptions: object) => faultsOf({ securityContext: { windowsOptions } })
  const at = 'spec.securityContext.windowsOptions'
  const under64 = 'gmsaCredentialSpec size must be under 64 KiB'

  test('name credentials, and hold at most 64 KiB of them', () => {
    expect(faults({ gmsaCredentialSpecName: 'a.b', gmsaCredentialSpec: '{}' })).toEqual([])
    expect(faults({ gmsaCredentialSpecName: 'A', gmsaCredentialSpec: '' })).toEqual([
      contains(`${at}.gmsaCredentialSpecName: Invalid value: "A"`),
      `${at}.gmsaCredentialSpec: Invalid value: "": gmsaCredentialSpec cannot be an empty string`,
    ])
    expect(faults({ gmsaCredentialSpec: 'x'.repeat(65_536) })).toEqual([])
    expect(faults({ gmsaCredentialSpec: 'x'.repeat(65_537) })).toEqual([contains(under64)])
  })

  test.each<[string, string[]]>([
    ['Administrator', []],
    ['host\\a user', []],
    ['example.com\\user', []],
    [`${'a'.repeat(15)}\\user`, []],
    [`\\user`, ["Domain doesn't match the NetBios nor the DNS format"]],
    ['.\\user', ["Domain doesn't match the NetBios nor the DNS format"]],
    [`${'a'.repeat(16)}?\\user`, ["Domain doesn't match the NetBios nor the DNS format"]],
    ['a-.b\\user', []],
    [`${'a'.repeat(63)}.b\\user`, []],
    [`${'a'.repeat(64)}.b\\user`, ["Domain doesn't match the NetBios nor the DNS format"]],
    [`${'a.'.repeat(127)}a\\user`, []],
    [`${'a.'.repeat(127)}ab\\user`, ['Domain length must be under 256 characters']],
    ['a\\b\\c', ['runAsUserName cannot contain more than one backslash']],
    ['', ['runAsUserName cannot be an empty string']],
    ['a\tb', ['runAsUserName cannot contain control characters']],
    ['a\x7f', ['runAsUserName cannot contain control characters']],
    ['host\\', ['User cannot be empty']],
    ['u'.repeat(104), []],
    ['u'.repeat(105), ['User length must not be longer than 104 characters']],
    ['. .', ['User cannot contain only periods or spaces']],
    ['a.', []],
    ['a[b', ['User cannot contain the following characters']],
    ['a/b', ['User cannot contain the following characters']],
  ])('the user %j', (runAsUserName, found) => {
    expect(faults({ runAsUserName })).toEqual(found.map((text) => contains(text)))
  })

  const onWindows = { windowsOptions: {} }
  test('are refused on Linux, wherever they are', () => {
    const spec = {
      os: { name: 'linux' },
      securityContext: onWindows,
      containers: [{ ...container, securityContext: onWindows }],
      initContainers: [{ ...container, name: 'd', securityContext: onWindows }],
    }
    const why =
      'securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod'
    expect(faultsOf(spec)).toEqual([
      `spec.${why}`,
      `spec.initContainers[0].${why}`,
      `spec.containers[0].${why}`,
    ])
    expect(faultsOf({ ...spec, os: { name: 'windows' } })).toEqual([])
    expect(faultsOf({ os: { name: 'linux' } })).toEqual([])
  })

  test('what Linux has is refused on Windows', () => {
    const profile = { type: 'RuntimeDefault' }
    const both = {
      appArmorProfile: profile,
      seLinuxOptions: {},
      seccompProfile: profile,
      runAsUser: 1,
      runAsGroup: 1,
    }
    const ofPod = {
      ...both,
      fsGroup: 1,
      fsGroupChangePolicy: 'Always',
      sysctls: [{ name: 'a', value: 'b' }],
      supplementalGroups: [1],
    }
    const ofContainer = {
      ...both,
      capabilities: {},
      readOnlyRootFilesystem: false,
      privileged: false,
      allowPrivilegeEscalation: true,
      procMount: 'Default',
    }
    const ofSpec = { hostPID: true, hostIPC: true, shareProcessNamespace: false }
    const found = faultsOf({
      os: { name: 'windows' },
      ...ofSpec,
      securityContext: ofPod,
      containers: [{ ...container, securityContext: ofContainer }],
    })
    const why = 'Forbidden: cannot be set for a windows pod'
    const expected = [
      ...Object.keys(ofSpec).map((field) => `spec.${field}: ${why}`),
      ...Object.keys(ofPod).map((field) => `spec.securityContext.${field}: ${why}`),
      ...Object.keys(ofContainer).map(
        (field) => `spec.containers[0].securityContext.${field}: ${why}`,
      ),
    ]
    expect(found.toSorted()).toEqual(expected.toSorted())
    expect(faultsOf({ os: { name: 'windows' } })).toEqual([])
  })

  test('the operating system is one of two', () => {
    expect(faultsOf({ os: { name: '' } })).toEqual([
      'spec.os.name: Required value: cannot be empty',
    ])
    expect(faultsOf({ os: { name: 'plan9' } })).toEqual([
      'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"',
    ])
  })

  describe('host processes', () => {
    const host = (hostProcess: boolean) => ({ windowsOptions: { hostProcess } })
    const all =
      'spec: Invalid value: "": If pod contains any hostProcess containers then all containers must be HostProcess containers'
    const network =
      'spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers'
    const hostContainer = { ...container, securityContext: host(true) }
    const other = { ...container, name: 'd' }

    rules(
      (spec) => faultsOf(spec),
      [
        [{ hostNetwork: true, securityContext: host(true) }, []],
        [{ hostNetwork: true, containers: [hostContainer] }, []],
        [{ securityContext: host(false) }, []],
        [{ securityContext: host(true) }, [network]],
        [{ hostNetwork: true, containers: [hostContainer, other] }, [all]],
        [{ hostNetwork: true, containers: [hostContainer], initContainers: [other] }, [all]],
        [
          { containers: [other], initContainers: [{ ...hostContainer, name: 'e' }] },
          [all, network],
        ],
        [
          {
            hostNetwork: true,
            securityContext: host(true),
            containers: [{ ...container, securityContext: host(false) }],
          },
          [
            'spec.containers[0].securityContext.windowsOptions.hostProcess: Invalid value: false: pod hostProcess value must be identical if both are specified, was true',
          ],
        ],
      ],
    )
  })
})

describe('annotations', () => {
  const faults = (annotations: object, spec: object = {}) => faultsOf(spec, { annotations })
  const at = (key: string) => `metadata.annotations[${key}]`

  test('a mirror Pod has a node', () => {
    const mirror = { 'kubernetes.io/config.mirror': 'x' }
    expect(faults(mirror)).toEqual([
      `${at('kubernetes.io/config.mirror')}: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`,
    ])
    expect(faults(mirror, { nodeName: 'n' })).toEqual([])
  })

  test('the cost of a deletion is a number of 32 bits', () => {
    const key = 'controller.kubernetes.io/pod-deletion-cost'
    for (const cost of ['0', '7', '-7', '2147483647', '-2147483648']) {
      expect([cost, faults({ [key]: cost })]).toEqual([cost, []])
    }
    for (const cost of ['', '-0', '+1', '01', '1.5', '7x', '2147483648', '-2147483649']) {
      expect(faults({ [key]: cost })).toEqual([
        `${at(key)}: Invalid value: "${cost}": must be a 32bit integer`,
      ])
    }
  })

  test('profiles have names', () => {
    const seccomp = 'container.seccomp.security.alpha.kubernetes.io/c'
    for (const key of [seccomp, 'seccomp.security.alpha.kubernetes.io/pod']) {
      for (const name of ['runtime/default', 'docker/default', 'unconfined', 'localhost/a']) {
        expect([name, faults({ [key]: name })]).toEqual([name, []])
      }
      expect(faults({ [key]: 'a/localhost/' })).toEqual([
        contains('must be a valid seccomp profile'),
      ])
      expect(faults({ [key]: 'localhost/../a' })).toEqual([contains("must not contain '..'")])
    }
    const appArmor = 'container.apparmor.security.beta.kubernetes.io'
    for (const name of ['', 'runtime/default', 'unconfined', 'localhost/a']) {
      expect([name, faults({ [`${appArmor}/c`]: name })]).toEqual([name, []])
    }
    expect(faults({ [`${appArmor}/c`]: 'other' })).toEqual([
      `${at(`${appArmor}/c`)}: Invalid value: "other": invalid AppArmor profile name: "other"`,
    ])
    expect(faults({ [`${appArmor}/d`]: 'unconfined' })).toEqual([
      `${at(`${appArmor}/d`)}: Invalid value: "d": container not found`,
    ])
  })

  test('of mirror Pods and AppArmor stay as they are', () => {
    const appArmor = 'container.apparmor.security.beta.kubernetes.io/c'
    const mirror = 'kubernetes.io/config.mirror'
    const spec = { containers: [container], nodeName: 'n' }
    const faultsFrom = (from: object, to: object) =>
      pods.updateFaults(pods.created({ metadata: { annotations: from }, spec }), {
        metadata: { annotations: to },
        spec,
      })
    for (const [key, kind] of [
      [appArmor, 'AppArmor annotations'],
      [mirror, 'mirror pod annotation'],
    ] as const) {
      const now = { [key]: 'unconfined' }
      expect(faultsFrom(now, now)).toEqual([])
      expect(faultsFrom({}, now)).toContain(`${at(key)}: Forbidden: may not add ${kind}`)
      expect(faultsFrom(now, {})).toContain(
        `${at(key)}: Forbidden: may not remove or update ${kind}`,
      )
      expect(faultsFrom(now, { [key]: 'runtime/default' })).toContain(
        `${at(key)}: Forbidden: may not remove or update ${kind}`,
      )
    }
    expect(faultsFrom({ a: 'b' }, { a: 'c', d: 'e' })).toEqual([])
  })
})

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

describe('containers', () => {
  const at = 'spec.containers[0]'
  const envFrom = (source: object) => faultsOfContainer({ envFrom: [source] })
  const env = (valueFrom: object) => faultsOfContainer({ env: [{ name: 'A', valueFrom }] })
  const probe = (fields: object, kind = 'livenessProbe') => faultsOfContainer({ [kind]: fields })
  const exec = { exec: { command: ['x'] } }

  test('take their environment from one source at a time', () => {
    const none = `${at}.envFrom: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``
    expect(envFrom({ configMapRef: { name: 'm' }, prefix: 'P_' })).toEqual([])
    expect(envFrom({ prefix: 'P' })).toEqual([none])
    expect(envFrom({ configMapRef: { name: 'm' }, secretRef: { name: '' } })).toEqual([
      `${at}.envFrom[0].secretRef.name: Required value`,
      `${at}.envFrom: Invalid value: "": may not have more than one field specified at a time`,
    ])
    expect(envFrom({ secretRef: { name: 'S' } })).toEqual([
      contains(`${at}.envFrom[0].secretRef.name: Invalid value: "S"`),
    ])
    expect(envFrom({ prefix: 'a=', secretRef: { name: 's' } })).toEqual([
      contains(`${at}.envFrom[0].prefix: Invalid value: "a="`),
    ])
    expect(env({ secretKeyRef: { name: 'S', key: '' } })).toEqual([
      contains(`${at}.env[0].valueFrom.secretKeyRef.name: Invalid value: "S"`),
      `${at}.env[0].valueFrom.secretKeyRef.key: Required value`,
    ])
    expect(env({ configMapKeyRef: { name: 'm', key: 'a b' } })).toEqual([
      contains(`${at}.env[0].valueFrom.configMapKeyRef.key: Invalid value: "a b"`),
    ])
  })

  test('show resources divided by what fits them', () => {
    const resource = (name: string, divisor: string) =>
      env({ resourceFieldRef: { resource: name, divisor } })
    expect(resource('limits.cpu', '1m')).toEqual([])
    expect(resource('limits.cpu', '0')).toEqual([])
    expect(resource('requests.memory', '1Ki')).toEqual([])
    expect(resource('limits.hugepages-2Mi', '1')).toEqual([])
    for (const [name, divisor, text] of [
      ['limits.cpu', '1Ki', 'cpu'],
      ['requests.memory', '1m', 'memory'],
      ['limits.ephemeral-storage', '2', 'local ephemeral storage'],
      ['requests.hugepages-2Mi', '1m', 'hugepages'],
    ] as const) {
      expect(resource(name, divisor)).toEqual([contains(`are supported with the ${text} resource`)])
    }
    expect(resource('limits.x', '1')).toEqual([contains('Unsupported value: "limits.x"')])
  })

  test('do not share a host port', () => {
    const port = (containerPort: number, more: object = {}) => ({
      containerPort,
      hostPort: 80,
      ...more,
    })
    const ports = (...list: object[]) => faultsOfContainer({ ports: list })
    expect(ports(port(1), port(2, { protocol: 'UDP' }), port(3, { hostIP: '10.0.0.1' }))).toEqual(
      [],
    )
    expect(ports(port(1), port(2))).toEqual([`${at}.ports[1].hostPort: Duplicate value: "TCP//80"`])
    const other = { ...container, name: 'd', ports: [port(2)] }
    expect(faultsOf({ containers: [{ ...container, ports: [port(1)] }, other] })).toEqual([
      'spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"',
    ])
    expect(ports({ containerPort: 1, hostPort: 70_000 })).toEqual([
      contains(`${at}.ports[0].hostPort: Invalid value: 70000`),
    ])
    expect(
      faultsOfContainer({ ports: [{ containerPort: 1, hostPort: 2 }] }, { hostNetwork: true }),
    ).toEqual([
      `${at}.ports[0].hostPort: Invalid value: 2: must match \`containerPort\` when \`hostNetwork\` is true`,
    ])
  })

  test('restart as the Pod says, but for init containers that stay', () => {
    expect(faultsOfContainer({ restartPolicy: 'Always' })).toEqual([
      `${at}.restartPolicy: Forbidden: may not be set for non-init containers`,
    ])
    const init = (fields: object) =>
      faultsOf({ initContainers: [{ name: 'i', image: 'i', ...fields }] })
    expect(init({ restartPolicy: 'Always', livenessProbe: exec })).toEqual([])
    expect(init({ restartPolicy: 'Never' })).toEqual([
      'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"',
    ])
    expect(init({ restartPolicy: 'Always', livenessProbe: {} })).toEqual([
      'spec.initContainers[0].livenessProbe: Required value: must specify a handler type',
    ])
    const lacks = 'Forbidden: may not be set for init containers without restartPolicy=Always'
    const running = { livenessProbe: exec, readinessProbe: exec, startupProbe: exec, lifecycle: {} }
    expect(init(running).toSorted()).toEqual(
      Object.keys(running)
        .map((field) => `spec.initContainers[0].${field}: ${lacks}`)
        .toSorted(),
    )
  })

  test('are probed in one way', () => {
    const place = `${at}.livenessProbe`
    const http = { path: '/', port: 80, scheme: 'HTTP' }
    expect(probe({ httpGet: http })).toEqual([])
    expect(probe({ exec: { command: [] } })).toEqual([`${place}.exec.command: Required value`])
    expect(probe({ ...exec, tcpSocket: { port: 1 } })).toEqual([
      `${place}.tcpSocket: Forbidden: may not specify more than 1 handler type`,
    ])
    expect(probe({ tcpSocket: { port: 0 } })).toEqual([contains(`${place}.tcpSocket.port`)])
    expect(probe({ grpc: { port: 70_000 } })).toEqual([contains(`${place}.grpc.port`)])
    expect(probe({ httpGet: { ...http, scheme: 'FTP' } })).toEqual([
      `${place}.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`,
    ])
    expect(probe({ httpGet: { ...http, httpHeaders: [{ name: 'a b', value: 'c' }] } })).toEqual([
      contains(`${place}.httpGet.httpHeaders: Invalid value: "a b"`),
    ])
    expect(probe({ ...exec, periodSeconds: -1, terminationGracePeriodSeconds: 0 })).toEqual([
      contains(`${place}.periodSeconds: Invalid value: -1`),
      `${place}.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
    ])
    for (const kind of ['livenessProbe', 'startupProbe']) {
      expect(probe({ ...exec, successThreshold: 2 }, kind)).toEqual([
        `${at}.${kind}.successThreshold: Invalid value: 2: must be 1`,
      ])
    }
    expect(probe({ ...exec, successThreshold: 2 }, 'readinessProbe')).toEqual([])
    expect(probe({ ...exec, terminationGracePeriodSeconds: 1 }, 'readinessProbe')).toEqual([
      `${at}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes`,
    ])
  })

  test('sleep no longer than they have to end', () => {
    const sleep = (seconds: number) =>
      faultsOfContainer(
        { lifecycle: { preStop: { sleep: { seconds } } } },
        { terminationGracePeriodSeconds: 5 },
      )
    expect([...sleep(1), ...sleep(5)]).toEqual([])
    for (const seconds of [0, -1, 6]) {
      expect(sleep(seconds)).toEqual([
        contains('must be greater than 0 and less than terminationGracePeriodSeconds (5)'),
      ])
    }
    expect(faultsOfContainer({ lifecycle: { postStart: {} } })).toEqual([
      `${at}.lifecycle.postStart: Required value: must specify a handler type`,
    ])
  })
})

describe('where a Pod runs', () => {
  const nodes = (requirement: object, list = 'matchExpressions') =>
    faultsOf({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ [list]: [requirement] }],
          },
        },
      },
    })
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  const at = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0]`
  const key = 'a'

  rules(nodes, [
    [{ key, operator: 'In', values: ['b'] }, []],
    [{ key, operator: 'Exists' }, []],
    [{ key, operator: 'Gt', values: ['1'] }, []],
    [
      { key, operator: 'NotIn' },
      [
        `${at}.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      ],
    ],
    [
      { key, operator: 'DoesNotExist', values: ['b'] },
      [
        `${at}.matchExpressions[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      ],
    ],
    [
      { key, operator: 'Lt', values: ['1', '2'] },
      [
        `${at}.matchExpressions[0].values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
      ],
    ],
    [
      { key: 'a b', operator: 'Like' },
      [
        `${at}.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator`,
        contains(`${at}.matchExpressions[0].key: Invalid value: "a b"`),
      ],
    ],
  ])

  test('a node is named by its name alone', () => {
    const fields = (requirement: object) => nodes(requirement, 'matchFields')
    const name = 'metadata.name'
    expect(fields({ key: name, operator: 'In', values: ['n'] })).toEqual([])
    expect(fields({ key: name, operator: 'NotIn', values: ['n', 'm'] })).toEqual([
      contains(`${at}.matchFields[0].values: Required value: must be only one value`),
    ])
    expect(fields({ key: name, operator: 'Exists' })).toEqual([
      contains(`${at}.matchFields[0].operator: Invalid value: "Exists"`),
    ])
    expect(fields({ key: 'spec.x', operator: 'In', values: ['A'] })).toEqual([
      `${at}.matchFields[0].key: Invalid value: "spec.x": not a valid field selector key`,
    ])
    expect(fields({ key: name, operator: 'In', values: ['A'] })).toEqual([
      contains(`${at}.matchFields[0].values[0]: Invalid value: "A"`),
    ])
  })

  test('preferences weigh 1 to 100', () => {
    const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'
    const weighing = (weight: number) =>
      faultsOf({
        affinity: {
          nodeAffinity: { [preferred]: [{ weight, preference: { matchFields: [{ key: 'x' }] } }] },
          podAntiAffinity: { [preferred]: [{ weight, podAffinityTerm: { topologyKey: 'zone' } }] },
        },
      }).filter((fault) => fault.includes('weight'))
    expect([...weighing(1), ...weighing(100)]).toEqual([])
    for (const weight of [0, 101]) {
      expect(weighing(weight)).toEqual(
        ['nodeAffinity', 'podAntiAffinity'].map(
          (kind) =>
            `spec.affinity.${kind}.${preferred}[0].weight: Invalid value: ${weight}: must be in the range 1-100`,
        ),
      )
    }
    const faults = faultsOf({
      affinity: {
        nodeAffinity: { [preferred]: [{ weight: 1, preference: { matchFields: [{ key: 'x' }] } }] },
      },
    })
    expect(faults).toContainEqual(contains('preference.matchFields[0].operator: Invalid value: ""'))
  })

  test('near other Pods, of labels that are there once', () => {
    const near = (term: object) => faultsOf({ affinity: { podAffinity: { [required]: [term] } } })
    const place = `spec.affinity.podAffinity.${required}[0]`
    const topologyKey = 'zone'
    const labelSelector = { matchLabels: { a: 'b' } }
    expect(near({ topologyKey, labelSelector, namespaces: ['n'] })).toEqual([])
    expect(near({ namespaces: ['N'] })).toEqual([
      contains(`${place}.namespace: Invalid value: "N"`),
      `${place}.topologyKey: Required value: can not be empty`,
      contains(`${place}.topologyKey: Invalid value: ""`),
      contains(`${place}.topologyKey: Invalid value: ""`),
    ])
    expect(near({ topologyKey, matchLabelKeys: ['x'] })).toEqual([
      `${place}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
    ])
    expect(
      near({ topologyKey, labelSelector, matchLabelKeys: ['c', 'd'], mismatchLabelKeys: ['d'] }),
    ).toEqual([
      `${place}.matchLabelKeys[1]: Invalid value: "d": exists in both matchLabelKeys and mismatchLabelKeys`,
    ])
    const twice = {
      matchExpressions: [
        { key: 'c', operator: 'Exists' },
        { key: 'c', operator: 'Exists' },
      ],
    }
    expect(near({ topologyKey, labelSelector: twice, matchLabelKeys: ['c'] })).toContainEqual(
      contains('Invalid value: "c": exists in both matchLabelKeys and labelSelector'),
    )
  })

  test('spread evenly, by each topology once', () => {
    const base = {
      maxSkew: 1,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { a: 'b' } },
    }
    const spread = (...constraints: object[]) =>
      faultsOf({ topologySpreadConstraints: constraints.map((one) => ({ ...base, ...one })) })
    const place = 'spec.topologySpreadConstraints'
    expect(
      spread({ minDomains: 1, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' }),
    ).toEqual([])
    expect(spread({}, { topologyKey: 'host' }, { whenUnsatisfiable: 'ScheduleAnyway' })).toEqual([])
    expect(spread({}, {})).toEqual([
      `${place}[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"`,
    ])
    expect(
      spread({ maxSkew: 0, topologyKey: '', whenUnsatisfiable: 'Maybe', minDomains: 0 }),
    ).toEqual([
      `${place}[0].maxSkew: Invalid value: 0: must be greater than zero`,
      `${place}[0].topologyKey: Required value: can not be empty`,
      contains(`${place}[0].whenUnsatisfiable: Unsupported value: "Maybe"`),
      `${place}[0].minDomains: Invalid value: 0: must be greater than zero`,
      `${place}[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not Maybe`,
    ])
    expect(spread({ nodeAffinityPolicy: 'x', nodeTaintsPolicy: 'y' })).toEqual([
      contains(`${place}[0].nodeAffinityPolicy: Unsupported value: "x"`),
      contains(`${place}[0].nodeTaintsPolicy: Unsupported value: "y"`),
    ])
    expect(spread({ matchLabelKeys: ['a', 'c'] })).toContainEqual(
      `${place}[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector`,
    )
  })

  test('tolerations are of known operators and effects', () => {
    const tolerating = (toleration: object) => faultsOf({ tolerations: [toleration] })
    const place = 'spec.tolerations[0]'
    expect(tolerating({ key, operator: 'Equal', value: 'b', effect: 'NoExecute' })).toEqual([])
    expect(tolerating({ operator: 'Exists' })).toEqual([])
    expect(tolerating({ key: 'a b', operator: 'Like', effect: 'Shun' })).toEqual([
      contains(`${place}.key: Invalid value: "a b"`),
      `${place}.operator: Unsupported value: "Like": supported values: "Equal", "Exists"`,
      contains(`${place}.effect: Unsupported value: "Shun"`),
    ])
    expect(tolerating({ key, value: 'b c' })).toEqual([
      contains(`${place}.operator: Invalid value: "b c"`),
    ])
    expect(tolerating({ key, operator: 'Exists', value: 'b' })).toEqual([
      contains("value must be empty when `operator` is 'Exists'"),
    ])
  })
})

describe('names and DNS', () => {
  const aliases = (...hostAliases: object[]) => faultsOf({ hostAliases })
  const dns = (dnsConfig: object, dnsPolicy = 'None') => faultsOf({ dnsConfig, dnsPolicy })
  const nameservers = ['10.0.0.1']

  test('aliases of hosts are addresses and names', () => {
    expect(aliases({ ip: '10.0.0.1', hostnames: ['a', 'b.c'] }, { ip: '::1' })).toEqual([])
    expect(aliases({ ip: 'x', hostnames: ['a', 'B'] })).toEqual([
      contains('spec.hostAliases[0].ip: Invalid value: "x"'),
      contains('spec.hostAliases[0].hostnames[1]: Invalid value: "B"'),
    ])
  })

  test('a Pod without DNS of the cluster names a server', () => {
    expect(dns({ nameservers })).toEqual([])
    expect(faultsOf({ dnsPolicy: 'None' })).toEqual([
      'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None',
    ])
    expect(dns({})).toEqual([
      'spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
    ])
    expect(dns({}, 'Default')).toEqual([])
  })

  test('of three servers, 32 search paths and 2048 characters at most', () => {
    const searches = (count: number, length: number) =>
      Array.from({ length: count }, () => `${'a'.repeat(length - 2)}.b`)
    expect(dns({ nameservers: Array(3).fill('10.0.0.1'), searches: searches(32, 63) })).toEqual([])
    expect(dns({ nameservers: Array(4).fill('10.0.0.1') })).toEqual([
      contains('must not have more than 3 nameservers'),
    ])
    expect(dns({ nameservers, searches: searches(33, 3) })).toEqual([
      contains('must not have more than 32 search paths'),
    ])
    expect(dns({ nameservers, searches: [...searches(31, 63), ...searches(1, 65)] })).toEqual([
      contains('must not have more than 2048 characters'),
    ])
    expect(
      dns({ nameservers: ['x'], searches: ['a.', 'B'], options: [{}, { name: 'n' }] }),
    ).toEqual([
      contains('spec.dnsConfig.nameservers[0]: Invalid value: "x"'),
      contains('spec.dnsConfig.searches[1]: Invalid value: "B"'),
      'spec.dnsConfig.options[0]: Required value: must not be empty',
    ])
  })

  test('gates have names, those of scheduling each once', () => {
    expect(faultsOf({ readinessGates: [{ conditionType: 'a b' }] })).toEqual([
      contains('spec.readinessGates[0].conditionType: Invalid value: "a b"'),
    ])
    const gate = { name: 'example.com/g' }
    expect(faultsOf({ schedulingGates: [gate, gate] })).toEqual([
      'spec.schedulingGates[1]: Duplicate value: "example.com/g"',
    ])
    expect(faultsOf({ schedulingGates: [{ name: 'a b' }] })).toEqual([
      contains('spec.schedulingGates[0]: Invalid value: "a b"'),
    ])
  })
})

describe('an update', () => {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution'
  const faultsFrom = (from: object, to: object): string[] => {
    const old = pods.created({ spec: { containers: [container], ...from } })
    return pods.updateFaults(old, { spec: { ...(old['spec'] as object), ...to } })
  }
  const mayNot = contains('spec: Forbidden: pod updates may not change fields other than')

  test('keeps the class of service', () => {
    const [made] = pods.created({ spec: { containers: [container] } })['spec']
      .containers as object[]
    const limits = { cpu: '1', memory: '1Gi' }
    expect(faultsFrom({}, { containers: [{ ...made, resources: { limits } }] })).toEqual([
      contains('Pod QoS is immutable'),
      mayNot,
    ])
  })

  test('ends a negative grace period, with one second', () => {
    const old = pods.created({ spec: { containers: [container] } })
    const stored = { ...old, spec: { ...old['spec'], terminationGracePeriodSeconds: -1 } }
    const faults = (terminationGracePeriodSeconds: number) =>
      pods.updateFaults(stored, { spec: { ...old['spec'], terminationGracePeriodSeconds } })
    expect(faults(1)).toEqual([])
    expect(faults(2)).toEqual([mayNot])
    expect(
      faultsFrom({ terminationGracePeriodSeconds: 0 }, { terminationGracePeriodSeconds: 1 }),
    ).toEqual([mayNot])
  })

  test('never takes a deadline away, nor makes it negative', () => {
    expect(faultsFrom({ activeDeadlineSeconds: 5 }, { activeDeadlineSeconds: undefined })).toEqual([
      contains('must not update from a positive integer to nil value'),
    ])
    expect(faultsFrom({}, { activeDeadlineSeconds: 2 ** 31 })).toContainEqual(
      contains('spec.activeDeadlineSeconds: Invalid value: 2147483648'),
    )
  })

  describe('of a Pod that gates hold back', () => {
    const gated = { schedulingGates: [{ name: 'example.com/g' }] }
    const affinity = (...nodeSelectorTerms: object[]) => ({
      affinity: { nodeAffinity: { [required]: { nodeSelectorTerms } } },
    })
    const [a, b] = ['a', 'b'].map((key) => ({ key, operator: 'Exists' }))
    const place = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`

    test('adds to its node selector, and changes nothing there', () => {
      const from = { ...gated, nodeSelector: { x: '1' } }
      expect(faultsFrom(from, { nodeSelector: { x: '1', y: '2' } })).toEqual([])
      for (const nodeSelector of [{ x: '2' }, { y: '2' }, undefined]) {
        expect(faultsFrom(from, { nodeSelector })).toEqual([
          contains('only additions to spec.nodeSelector are allowed (no mutations or deletions)'),
        ])
      }
      expect(
        faultsFrom({ nodeSelector: { x: '1' } }, { nodeSelector: { x: '1', y: '2' } }),
      ).toEqual([mayNot])
    })

    test('gets a node affinity, or a narrower one', () => {
      const term = { matchExpressions: [a] }
      expect(faultsFrom(gated, affinity(term))).toEqual([])
      const from = { ...gated, ...affinity(term) }
      expect(faultsFrom(from, affinity({ matchExpressions: [a, b] }))).toEqual([])
      const named = { key: 'metadata.name', operator: 'In', values: ['n'] }
      expect(faultsFrom(from, affinity({ ...term, matchFields: [named] }))).toEqual([])
      const additions = contains('only additions are allowed (no mutations or deletions)')
      expect(faultsFrom(from, affinity({ matchExpressions: [b, a] }))).toEqual([additions])
      expect(faultsFrom(from, affinity({}))).toEqual([additions])
      const number = contains(`${place}: Invalid value`)
      expect(faultsFrom(from, affinity(term, term))).toEqual([number])
      expect(faultsFrom(from, { affinity: {} })).toEqual([number])
      expect(faultsFrom({ ...gated, ...affinity({}) }, affinity(term))).toEqual([additions])
      expect(faultsFrom({ ...gated, ...affinity({}, term) }, affinity({}, term))).toEqual([])
      const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [] }
      expect(faultsFrom(affinity(term), { affinity: { nodeAffinity: preferred } })).toEqual([
        mayNot,
      ])
      const others = {
        affinity: {
          ...affinity(term).affinity,
          podAffinity: { [required]: [{ topologyKey: 'zone' }] },
        },
      }
      expect(faultsFrom(from, others)).toEqual([mayNot])
    })
  })
})
