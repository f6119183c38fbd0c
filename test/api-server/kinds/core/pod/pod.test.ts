import { describe, expect, test } from 'vitest'
import type { Pod } from '../../../../../components/api/generated/types.ts'
import { dialects } from '../../../../../components/api/dialect.ts'
import { resourcesOf } from '../../../../../components/api/resources.ts'
import { strategyOf } from '../../../../../components/api-server/registry/strategies.ts'
import { strategyRuns } from '../../../../support/strategy-runs.ts'

const pods = strategyRuns('pods')
const container = { name: 'c', image: 'i' }
const minimal = { spec: { containers: [container] } }

function podWith(spec: object, metadata: object = {}) {
  return { metadata, spec: { containers: [container], ...spec } }
}

function containerWith(fields: object) {
  return { spec: { containers: [{ ...container, ...fields }] } }
}

describe('defaults', () => {
  test('of the least a Pod can be', () => {
    expect(pods.created(minimal)).toMatchObject({
      spec: {
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
        enableServiceLinks: true,
        containers: [
          {
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
            imagePullPolicy: 'Always',
            resources: {},
          },
        ],
      },
      status: { phase: 'Pending', qosClass: 'BestEffort' },
    })
  })

  test.each([
    ['i', 'Always'],
    ['i:latest', 'Always'],
    ['i:1', 'IfNotPresent'],
    ['registry:5000/i', 'Always'],
    [`i@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
  ])('the image %s is pulled %s', (image, policy) => {
    const { spec } = pods.created(containerWith({ image })) as Pod
    expect(spec?.containers[0]?.imagePullPolicy).toBe(policy)
  })

  test('requests come from limits', () => {
    const { spec } = pods.created(
      containerWith({
        resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } },
      }),
    ) as Pod
    expect(spec?.containers[0]?.resources?.requests).toEqual({ cpu: '100m', memory: '1Gi' })
  })

  test('ports of a Pod in the host network are host ports', () => {
    const { spec } = pods.created({
      spec: { hostNetwork: true, containers: [{ ...container, ports: [{ containerPort: 80 }] }] },
    }) as Pod
    expect(spec?.containers[0]?.ports).toEqual([
      { containerPort: 80, hostPort: 80, protocol: 'TCP' },
    ])
  })

  test('probes', () => {
    const { spec } = pods.created(
      containerWith({ livenessProbe: { httpGet: { port: 80 } } }),
    ) as Pod
    expect(spec?.containers[0]?.livenessProbe).toEqual({
      httpGet: { path: '/', port: 80, scheme: 'HTTP' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    })
  })

  test('volumes', () => {
    const { spec } = pods.created(
      podWith({
        volumes: [
          { name: 'a' },
          { name: 'b', secret: { secretName: 's' } },
          { name: 'c', hostPath: { path: '/x' } },
          { name: 'd', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
        ],
        serviceAccountName: 'sa',
      }),
    ) as Pod
    expect(spec?.volumes).toEqual([
      { name: 'a', emptyDir: {} },
      { name: 'b', secret: { secretName: 's', defaultMode: 420 } },
      { name: 'c', hostPath: { path: '/x', type: '' } },
      {
        name: 'd',
        projected: {
          defaultMode: 420,
          sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }],
        },
      },
    ])
  })

  test('the old name of the service account follows the new one', () => {
    expect(pods.created(podWith({ serviceAccountName: 'sa' }))['spec']).toMatchObject({
      serviceAccount: 'sa',
    })
    expect(pods.created(podWith({ serviceAccount: 'sa' }))['spec']).toMatchObject({
      serviceAccountName: 'sa',
    })
  })

  test.each([
    [{}, 'BestEffort'],
    [{ requests: { cpu: '1' } }, 'Burstable'],
    [{ limits: { cpu: '1' } }, 'Burstable'],
    [{ limits: { cpu: '1', memory: '1Gi' } }, 'Guaranteed'],
    [{ limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } }, 'Burstable'],
  ])('resources %j are of class %s', (resources, qosClass) => {
    const { status } = pods.created(containerWith({ resources })) as Pod
    expect(status).toEqual({ phase: 'Pending', qosClass })
  })

  test('a gated Pod says that it is not scheduled', () => {
    const { status } = pods.created(
      podWith({ schedulingGates: [{ name: 'example.com/g' }] }),
    ) as Pod
    expect(status?.conditions).toEqual([
      expect.objectContaining({ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }),
    ])
  })

  test('a status sent along is not taken', () => {
    const created = pods.created({ ...minimal, status: { phase: 'Running', podIP: '10.0.0.1' } })
    expect(created['status']).toEqual({ phase: 'Pending', qosClass: 'BestEffort' })
  })
})

describe('a new Pod is refused', () => {
  test.each<[string, object, string[]]>([
    ['without containers', { spec: { containers: [] } }, ['spec.containers: Required value']],
    [
      'without name and image of a container',
      { spec: { containers: [{}] } },
      ['spec.containers[0].name: Required value', 'spec.containers[0].image: Required value'],
    ],
    [
      'with two containers of one name',
      { spec: { containers: [container, container] } },
      ['spec.containers[1].name: Duplicate value: "c"'],
    ],
    [
      'with space around an image',
      containerWith({ image: ' i' }),
      [
        'spec.containers[0].image: Invalid value: " i": must not have leading or trailing whitespace',
      ],
    ],
    [
      'with an unknown restart policy',
      podWith({ restartPolicy: 'Sometimes' }),
      [
        'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
      ],
    ],
    [
      'with an unknown DNS policy',
      podWith({ dnsPolicy: 'Mine' }),
      [
        'spec.dnsPolicy: Unsupported value: "Mine": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      ],
    ],
    [
      'with no time to be active',
      podWith({ activeDeadlineSeconds: 0 }),
      ['spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    [
      'with a port out of range',
      containerWith({ ports: [{ containerPort: 70_000 }] }),
      [
        'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      ],
    ],
    [
      'with two ports of one name',
      containerWith({
        ports: [
          { name: 'p', containerPort: 1 },
          { name: 'p', containerPort: 2 },
        ],
      }),
      ['spec.containers[0].ports[1].name: Duplicate value: "p"'],
    ],
    [
      'with a mount of no volume',
      containerWith({ volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
    ],
    [
      'with two volumes of one name',
      podWith({ volumes: [{ name: 'v' }, { name: 'v' }] }),
      ['spec.volumes[1].name: Duplicate value: "v"'],
    ],
    [
      'with two sources of one volume',
      podWith({ volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/x' } }] }),
      ['spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      'with a request above its limit',
      containerWith({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
      [
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
      ],
    ],
    [
      'with a negative amount',
      containerWith({ resources: { requests: { cpu: '-1' } } }),
      [
        'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
    [
      'with a variable that has both a value and a source',
      containerWith({
        env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
      }),
      [
        'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
      ],
    ],
    [
      'with a variable from a field there is not',
      containerWith({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.color' } } }] }),
      [
        'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.color": error converting fieldPath: field label not supported: spec.color',
      ],
    ],
    [
      'with a probe that does nothing',
      containerWith({ livenessProbe: {} }),
      ['spec.containers[0].livenessProbe: Required value: must specify a handler type'],
    ],
    [
      'with a toleration of everything under a key-less Equal',
      podWith({ tolerations: [{ value: 'x' }] }),
      [
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ],
    ],
    [
      'with a time limit on a toleration that does not evict',
      podWith({
        tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 3 }],
      }),
      [
        'spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set',
      ],
    ],
    [
      'with an unusable node selector',
      podWith({ nodeSelector: { 'a b': 'c' } }),
      [
        expect.stringContaining(
          'spec.nodeSelector: Invalid value: "a b": name part must consist of',
        ) as unknown as string,
      ],
    ],
    [
      'with an init container of the name of a container',
      podWith({ initContainers: [container] }),
      ['spec.initContainers[0].name: Duplicate value: "c"'],
    ],
    [
      'with a bad hostname',
      podWith({ hostname: 'a.b' }),
      ['spec.hostname: Invalid value: "a.b": must not contain dots'],
    ],
    [
      'with ephemeral containers',
      podWith({ ephemeralContainers: [{ ...container, name: 'e' }] }),
      ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
    ],
    [
      'with a node while gates hold it back',
      podWith({ nodeName: 'n', schedulingGates: [{ name: 'example.com/g' }] }),
      ['spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'],
    ],
    [
      'with a token of no account',
      podWith({
        volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }],
      }),
      [
        'spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set',
      ],
    ],
    [
      'privileged without leave to gain privileges',
      containerWith({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
      [
        expect.stringContaining(
          'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
        ) as unknown as string,
      ],
    ],
  ])('%s', (_, pod, faults) => {
    expect(pods.createFaults(pod)).toEqual(faults)
  })

  test.each([
    [{ type: 'RuntimeDefault' }, []],
    [{ type: 'Unconfined' }, []],
    [{ type: 'Localhost', localhostProfile: 'profiles/x.json' }, []],
    [
      { type: 'Localhost' },
      [
        'spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
      ],
    ],
    [
      { type: 'RuntimeDefault', localhostProfile: 'x' },
      [
        expect.stringMatching(
          /^spec.securityContext.seccompProfile.localhostProfile: Invalid value: .*: can only be set when seccomp type is Localhost$/,
        ) as unknown as string,
      ],
    ],
    [
      { type: 'Localhost', localhostProfile: '../x' },
      [
        'spec.securityContext.seccompProfile.localhostProfile: Invalid value: "../x": must not contain \'..\'',
      ],
    ],
    [
      { type: 'Other' },
      [
        'spec.securityContext.seccompProfile.type: Unsupported value: "Other": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
      ],
    ],
  ])('for a seccomp profile %j by its rules', (seccompProfile, faults) => {
    expect(pods.createFaults(podWith({ securityContext: { seccompProfile } }))).toEqual(faults)
  })
})

test.each([
  ["metadata.labels['a']", []],
  ["metadata.labels['a b']", [/name part must consist of/]],
  ["metadata.labels['']", [/name part must be non-empty/, /name part must consist of/]],
  ["metadata.labels['", [/field label not supported/]],
  ["metadata.name['a']", [/does not support subscript/]],
  ["['a']", [/field label not supported/]],
  ["['".repeat(1_000_000), [/field label not supported/]],
])('the field path %.40s is judged', (fieldPath, faults) => {
  const env = [{ name: 'A', valueFrom: { fieldRef: { fieldPath } } }]
  expect(pods.createFaults(containerWith({ env }))).toEqual(
    faults.map((fault) => expect.stringMatching(fault) as unknown),
  )
})

test('what a Pod usually has passes', () => {
  const pod = podWith({
    containers: [
      {
        ...container,
        command: ['sh', '-c', 'x'],
        env: [
          { name: 'A', value: 'x' },
          { name: 'B', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'C', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
          { name: 'D', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
        ],
        envFrom: [{ configMapRef: { name: 'cm' }, prefix: 'P_' }],
        ports: [{ name: 'http', containerPort: 80 }],
        resources: { limits: { cpu: '1', memory: '1Gi', 'example.com/gpu': '1' } },
        volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'x', readOnly: true }],
        readinessProbe: { tcpSocket: { port: 'http' } },
        lifecycle: { preStop: { exec: { command: ['x'] } } },
        securityContext: { runAsUser: 1, capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } },
      },
    ],
    initContainers: [{ name: 'i', image: 'i', restartPolicy: 'Always' }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'pvc' } }],
    nodeSelector: { disk: 'ssd' },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
    ],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }],
        },
      },
    },
    hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }],
    priority: 5,
    dnsConfig: { nameservers: ['10.0.0.2'], options: [{ name: 'ndots', value: '2' }] },
  })
  expect(pods.createFaults(pod)).toEqual([])
})

describe('an update', () => {
  const old = pods.created(podWith({ tolerations: [{ key: 'a', operator: 'Exists' }] }))
  const changed = (spec: object) => podWith({ ...(old['spec'] as object), ...spec })

  test.each<[string, object]>([
    ['nothing', {}],
    ['an image', { containers: [{ ...container, image: 'other' }] }],
    ['a deadline', { activeDeadlineSeconds: 5 }],
    [
      'one more toleration',
      {
        tolerations: [
          { key: 'a', operator: 'Exists' },
          { key: 'b', operator: 'Exists' },
        ],
      },
    ],
  ])('may change %s', (_, spec) => {
    expect(pods.updateFaults(old, changed(spec))).toEqual([])
  })

  const mayNot =
    'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n'

  test.each<[string, object]>([
    ['the node', { nodeName: 'n' }],
    ['a command', { containers: [{ ...container, command: ['x'] }] }],
    ['the grace period', { terminationGracePeriodSeconds: 5 }],
    ['the restart policy', { restartPolicy: 'Never' }],
  ])('may not change %s', (_, spec) => {
    const faults = pods.updateFaults(old, changed(spec))
    expect(faults).toHaveLength(1)
    expect(faults[0]?.startsWith(mayNot)).toBe(true)
  })

  test('may not add or remove containers', () => {
    const containers = [container, { name: 'd', image: 'i' }]
    expect(pods.updateFaults(old, changed({ containers }))).toEqual([
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    ])
  })

  test('may not take tolerations away', () => {
    expect(pods.updateFaults(old, changed({ tolerations: [] })).join()).toContain(
      'existing toleration can not be modified except its tolerationSeconds',
    )
  })

  test('may only shorten the deadline', () => {
    const limited = pods.created(podWith({ activeDeadlineSeconds: 10 }))
    const with_ = (activeDeadlineSeconds: number) =>
      podWith({ ...(limited['spec'] as object), activeDeadlineSeconds })
    expect(pods.updateFaults(limited, with_(5))).toEqual([])
    expect(pods.updateFaults(limited, with_(20))).toEqual([
      'spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value',
    ])
  })

  test('may take scheduling gates away, not add them', () => {
    const gated = pods.created(podWith({ schedulingGates: [{ name: 'example.com/g' }] }))
    const with_ = (schedulingGates: object[]) =>
      podWith({ ...(gated['spec'] as object), schedulingGates })
    expect(pods.updateFaults(gated, with_([]))).toEqual([])
    expect(
      pods
        .updateFaults(gated, with_([{ name: 'example.com/g' }, { name: 'example.com/h' }]))
        .join(),
    ).toContain("only deletion is allowed, but found new scheduling gate 'example.com/h'")
  })
})

describe('the status sub-resource', () => {
  const old = pods.created(minimal)
  const base = { spec: old['spec'] }

  test('leaves everything else as it is', () => {
    const now = pods.updated(
      old,
      { ...podWith({ nodeName: 'n' }), status: { phase: 'Running' } },
      'status',
    ) as Pod
    expect(now.spec?.nodeName).toBeUndefined()
    expect(now.status?.phase).toBe('Running')
  })

  test('does not restart what never restarts', () => {
    const once = pods.created(podWith({ restartPolicy: 'Never' }))
    const state = (container_: object) => ({
      spec: once['spec'],
      status: {
        phase: 'Running',
        containerStatuses: [
          { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, ...container_ },
        ],
      },
    })
    const ended = pods.updated(once, state({ state: { terminated: { exitCode: 0 } } }), 'status')
    expect(pods.updateFaults(ended, state({ state: { running: {} } }), 'status')).toEqual([
      'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state',
    ])
  })

  test('takes a nominated node name only when it is a name', () => {
    const status = { nominatedNodeName: 'a b' }
    expect(pods.updateFaults(old, { ...base, status }, 'status')).toHaveLength(1)
  })
})

describe('a deletion', () => {
  const strategy = strategyOf(resourcesOf(dialects.kubernetes).pods)
  const planned = (spec: object, status: object, asked?: number) =>
    strategy.planDelete?.(
      { metadata: {}, spec: { terminationGracePeriodSeconds: 30, ...spec }, status },
      asked,
    ).gracePeriodSeconds

  test.each([
    [
      'of a running Pod takes its own grace',
      { nodeName: 'n' },
      { phase: 'Running' },
      undefined,
      30,
    ],
    ['takes the grace asked for', { nodeName: 'n' }, { phase: 'Running' }, 5, 5],
    ['at once is at once', { nodeName: 'n' }, { phase: 'Running' }, 0, 0],
    ['of an unscheduled Pod is at once', {}, { phase: 'Pending' }, undefined, 0],
    ['of a finished Pod is at once', { nodeName: 'n' }, { phase: 'Succeeded' }, 20, 0],
    ['with a negative grace leaves a second', { nodeName: 'n' }, { phase: 'Running' }, -5, 1],
  ])('%s', (_, spec, status, asked, seconds) => {
    expect(planned(spec, status, asked)).toBe(seconds)
  })
})

describe('warnings', () => {
  test.each<[object, string[]]>([
    [minimal, []],
    [
      containerWith({
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      }),
      [
        'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
      ],
    ],
    [
      containerWith({ resources: { requests: { memory: '100m' } } }),
      [
        'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
      ],
    ],
    [
      podWith({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }),
      [
        'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
      ],
    ],
    [
      podWith({ volumes: [{ name: 'v', gitRepo: { repository: 'x' } }] }),
      ['spec.volumes[0].gitRepo: deprecated in v1.11'],
    ],
  ])('%j', (pod, texts) => {
    expect(pods.warnings(pod)).toEqual(texts)
  })
})

test('label keys name labels of the pod alone, whatever every object inherits', () => {
  const term = { topologyKey: 'a', labelSelector: {}, matchLabelKeys: ['constructor', 'app'] }
  const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] }
  const pod = podWith({ affinity: { podAffinity } }, { labels: { app: 'x' } })
  const { affinity } = (pods.created(pod) as Pod).spec ?? {}
  const [made] = affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const added = { key: 'app', operator: 'In', values: ['x'] }
  expect(made?.labelSelector).toEqual({ matchExpressions: [added] })
})
