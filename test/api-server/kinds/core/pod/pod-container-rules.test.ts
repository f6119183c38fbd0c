/** Rules of a Pod's containers, of where it runs, and of its names and DNS. */
import { describe, expect, test } from 'vitest'
import { container, contains, faultsOf, faultsOfContainer, rules } from './pod-faults.ts'

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
