import { describe, expect, test } from 'vitest'
import { resourcesOf } from '../../../components/api/resources.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { strategyOf } from '../../../components/api-server/registry/strategies.ts'
import type { StrategyContext } from '../../../components/api-server/kinds/strategy.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'

const contains = (text: string): unknown => expect.stringContaining(text)

describe('Ingress', () => {
  const ingresses = strategyRuns('ingresses')
  const backend = { service: { name: 'web', port: { number: 80 } } }
  const withPath = (path: object, host?: string) => ({
    rules: [{ ...(host === undefined ? {} : { host }), http: { paths: [{ backend, ...path }] } }],
  })

  test.each([
    [{ defaultBackend: backend }, []],
    [withPath({ path: '/a', pathType: 'Prefix' }, '*.example.com'), []],
    [
      {},
      [
        'spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified',
      ],
    ],
    [
      withPath({ path: '/a' }, '10.0.0.1'),
      [
        'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
        'spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified',
      ],
    ],
    [
      withPath({ path: 'a//b/.', pathType: 'Exact' }),
      [
        'spec.rules[0].http.paths[0].path: Invalid value: "a//b/.": must be an absolute path',
        `spec.rules[0].http.paths[0].path: Invalid value: "a//b/.": must not contain '//'`,
        `spec.rules[0].http.paths[0].path: Invalid value: "a//b/.": cannot end with '/.'`,
      ],
    ],
    [
      withPath({ pathType: 'Regex' }),
      [
        'spec.rules[0].http.paths[0].pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"',
      ],
    ],
    [withPath({ pathType: 'ImplementationSpecific' }), []],
    [{ rules: [{ http: { paths: [] } }] }, ['spec.rules[0].http.paths: Required value']],
    [
      { defaultBackend: {} },
      ['spec.defaultBackend: Invalid value: "": resource or service backend is required'],
    ],
    [
      { defaultBackend: { service: { name: '1x', port: {} } } },
      [
        contains('spec.defaultBackend.service.name: Invalid value: "1x": a DNS-1035 label'),
        'spec.defaultBackend: Required value: port name or number is required',
      ],
    ],
    [
      { defaultBackend: { service: { name: 'x', port: { name: 'a', number: 1 } } } },
      ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
    ],
    [
      { defaultBackend: { resource: { apiGroup: 'A', kind: '', name: 'b' } } },
      [
        contains('spec.defaultBackend.resource.apiGroup: Invalid value: "A"'),
        'spec.defaultBackend.resource.kind: Required value: kind is required',
      ],
    ],
    [
      { defaultBackend: backend, tls: [{ hosts: ['*x'], secretName: 'A' }], ingressClassName: '' },
      [
        contains('spec.tls[0].hosts[0]: Invalid value: "*x": a wildcard DNS-1123 subdomain'),
        contains('spec.tls[0].secretName: Invalid value: "A"'),
        contains('spec.ingressClassName: Invalid value: ""'),
      ],
    ],
  ])('%j', (spec, faults) => {
    expect(ingresses.createFaults({ spec })).toEqual(faults)
    expect(ingresses.updateFaults(ingresses.created({}), { spec })).toEqual(faults)
  })

  test('the old annotation may only say the same class, and earns a warning', () => {
    const metadata = { annotations: { 'kubernetes.io/ingress.class': 'a' } }
    const spec = { defaultBackend: backend, ingressClassName: 'b' }
    expect(ingresses.createFaults({ metadata, spec })).toEqual([
      'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified',
    ])
    const same = { ...spec, ingressClassName: 'a' }
    expect(ingresses.createFaults({ metadata, spec: same })).toEqual([])
    const { warnings } = strategyOf(resourcesOf(dialects.kubernetes).ingresses)
    const context = { dialect: dialects.kubernetes } as StrategyContext
    const made = ingresses.created({ metadata, spec: same })
    expect(warnings?.(made, undefined, context)).toEqual([
      `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`,
    ])
    expect(made['status']).toEqual({ loadBalancer: {} })
  })

  test('status holds addresses and host names', () => {
    const status = { loadBalancer: { ingress: [{ ip: 'x' }, { hostname: '10.0.0.1' }] } }
    const old = ingresses.created({ spec: { defaultBackend: backend } })
    expect(ingresses.updateFaults(old, { status }, 'status')).toEqual([
      'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.loadBalancer.ingress[1].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ])
  })
})

describe('IngressClass', () => {
  const classes = strategyRuns('ingressClasses')
  const parameters = { kind: 'P', name: 'p' }

  test('has parameters of the cluster by default', () => {
    const made = classes.created({ spec: { controller: 'a.io/b', parameters } })
    expect(made['spec'].parameters.scope).toBe('Cluster')
  })

  test.each([
    [{ controller: 'acme.io/foo', parameters }, []],
    [{}, ['spec.controller: Required value']],
    [
      { controller: 'foo' },
      [
        'spec.controller: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")',
      ],
    ],
    [
      { controller: 'a.io/b', parameters: { ...parameters, namespace: 'x' } },
      ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ],
    [
      { controller: 'a.io/b', parameters: { ...parameters, scope: 'Namespace' } },
      ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ],
    [
      { controller: 'a.io/b', parameters: { scope: 'Cluster' } },
      [
        'spec.parameters.kind: Required value: kind is required',
        'spec.parameters.name: Required value: name is required',
      ],
    ],
    [
      { controller: 'a.io/b', parameters: { ...parameters, scope: 'Galaxy' } },
      [
        'spec.parameters.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespace"',
      ],
    ],
  ])('%j', (spec, faults) => {
    expect(classes.createFaults({ spec })).toEqual(faults)
  })

  test('keeps its controller', () => {
    const old = classes.created({ spec: { controller: 'a.io/b' } })
    expect(classes.updateFaults(old, { spec: { controller: 'a.io/c' } })).toEqual([
      'spec.controller: Invalid value: "a.io/c": field is immutable',
    ])
  })
})

describe('NetworkPolicy', () => {
  const policies = strategyRuns('networkPolicies')

  test('defaults protocols and types', () => {
    const { spec } = policies.created({ spec: { egress: [{ ports: [{ port: 80 }] }] } })
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress'])
    expect(spec.egress[0].ports[0].protocol).toBe('TCP')
    expect(policies.created({ spec: {} })['spec'].policyTypes).toEqual(['Ingress'])
  })

  test.each([
    [{ ingress: [{ from: [{ podSelector: {} }] }] }, []],
    [
      { ingress: [{ from: [{}] }] },
      ['spec.ingress[0].from[0]: Required value: must specify a peer'],
    ],
    [
      {
        egress: [
          { to: [{ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8'] } }] },
        ],
      },
      [
        'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        'spec.egress[0].to[0]: Forbidden: may not specify both ipBlock and another peer',
      ],
    ],
    [
      { egress: [{ to: [{ ipBlock: { cidr: 'x' } }, { ipBlock: { cidr: '' } }] }] },
      [
        'spec.egress[0].to[0].ipBlock.cidr: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        'spec.egress[0].to[1].ipBlock.cidr: Required value',
      ],
    ],
    [
      {
        ingress: [
          {
            ports: [
              { protocol: 'ICMP', port: 90, endPort: 80 },
              { port: 'http', endPort: 1 },
              { endPort: 1 },
            ],
          },
        ],
      },
      [
        'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
        'spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`',
        'spec.ingress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is non-numeric',
        'spec.ingress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is not specified',
      ],
    ],
    [
      { policyTypes: ['Both'] },
      ['spec.policyTypes[0]: Unsupported value: "Both": supported values: "Ingress", "Egress"'],
    ],
  ])('%j', (spec, faults) => {
    expect(policies.createFaults({ spec })).toEqual(faults)
  })
})

describe('ServiceCIDR and IPAddress', () => {
  const ranges = strategyRuns('serviceCidrs')
  const addresses = strategyRuns('ipAddresses')
  const parentRef = { resource: 'services', name: 'a', namespace: 'b' }

  test.each([
    [['10.0.0.0/24', '2001:db8::/64'], []],
    [[], ['spec.cidrs: Required value: at least one CIDR required']],
    [
      ['10.0.0.0/24', '10.1.0.0/24'],
      [
        'spec.cidrs: Invalid value: []string{"10.0.0.0/24", "10.1.0.0/24"}: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ],
    ],
  ])('ranges %j', (cidrs, faults) => {
    expect(ranges.createFaults({ spec: { cidrs } })).toEqual(faults)
  })

  test('ranges stay', () => {
    const old = ranges.created({ spec: { cidrs: ['10.0.0.0/24'] } })
    expect(ranges.updateFaults(old, { spec: { cidrs: ['10.1.0.0/24'] } })).toEqual([
      'spec.cidrs: Invalid value: []string{"10.1.0.0/24"}: field is immutable',
    ])
  })

  test('an address is named by its canonical text and has a parent', () => {
    const named = (name: string) => ({ metadata: { name }, spec: { parentRef } })
    expect(addresses.createFaults(named('2001:db8::1'))).toEqual([])
    expect(addresses.createFaults(named('2001:DB8::1'))).toEqual([
      'metadata.name: Invalid value: "2001:DB8::1": must be a canonical format IP address',
    ])
    expect(addresses.createFaults({ metadata: { name: '10.0.0.1' }, spec: {} })).toEqual([
      'spec.parentRef: Required value',
    ])
  })
})
