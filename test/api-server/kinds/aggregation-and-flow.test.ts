import { describe, expect, test } from 'vitest'
import {
  mandatoryFlowControl,
  suggestedFlowControl,
} from '../../../components/api/bootstrap-policy/flow-control-objects.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { strategyRuns } from '../../support/strategy-runs.ts'
import { createTestPki } from '../../support/tls.ts'

const contains = (text: string): unknown => expect.stringContaining(text)

describe('APIService', () => {
  const services = strategyRuns('apiServices')
  const local = {
    group: 'example.com',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 10,
  }
  const named = (spec: object) => ({ metadata: { name: 'v1.example.com' }, spec })

  test('a local one is available at once; others listen at 443', () => {
    expect(services.created(named(local))['status'].conditions[0]).toMatchObject({
      type: 'Available',
      status: 'True',
      reason: 'Local',
    })
    const remote = services.created(named({ ...local, service: { name: 'a', namespace: 'b' } }))
    expect(remote['status']).toEqual({})
    expect(remote['spec'].service.port).toBe(443)
  })

  test.each([
    [local, []],
    [
      { ...local, version: 'v2', groupPriorityMinimum: 0, versionPriority: 1001 },
      [
        'metadata.name: Invalid value: "v1.example.com": must be `spec.version+"."+spec.group`: "v2.example.com"',
        'spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000',
        'spec.versionPriority: Invalid value: 1001: must be positive and less than 1000',
      ],
    ],
    [
      { ...local, insecureSkipTLSVerify: true, caBundle: 'AAAA' },
      [
        'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
        'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
      ],
    ],
    [
      { ...local, service: { port: 0 } },
      [
        'spec.service.namespace: Required value',
        'spec.service.name: Required value',
        contains('port is not valid'),
      ],
    ],
    [{ ...local, service: { namespace: 'a', name: 'b' }, caBundle: 'AAAA' }, []],
    [
      {
        ...local,
        service: { namespace: 'a', name: 'b' },
        caBundle: 'AAAA',
        insecureSkipTLSVerify: true,
      },
      ['spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present'],
    ],
  ])('%j', (spec, faults) => {
    expect(services.createFaults(named(spec))).toEqual(faults)
  })

  test('the core group has the name with a trailing dot', () => {
    const core = { version: 'v1', groupPriorityMinimum: 18_000, versionPriority: 1 }
    expect(services.createFaults({ metadata: { name: 'v1.' }, spec: core })).toEqual([])
  })
})

describe('flow control', () => {
  const schemas = strategyRuns('flowSchemas')
  const levels = strategyRuns('priorityLevelConfigurations')
  const rule = {
    subjects: [{ kind: 'Group', group: { name: 'g' } }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['/healthz/*'] }],
  }
  const spec = { priorityLevelConfiguration: { name: 'p' }, rules: [rule] }

  test('what every cluster starts with is valid, and stays as it is', () => {
    for (const made of [mandatoryFlowControl, suggestedFlowControl]) {
      const { levels: allLevels, schemas: allSchemas } = made(dialects.kubernetes)
      for (const object of allSchemas) expect(schemas.createFaults(object)).toEqual([])
      for (const object of allLevels) expect(levels.createFaults(object)).toEqual([])
    }
    const catchAll = {
      metadata: { name: 'catch-all' },
      spec: { ...spec, matchingPrecedence: 10_000 },
    }
    expect(schemas.createFaults(catchAll)).toEqual([
      contains("spec of 'catch-all' must equal the fixed value"),
    ])
    const exempt = {
      metadata: { name: 'exempt' },
      spec: { type: 'Exempt', exempt: { lendablePercent: 50 } },
    }
    expect(levels.createFaults(exempt)).toEqual([])
  })

  test('schemas have precedence 1000 by default', () => {
    expect(schemas.created({ spec })['spec'].matchingPrecedence).toBe(1000)
  })

  test.each([
    [spec, []],
    [
      { matchingPrecedence: 1, distinguisherMethod: { type: 'ByMood' } },
      [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
        'spec.distinguisherMethod.type: Unsupported value: flowcontrol.FlowDistinguisherMethod{Type:"ByMood"}: supported values: "ByNamespace", "ByUser"',
        'spec.priorityLevelConfiguration.name: Required value: must reference a priority level',
      ],
    ],
    [
      { ...spec, rules: [{ subjects: [{ kind: 'User', group: { name: 'g' } }] }] },
      [
        "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
        "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
        'spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
      ],
    ],
    [
      {
        ...spec,
        rules: [
          {
            ...rule,
            resourceRules: [
              { verbs: ['*', 'get'], apiGroups: ['*', 'a'], resources: [], namespaces: ['A'] },
            ],
            nonResourceRules: [{ verbs: ['fetch'], nonResourceURLs: ['a', '/*/b'] }],
          },
        ],
      },
      [
        contains(
          'spec.rules[0].resourceRules[0].verbs: Invalid value: []string{"*", "get"}: if \'*\' is present',
        ),
        contains('spec.rules[0].resourceRules[0].apiGroups: Invalid value'),
        'spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource',
        contains("each member of this list must be '*' or a DNS-1123 label; "),
        contains('spec.rules[0].nonResourceRules[0].verbs: Unsupported value: []string{"fetch"}'),
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash',
        'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/*/b": wildcard can only do suffix matching',
      ],
    ],
  ])('schema %#', (given, faults) => {
    expect(schemas.createFaults({ spec: given })).toEqual(faults)
  })

  test('levels fill in shares and queues', () => {
    const limited = { limitResponse: { type: 'Queue', queuing: {} } }
    expect(levels.created({ spec: { type: 'Limited', limited } })['spec'].limited).toEqual({
      nominalConcurrencyShares: 30,
      lendablePercent: 0,
      limitResponse: { type: 'Queue', queuing: { handSize: 8, queues: 64, queueLengthLimit: 50 } },
    })
  })

  test('the note of v1beta3 about a share of zero is refused', () => {
    const key = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares'
    const spec = { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } }
    expect(levels.createFaults({ metadata: { annotations: { [key]: '' } }, spec })).toEqual([
      `metadata.annotations: Forbidden: specifying annotation '${key}' is not allowed`,
    ])
  })

  const limitedBy = (limited: object) => ({ type: 'Limited', limited })
  test.each([
    [limitedBy({ limitResponse: { type: 'Reject' } }), []],
    [
      { type: 'Exempt' },
      [`spec.type: Invalid value: "Exempt": type must be 'Exempt' if and only if name is 'exempt'`],
    ],
    [{ type: 'Limited' }, ['spec.limited: Required value: must not be empty when type is Limited']],
    [
      limitedBy({
        lendablePercent: 101,
        borrowingLimitPercent: -1,
        limitResponse: { type: 'Queue' },
      }),
      [
        'spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive',
        'spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer',
        'spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited',
      ],
    ],
    [
      limitedBy({ limitResponse: { type: 'Queue', queuing: { queues: 4, handSize: 5 } } }),
      [
        'spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)',
      ],
    ],
    [
      limitedBy({ limitResponse: { type: 'Queue', queuing: { queues: 512, handSize: 8 } } }),
      [
        contains(
          'required entropy bits of deckSize 512 and handSize 8 should not be greater than 60',
        ),
      ],
    ],
  ])('level %#', (given, faults) => {
    expect(levels.createFaults({ spec: given })).toEqual(faults)
  })
})

describe('kinds that are off by default', () => {
  test('ClusterTrustBundle holds each authority once, under a name after its signer', () => {
    const bundles = strategyRuns('clusterTrustBundles')
    const { caPem, server } = createTestPki()
    const spec = (trustBundle: string, signerName?: string) => ({
      spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
    })
    expect(bundles.createFaults(spec(caPem))).toEqual([])
    const anchors = 'spec.trustBundle: Invalid value: "<value omitted>"'
    expect(bundles.createFaults(spec(caPem + caPem))).toEqual([
      `${anchors}: duplicate trust anchor (indices [0 1])`,
    ])
    expect(bundles.createFaults(spec(''))).toEqual([
      `${anchors}: at least one trust anchor must be provided`,
    ])
    expect(bundles.createFaults(spec(server.cert))).toEqual([
      `${anchors}: entry 0 does not have the CA bit set`,
    ])
    expect(bundles.createFaults(spec(caPem, 'a.io/b'))).toEqual([
      'metadata.name: Invalid value: "x": ClusterTrustBundle for signerName a.io/b must be named with prefix a.io:b:',
    ])
  })

  test('ResourceClaim asks for one device by default and stays', () => {
    const claims = strategyRuns('resourceClaims')
    const request = { name: 'r', deviceClassName: 'gpu' }
    const made = claims.created({ spec: { devices: { requests: [request] } } })
    expect(made['spec'].devices.requests[0]).toMatchObject({
      allocationMode: 'ExactCount',
      count: 1,
    })
    const all = { ...request, allocationMode: 'All', count: 2 }
    expect(claims.createFaults({ spec: { devices: { requests: [all, all] } } })).toEqual([
      `spec.devices.requests[0].count: Invalid value: 2: must not be specified when allocationMode is 'All'`,
      `spec.devices.requests[1].count: Invalid value: 2: must not be specified when allocationMode is 'All'`,
      'spec.devices.requests[1].name: Duplicate value: "r"',
    ])
    expect(claims.updateFaults(made, { spec: {} })).toEqual([contains('field is immutable')])
  })

  test('ResourceSlice is of a driver, in a pool, for nodes', () => {
    const slices = strategyRuns('resourceSlices')
    expect(slices.createFaults({ spec: { nodeName: 'n', allNodes: true } })).toEqual([
      'spec.driver: Required value',
      contains('spec.driver: Invalid value: ""'),
      'spec.pool.name: Required value',
      'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
      contains('exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required'),
    ])
  })
})
