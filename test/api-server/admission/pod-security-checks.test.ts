/** The pod security standards by themselves, without a server: each check at its bounds, by release; policies of labels; exemptions. */
import { describe, expect, test } from 'vitest'
import type { AdmissionRequest } from '../../../components/api-server/admission/admission.ts'
import {
  violations,
  violationText,
} from '../../../components/api-server/admission/pod-security/evaluate.ts'
import { podSecurity } from '../../../components/api-server/admission/pod-security/pod-security.ts'
import {
  compareLevels,
  parseMinor,
  policyLabels,
  policyOf,
  policyText,
  shortPolicyText,
  usualRules,
  type Level,
  type LevelVersion,
  type PodSecurityRules,
} from '../../../components/api-server/admission/pod-security/policy.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { PodSpec } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Resource } from '../../../components/machinery/objects/resource.ts'
import { FakeReader } from '../../support/fake-reader.ts'

type Json = Record<string, unknown>

const keys = {
  appArmor: 'container.apparmor.security.beta.kubernetes.io/',
  seccomp: 'seccomp.security.alpha.kubernetes.io/',
}
const hardened = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
}
const container = (securityContext: Json = hardened, name = 'c'): Json => ({
  name,
  image: 'i',
  securityContext,
})

/** What a level says of a Pod; '' when it is admitted. */
function said(
  level: Level,
  spec: Json,
  {
    minor = Infinity,
    annotations = {},
  }: { minor?: number; annotations?: Record<string, string> } = {},
): string {
  const whole = { containers: [container()], ...spec } as unknown as PodSpec
  const pod = { metadata: { annotations }, spec: whole, annotations: keys }
  return violationText(violations(pod, { level, minor }))
}
const baseline = (spec: Json, more = {}) => said('baseline', spec, more)
const restricted = (spec: Json, more = {}) => said('restricted', spec, more)
/** Of the hardened container with these fields in its context. */
const withContext = (change: Json): Json => ({
  containers: [container({ ...hardened, ...change })],
})
const ofPod = (securityContext: Json): Json => ({ securityContext })

describe('baseline', () => {
  test('AppArmor: every profile but none', () => {
    for (const type of ['RuntimeDefault', 'Localhost']) {
      expect(baseline(ofPod({ appArmorProfile: { type } }))).toBe('')
      expect(baseline(withContext({ appArmorProfile: { type } }))).toBe('')
    }
    const unconfined = { appArmorProfile: { type: 'Unconfined' } }
    expect(baseline(ofPod(unconfined))).toBe(
      'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
    )
    const other = { appArmorProfile: { type: 'Other' } }
    expect(baseline({ ...ofPod(unconfined), ...withContext(other) })).toBe(
      'forbidden AppArmor profiles (pod and container "c" must not set AppArmor profile type to "Other", "Unconfined")',
    )
    const noted = (...texts: string[]) =>
      baseline(
        {},
        { annotations: Object.fromEntries(texts.map((text, i) => [`${keys.appArmor}${i}`, text])) },
      )
    expect(noted('', 'runtime/default', 'localhost/x')).toBe('')
    expect(noted('unconfined')).toBe(
      `forbidden AppArmor profile (annotation must not set AppArmor profile type to "${keys.appArmor}0="unconfined"")`,
    )
    expect(noted('x', 'x/localhost/')).toContain('forbidden AppArmor profiles (annotations must')
    expect(baseline({}, { annotations: { 'example.com/x': 'unconfined' } })).toBe('')
  })

  test('capabilities: those that a container has anyway', () => {
    const adding = (...add: string[]) => baseline(withContext({ capabilities: { add } }))
    const usual =
      'AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT'
    expect(adding(...usual.split(' '))).toBe('')
    for (const name of ['ALL', 'NET_RAW', 'SYS_ADMIN', 'chown', 'CAP_CHOWN']) {
      expect(adding('CHOWN', name)).toContain(`must not include "${name}" in`)
    }
  })

  test('the host: no namespaces, paths or ports of it', () => {
    for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) {
      expect(baseline({ [field]: true })).toBe(`host namespaces (${field}=true)`)
      expect(baseline({ [field]: false })).toBe('')
    }
    const volumes = [
      { name: 'v', hostPath: { path: '/' } },
      { name: 'w', emptyDir: {} },
    ]
    expect(baseline({ volumes })).toBe('hostPath volumes (volume "v")')
    expect(baseline({ volumes: volumes.slice(1) })).toBe('')
    const port = (...hostPorts: (number | undefined)[]) => ({
      ...container(),
      ports: hostPorts.map((hostPort) => ({ containerPort: 1, hostPort })),
    })
    expect(baseline({ containers: [port(undefined, 0)] })).toBe('')
    expect(baseline({ containers: [port(0, 80)] })).toBe(
      'hostPort (container "c" uses hostPort 80)',
    )
    expect(baseline({ containers: [port(80), { ...port(80, 90), name: 'd' }] })).toBe(
      'hostPort (containers "c", "d" use hostPorts 80, 90)',
    )
  })

  test('privileges, /proc and processes of a Windows host', () => {
    expect(baseline(withContext({ privileged: false }))).toBe('')
    expect(baseline(withContext({ privileged: true }))).toContain('privileged (container "c"')
    expect(baseline(withContext({ procMount: 'Default' }))).toBe('')
    expect(baseline(withContext({ procMount: 'Other' }))).toContain('procMount to "Other"')
    const host = (hostProcess: boolean) => ({ windowsOptions: { hostProcess } })
    expect(baseline(ofPod(host(false)))).toBe('')
    expect(baseline(withContext(host(false)))).toBe('')
    expect(baseline(withContext(host(true)))).toBe(
      'hostProcess (container "c" must not set securityContext.windowsOptions.hostProcess=true)',
    )
  })

  test('SELinux: types of containers, and no user or role', () => {
    const options = (seLinuxOptions: Json) => ({ seLinuxOptions })
    for (const type of ['', 'container_t', 'container_init_t', 'container_kvm_t']) {
      expect(baseline(ofPod(options({ type, level: 's0' })))).toBe('')
      expect(baseline(withContext(options({ type })))).toBe('')
    }
    expect(baseline(ofPod(options({})))).toBe('')
    const engine = ofPod(options({ type: 'container_engine_t' }))
    expect(baseline(engine)).toBe('')
    expect(baseline(engine, { minor: 31 })).toBe('')
    expect(baseline(engine, { minor: 30 })).toContain('type "container_engine_t"')
    const start = 'set forbidden securityContext.seLinuxOptions'
    for (const [bad, why] of [
      [{ type: 'spc_t' }, 'type "spc_t"'],
      [{ type: 'container_t', user: 'u' }, 'user may not be set'],
      [{ role: 'r' }, 'role may not be set'],
    ] as const) {
      expect(baseline(ofPod(options(bad)))).toBe(`seLinuxOptions (pod ${start}: ${why})`)
      expect(baseline(withContext(options(bad)))).toBe(
        `seLinuxOptions (container "c" ${start}: ${why})`,
      )
    }
    expect(
      baseline({ ...ofPod(options({ type: 'b' })), ...withContext(options({ type: 'a' })) }),
    ).toBe(`seLinuxOptions (pod and container "c" ${start}: types "a", "b")`)
  })

  test('seccomp: every profile but none; before 1.19 by annotations', () => {
    for (const type of ['RuntimeDefault', 'Localhost']) {
      expect(baseline(ofPod({ seccompProfile: { type } }))).toBe('')
    }
    const unconfined = { seccompProfile: { type: 'Unconfined' } }
    expect(baseline(ofPod(unconfined))).toContain('seccompProfile (pod must not set')
    expect(baseline(withContext(unconfined))).toContain('seccompProfile (container "c" must not')
    expect(baseline(ofPod(unconfined), { minor: 19 })).not.toBe('')
    expect(baseline(ofPod(unconfined), { minor: 18 })).toBe('')
    const noted = (text: string, minor: number) =>
      baseline({}, { minor, annotations: { [`${keys.seccomp}pod`]: text } })
    for (const text of ['runtime/default', 'docker/default', 'localhost/x']) {
      expect(noted(text, 18)).toBe('')
    }
    for (const text of ['', 'unconfined', 'x/localhost/', 'localhost']) {
      expect(noted(text, 18)).toBe(
        `seccompProfile (forbidden annotation ${keys.seccomp}pod="${text}")`,
      )
      expect(noted(text, 19)).toBe('')
    }
    const container_ = { [`container.${keys.seccomp}c`]: 'x', other: 'x' }
    expect(baseline({}, { minor: 18, annotations: container_ })).toContain('forbidden annotation ')
  })

  test('sysctls: those that are safe in the release', () => {
    const setting = (name: string, minor?: number) =>
      baseline(ofPod({ sysctls: [{ name, value: '1' }] }), minor === undefined ? {} : { minor })
    for (const name of ['kernel.shm_rmid_forced', 'net.ipv4.tcp_syncookies']) {
      expect([setting(name), setting(name, 0)]).toEqual(['', ''])
    }
    expect(setting('net.ipv4.ip_local_reserved_ports', 27)).toBe('')
    expect(setting('net.ipv4.ip_local_reserved_ports', 26)).toContain('forbidden sysctls')
    expect(setting('kernel.msgmax')).toBe('forbidden sysctls (kernel.msgmax)')
  })
})

describe('restricted', () => {
  const windows = { os: { name: 'windows' } }
  const bare = (securityContext: Json, more: Json = {}): Json => ({
    containers: [container(securityContext)],
    ...more,
  })

  test('is fulfilled by a hardened container', () => {
    expect(restricted({})).toBe('')
    expect(said('privileged', { hostPID: true })).toBe('')
  })

  test('no gain of privileges, from 1.8 on', () => {
    const gaining = withContext({ allowPrivilegeEscalation: true })
    const { allowPrivilegeEscalation: _, ...silent } = hardened
    for (const spec of [gaining, bare(silent)]) {
      expect(restricted(spec)).toContain('allowPrivilegeEscalation != false')
      expect(restricted(spec, { minor: 8 })).toContain('allowPrivilegeEscalation != false')
      expect(restricted(spec, { minor: 7 })).toBe('')
      expect(restricted({ ...spec, ...windows })).toBe('')
      expect(restricted({ ...spec, ...windows }, { minor: 25 })).toBe('')
      expect(restricted({ ...spec, ...windows }, { minor: 24 })).not.toBe('')
      expect(restricted({ ...spec, os: { name: 'linux' } })).not.toBe('')
    }
  })

  test('no capabilities but one, from 1.22 on', () => {
    const having = (capabilities: Json | undefined) => withContext({ capabilities })
    expect(restricted(having({ drop: ['ALL'], add: ['NET_BIND_SERVICE'] }))).toBe('')
    expect(restricted(having({ drop: ['X', 'ALL'] }))).toBe('')
    const must = 'unrestricted capabilities (container "c" must '
    for (const capabilities of [undefined, {}, { drop: [] }, { drop: ['all'] }, { drop: ['X'] }]) {
      const spec = having(capabilities)
      expect(restricted(spec)).toBe(`${must}set securityContext.capabilities.drop=["ALL"])`)
      expect(restricted(spec, { minor: 22 })).not.toBe('')
      expect(restricted(spec, { minor: 21 })).toBe('')
      expect(restricted({ ...spec, ...windows })).toBe('')
      expect(restricted({ ...spec, ...windows }, { minor: 24 })).not.toBe('')
    }
    expect(restricted(having({ add: ['CHOWN'] }))).toBe(
      `${must}set securityContext.capabilities.drop=["ALL"]; container "c" must not include "CHOWN" in securityContext.capabilities.add)`,
    )
    // Before it, what the baseline says; after it, that once.
    const raw = having({ drop: ['ALL'], add: ['NET_RAW'] })
    expect(restricted(raw, { minor: 21 })).toContain('non-default capabilities')
    expect(restricted(raw)).not.toContain('non-default capabilities')
  })

  test('volumes of the cluster alone', () => {
    const using = (source: Json) => restricted({ volumes: [{ name: 'v', ...source }] })
    for (const type of [
      'configMap',
      'csi',
      'downwardAPI',
      'emptyDir',
      'ephemeral',
      'persistentVolumeClaim',
      'projected',
      'secret',
    ]) {
      expect([type, using({ [type]: {} })]).toEqual([type, ''])
    }
    for (const type of ['hostPath', 'nfs', 'iscsi', 'gcePersistentDisk', 'image']) {
      expect(using({ [type]: {} })).toBe(
        `restricted volume types (volume "v" uses restricted volume type "${type}")`,
      )
    }
    expect(using({ nfs: {}, secret: null, emptyDir: undefined })).toContain('type "nfs"')
    expect(using({})).toContain('restricted volume type "unknown"')
  })

  test('no root: by refusal, by silence, or from 1.23 on by its number', () => {
    const { runAsNonRoot: _, ...silent } = hardened
    const asPod = (own: boolean | undefined, one: Json) =>
      restricted({ ...bare(one), securityContext: { runAsNonRoot: own } })
    const start = 'runAsNonRoot != true'
    expect(asPod(true, silent)).toBe('')
    expect(asPod(undefined, { ...silent, runAsNonRoot: true })).toBe('')
    expect(asPod(undefined, silent)).toBe(
      `${start} (pod or container "c" must set securityContext.runAsNonRoot=true)`,
    )
    expect(asPod(false, hardened)).toBe(
      `${start} (pod must not set securityContext.runAsNonRoot=false)`,
    )
    expect(asPod(true, { ...silent, runAsNonRoot: false })).toBe(
      `${start} (container "c" must not set securityContext.runAsNonRoot=false)`,
    )
    const both = [container(), container(silent, 'd')]
    expect(restricted({ containers: both })).toContain('pod or container "d" must set')
    const root = withContext({ runAsUser: 0 })
    expect(restricted(root)).toBe('runAsUser=0 (container "c" must not set runAsUser=0)')
    expect(restricted(root, { minor: 23 })).not.toBe('')
    expect(restricted(root, { minor: 22 })).toBe('')
    expect(restricted(withContext({ runAsUser: 1 }))).toBe('')
    expect(restricted({ ...ofPod({ runAsUser: 0 }), ...root })).toContain('pod and container "c"')
  })

  test('a seccomp profile, from 1.19 on', () => {
    const { seccompProfile: _, ...silent } = hardened
    const asPod = (type: string | undefined, own: string | undefined, more = {}) =>
      restricted(
        {
          ...bare({ ...silent, ...(own && { seccompProfile: { type: own } }) }),
          ...(type && ofPod({ seccompProfile: { type } })),
        },
        more,
      )
    for (const type of ['RuntimeDefault', 'Localhost']) {
      expect(asPod(type, undefined)).toBe('')
      expect(asPod(undefined, type)).toBe('')
    }
    const mustNot = 'must not set securityContext.seccompProfile.type to "Unconfined")'
    expect(asPod('RuntimeDefault', 'Unconfined')).toBe(`seccompProfile (container "c" ${mustNot}`)
    expect(asPod('Unconfined', 'RuntimeDefault')).toBe(`seccompProfile (pod ${mustNot}`)
    expect(asPod(undefined, undefined)).toBe(
      'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    )
    expect(asPod(undefined, undefined, { minor: 18 })).toBe('')
    expect(restricted({ ...bare(silent), ...windows })).toBe('')
    expect(restricted({ ...bare(silent), ...windows }, { minor: 24 })).not.toBe('')
    const both = [container(), container(silent, 'd')]
    expect(restricted({ containers: both })).toContain('pod or container "d" must set')
  })

  test('has all of the baseline that it does not say itself', () => {
    expect(restricted({ hostPID: true })).toBe('host namespaces (hostPID=true)')
  })
})

describe('a policy of labels', () => {
  const names = policyLabels(dialects.kubernetes)
  const label = (mode: string) => `pod-security.kubernetes.io/${mode}`
  const of = (labels: Record<string, string>, defaults = usualRules.defaults) => {
    const named = Object.fromEntries(
      Object.entries(labels).map(([mode, value]) => [label(mode), value]),
    )
    const { policy, errors } = policyOf(named, names, defaults)
    const { enforce, audit, warn } = policy
    return [[enforce, audit, warn].map(policyText).join(' '), errors.map(({ field }) => field)]
  }
  const at = (mode: string) => `metadata.labels[${label(mode)}]`
  const open = 'privileged:latest'

  test('is permissive where nothing is said', () => {
    expect(of({})).toEqual([`${open} ${open} ${open}`, []])
    expect(policyOf(undefined, names).policy).toEqual(usualRules.defaults)
  })

  test('warns of what it enforces, unless it says how to warn', () => {
    expect(of({ enforce: 'baseline', 'enforce-version': 'v1.24' })).toEqual([
      `baseline:v1.24 ${open} baseline:v1.24`,
      [],
    ])
    expect(of({ enforce: 'baseline', warn: 'privileged' })[0]).toBe(
      `baseline:latest ${open} ${open}`,
    )
    expect(of({ enforce: 'baseline', 'warn-version': 'v1.20' })[0]).toBe(
      `baseline:latest ${open} baseline:v1.20`,
    )
    expect(of({ audit: 'restricted', 'audit-version': 'v1.0', warn: 'baseline' })[0]).toBe(
      `${open} restricted:v1.0 baseline:latest`,
    )
    const strict = { level: 'restricted', minor: 20 } as LevelVersion
    const defaults = { enforce: strict, audit: strict, warn: strict }
    expect(of({ enforce: 'baseline' }, defaults)[0]).toBe(
      'baseline:v1.20 restricted:v1.20 restricted:v1.20',
    )
    const lax = { ...defaults, warn: { level: 'privileged', minor: 20 } as LevelVersion }
    expect(of({}, lax)[0]).toBe('restricted:v1.20 restricted:v1.20 privileged:v1.20')
  })

  test('with a level that is none enforces the strictest one, and warns of nothing', () => {
    expect(of({ enforce: 'x' })).toEqual([`restricted:latest ${open} ${open}`, [at('enforce')]])
    expect(of({ audit: 'x', warn: 'y' })).toEqual([
      `${open} ${open} ${open}`,
      [at('audit'), at('warn')],
    ])
    expect(of({ enforce: 'baseline', 'enforce-version': '1.2' })).toEqual([
      `baseline:latest ${open} baseline:latest`,
      [at('enforce-version')],
    ])
  })

  test('versions are of Kubernetes 1, or the latest', () => {
    expect([parseMinor('latest'), parseMinor('v1.0'), parseMinor('v1.24')]).toEqual([
      Infinity,
      0,
      24,
    ])
    for (const text of ['', 'v1', 'v1.', 'v1.01', 'v2.1', '1.2', 'v1.2.3', 'xv1.2', 'Latest']) {
      expect([text, parseMinor(text)]).toEqual([text, undefined])
    }
  })

  test('levels are in order, and are told without what permits all', () => {
    expect(compareLevels('restricted', 'baseline')).toBeGreaterThan(0)
    expect(compareLevels('privileged', 'baseline')).toBeLessThan(0)
    expect(compareLevels('baseline', 'baseline')).toBe(0)
    const { policy } = policyOf({ [label('enforce')]: 'baseline' }, names)
    expect(shortPolicyText(policy)).toBe('enforce=baseline:latest, warn=baseline:latest')
    expect(shortPolicyText(usualRules.defaults)).toBe('')
  })
})

describe('the plugin', () => {
  const dialect = dialects.kubernetes
  const resources = resourcesOf(dialect)
  const label = (mode: string) => `pod-security.kubernetes.io/${mode}`

  function setUp(rules: Partial<PodSecurityRules> = {}) {
    const reader = new FakeReader()
    const plugin = podSecurity(reader, dialect, { ...usualRules, ...rules })
    const labels = { [label('enforce')]: 'baseline', [label('audit')]: 'restricted' }
    reader.put(resources.namespaces, { metadata: { name: 'a', labels } })
    /** 'admitted' or 'refused', with what is warned of and noted. */
    function ask(resource: Resource, object: KubeObject, more: Partial<AdmissionRequest> = {}) {
      const annotations: Record<string, string> = {}
      const warnings: string[] = []
      const request: AdmissionRequest = {
        operation: 'CREATE',
        resource,
        subresource: '',
        namespace: object.metadata.namespace ?? '',
        name: object.metadata.name ?? '',
        object,
        old: undefined,
        user: { name: 'jane', groups: [] },
        dryRun: false,
        warnings,
        context: { annotations } as unknown as NonNullable<AdmissionRequest['context']>,
        ...more,
      }
      let outcome = 'admitted'
      try {
        void plugin.validate?.(request)
      } catch {
        outcome = 'refused'
      }
      return { outcome, warnings, annotations }
    }
    return { reader, ask }
  }
  const pod = (spec: Json = {}, metadata: Json = {}): KubeObject => ({
    metadata: { name: 'p', namespace: 'a', ...metadata },
    spec: { containers: [container()], ...spec },
  })
  const bad = { hostPID: true }

  test.each<[string, Partial<PodSecurityRules>, Json]>([
    ['namespace', { namespaces: new Set(['a']) }, bad],
    ['user', { usernames: new Set(['jane']) }, bad],
    ['runtimeClass', { runtimeClasses: new Set(['r']) }, { ...bad, runtimeClassName: 'r' }],
  ])('leaves alone what is exempt by its %s, and notes so', (reason, rules, spec) => {
    const { ask } = setUp(rules)
    const noted = { '/pod-security.kubernetes.io/exempt': reason }
    expect(ask(resources.pods, pod(spec))).toEqual({
      outcome: 'admitted',
      warnings: [],
      annotations: noted,
    })
    const template = { metadata: {}, spec: pod(spec)['spec'] as Json }
    const controller = { metadata: { name: 'd', namespace: 'a' }, spec: { template } }
    expect(ask(resources.deployments, controller)).toMatchObject({
      annotations: noted,
      warnings: [],
    })
    expect(setUp().ask(resources.pods, pod(spec)).outcome).toBe('refused')
  })

  test('notes what it enforces and what the audit would refuse', () => {
    const { ask } = setUp()
    const root = pod({ containers: [container({ ...hardened, runAsNonRoot: false })] })
    expect(ask(resources.pods, root)).toEqual({
      outcome: 'admitted',
      warnings: [],
      annotations: {
        '/pod-security.kubernetes.io/enforce-policy': 'baseline:latest',
        '/pod-security.kubernetes.io/audit-violations':
          'would violate PodSecurity "restricted:latest": runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
      },
    })
  })

  test('notes labels that state no policy', () => {
    const { reader, ask } = setUp()
    const of = (labels: Record<string, string>) => {
      reader.put(resources.namespaces, { metadata: { name: 'a', labels } })
      return ask(resources.pods, pod()).annotations['/pod-security.kubernetes.io/error']
    }
    expect(of({ [label('warn')]: 'baseline' })).toBeUndefined()
    expect(of({ [label('warn')]: 'x' })).toMatch(/^Failed to parse policy: metadata\.labels\[/)
    expect(of({ [label('warn')]: 'x', [label('audit')]: 'y' })).toMatch(
      /^Failed to parse policy: \[metadata\.labels.*, metadata\.labels.*\]$/,
    )
  })

  test.each<[keyof typeof resources, (template: Json) => Json]>([
    ['podTemplates', (template) => ({ template })],
    ['cronJobs', (template) => ({ spec: { jobTemplate: { spec: { template } } } })],
    ['replicationControllers', (template) => ({ spec: { template } })],
    ['replicaSets', (template) => ({ spec: { template } })],
    ['deployments', (template) => ({ spec: { template } })],
    ['statefulSets', (template) => ({ spec: { template } })],
    ['daemonSets', (template) => ({ spec: { template } })],
    ['jobs', (template) => ({ spec: { template } })],
  ])('warns of the templates of %s, and refuses none', (name, holding) => {
    const { ask } = setUp()
    const resource = resources[name] as Resource
    const made = (spec: Json): KubeObject => ({
      metadata: { name: 'd', namespace: 'a' },
      ...holding({ metadata: {}, spec: { containers: [container()], ...spec } }),
    })
    const warning = ['would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)']
    expect(ask(resource, made(bad))).toMatchObject({ outcome: 'admitted', warnings: warning })
    expect(ask(resource, made(bad)).annotations).not.toHaveProperty([
      '/pod-security.kubernetes.io/enforce-policy',
    ])
    expect(ask(resource, made({})).warnings).toEqual([])
    expect(ask(resource, made(bad), { subresource: 'status' }).warnings).toEqual([])
    expect(ask(resource, { metadata: { namespace: 'a' } }).warnings).toEqual([])
    expect(ask(resource, made(bad), { operation: 'DELETE' }).warnings).toEqual([])
  })

  test('looks at Pods when they are made, and at what their updates may worsen', () => {
    const { ask } = setUp()
    const old = pod(bad)
    const updated = (object: KubeObject, subresource = '') =>
      ask(resources.pods, object, { operation: 'UPDATE', old, subresource }).outcome
    const spec = old['spec'] as Json
    const changed = (change: Json) => updated({ ...old, spec: { ...spec, ...change } })
    expect(changed({ activeDeadlineSeconds: 5, tolerations: [{ operator: 'Exists' }] })).toBe(
      'admitted',
    )
    expect(
      changed({ containers: [{ ...container(), image: 'j', resources: { limits: {} } }] }),
    ).toBe('admitted')
    expect(changed({ containers: [container({ privileged: true })] })).toBe('refused')
    expect(changed({ initContainers: [container({}, 'i')] })).toBe('refused')
    expect(changed({ ephemeralContainers: [container({}, 'e')] })).toBe('refused')
    const annotated = (annotations: Record<string, string>) =>
      updated({ ...old, metadata: { ...old.metadata, annotations } })
    expect(annotated({ other: 'x' })).toBe('admitted')
    expect(annotated({ [`${keys.appArmor}c`]: 'x' })).toBe('refused')
    expect(annotated({ [`${keys.seccomp}pod`]: 'x' })).toBe('refused')
    const whole = pod({ ...bad, hostIPC: true })
    for (const subresource of 'exec attach binding eviction log portforward proxy status'.split(
      ' ',
    )) {
      expect([subresource, updated(whole, subresource)]).toEqual([subresource, 'admitted'])
    }
    expect(updated(whole, 'ephemeralcontainers')).toBe('refused')
    expect(ask(resources.pods, whole, { operation: 'CONNECT' }).outcome).toBe('admitted')
    const { spec: _, ...empty } = whole
    expect(ask(resources.pods, empty).outcome).toBe('admitted')
  })

  describe('of a namespace', () => {
    const namespace = (labels: Record<string, string>): KubeObject => ({
      metadata: { name: 'a', labels },
    })
    const enforcing = (level: string, version?: string) =>
      namespace({
        [label('enforce')]: level,
        ...(version === undefined ? {} : { [label('enforce-version')]: version }),
      })
    const update = (
      rules: Partial<PodSecurityRules>,
      from: KubeObject,
      to: KubeObject,
      more = {},
    ) => {
      const { reader, ask } = setUp(rules)
      for (const [name, spec] of [
        ['fine', {}],
        ['one', bad],
        ['two', bad],
        ['three', { hostIPC: true, hostNetwork: true }],
        ['four', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }],
        ['five', bad],
      ] as const) {
        reader.put(resources.pods, pod(spec, { name }))
      }
      return ask(resources.namespaces, to, { operation: 'UPDATE', old: from, ...more })
    }
    const warned = [
      'existing pods in namespace "a" violate the new PodSecurity enforce level "baseline:latest"',
      'five (and 3 other pods): host namespaces',
      'four: hostPath volumes',
    ]

    test('tells which Pods a stricter policy would refuse', () => {
      expect(update({}, namespace({}), enforcing('baseline')).warnings).toEqual(warned)
      expect(update({}, enforcing('baseline', 'v1.24'), enforcing('baseline')).warnings).toEqual(
        warned,
      )
      expect(update({}, enforcing('restricted'), enforcing('baseline')).warnings).toEqual([])
      expect(update({}, enforcing('baseline'), enforcing('baseline')).warnings).toEqual([])
      expect(update({}, enforcing('baseline'), enforcing('privileged')).warnings).toEqual([])
      const status = { subresource: 'status' }
      expect(update({}, namespace({}), enforcing('baseline'), status).warnings).toEqual([])
    })

    test('refuses labels that state none, unless they were there', () => {
      expect(update({}, namespace({}), enforcing('x')).outcome).toBe('refused')
      expect(update({}, enforcing('x'), enforcing('x')).outcome).toBe('admitted')
      expect(update({}, enforcing('x'), enforcing('y')).outcome).toBe('refused')
      const { ask } = setUp()
      expect(ask(resources.namespaces, enforcing('x')).outcome).toBe('refused')
      expect(ask(resources.namespaces, enforcing('baseline'))).toMatchObject({
        outcome: 'admitted',
        warnings: [],
      })
    })

    test('says that it is exempt', () => {
      const rules = { namespaces: new Set(['a']) }
      const exempt = [
        'namespace "a" is exempt from Pod Security, and the policy (enforce=baseline:latest, warn=baseline:latest) will be ignored',
      ]
      expect(setUp(rules).ask(resources.namespaces, enforcing('baseline')).warnings).toEqual(exempt)
      expect(setUp(rules).ask(resources.namespaces, namespace({})).warnings).toEqual([])
      expect(update(rules, namespace({}), enforcing('baseline'))).toMatchObject({
        warnings: exempt,
        annotations: { '/pod-security.kubernetes.io/exempt': 'namespace' },
      })
      const { policy } = policyOf(enforcing('baseline').metadata.labels, policyLabels(dialect))
      const same = { ...rules, defaults: policy }
      expect(setUp(same).ask(resources.namespaces, enforcing('baseline')).warnings).toEqual([])
    })
  })
})
