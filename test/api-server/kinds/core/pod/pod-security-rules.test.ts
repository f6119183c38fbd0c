/** Rules of a Pod's security contexts, sysctls, Windows options and annotations. */
import { describe, expect, test } from 'vitest'
import { container, contains, faultsOf, faultsOfContainer, pods, rules } from './pod-faults.ts'

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

  const appArmorKey = 'container.apparmor.security.beta.kubernetes.io/c'
  const deprecated = `${at(appArmorKey)}: deprecated since v1.30; use the "appArmorProfile" field instead`
  test.each([
    ['unconfined', undefined, undefined, { type: 'Unconfined' }, 'unconfined', true],
    ['runtime/default', undefined, undefined, { type: 'RuntimeDefault' }, 'runtime/default', true],
    [
      'localhost/a',
      undefined,
      undefined,
      { type: 'Localhost', localhostProfile: 'a' },
      'localhost/a',
      true,
    ],
    ['localhost/', undefined, undefined, undefined, 'localhost/', true],
    ['', undefined, undefined, undefined, '', true],
    ['unconfined', undefined, { type: 'Unconfined' }, undefined, 'unconfined', false],
    [
      'unconfined',
      undefined,
      { type: 'RuntimeDefault' },
      { type: 'Unconfined' },
      'unconfined',
      true,
    ],
    [
      undefined,
      { type: 'RuntimeDefault' },
      { type: 'Unconfined' },
      { type: 'RuntimeDefault' },
      'runtime/default',
      false,
    ],
    [undefined, undefined, { type: 'Unconfined' }, undefined, 'unconfined', false],
    [undefined, undefined, undefined, undefined, undefined, false],
  ] as const)(
    'AppArmor annotation %j, profile %j, of the Pod %j become profile %j, annotation %j',
    (annotation, profile, ofPod, field, text, warns) => {
      const given = {
        metadata: annotation === undefined ? {} : { annotations: { [appArmorKey]: annotation } },
        spec: {
          containers: [
            {
              ...container,
              ...(profile && { securityContext: { appArmorProfile: profile } }),
            },
          ],
          ...(ofPod && { securityContext: { appArmorProfile: ofPod } }),
        },
      }
      const created = pods.created(given)
      expect(created['spec'].containers[0].securityContext?.appArmorProfile).toEqual(field)
      expect(created.metadata.annotations?.[appArmorKey]).toBe(text)
      expect(pods.warnings(given).includes(deprecated)).toBe(warns)
    },
  )

  test('AppArmor annotations of Pods for Windows are left alone', () => {
    const created = pods.created({
      metadata: { annotations: { [appArmorKey]: 'unconfined' } },
      spec: { os: { name: 'windows' }, containers: [container] },
    })
    expect(created['spec'].containers[0].securityContext).toBeUndefined()
  })

  test('of mirror Pods and AppArmor stay as they are', () => {
    const appArmor = 'container.apparmor.security.beta.kubernetes.io/c'
    const mirror = 'kubernetes.io/config.mirror'
    const spec = { containers: [container], nodeName: 'n' }
    const faultsFrom = (from: object, to: object) => {
      const old = pods.created({ metadata: { annotations: from }, spec })
      return pods.updateFaults(old, { metadata: { annotations: to }, spec: old['spec'] })
    }
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
