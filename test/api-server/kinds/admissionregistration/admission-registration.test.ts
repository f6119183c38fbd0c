import { describe, expect, test } from 'vitest'
import { loadedStrategyRuns, strategyRuns } from '../../../support/strategy-runs.ts'

const contains = (text: string): unknown => expect.stringContaining(text)
const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }

const mutating = await loadedStrategyRuns('mutatingWebhookConfigurations')
const validating = await loadedStrategyRuns('validatingWebhookConfigurations')
const policies = await loadedStrategyRuns('validatingAdmissionPolicies')

describe('webhook configurations', () => {
  const webhook = {
    name: 'a.example.com',
    clientConfig: { service: { name: 's', namespace: 'n' } },
    rules: [rule],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }
  const defaulted = {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    clientConfig: { service: { name: 's', namespace: 'n', port: 443 } },
    rules: [{ ...rule, scope: '*' }],
  }

  test('fill in their defaults', () => {
    expect(mutating.created({ webhooks: [webhook] })['webhooks']).toEqual([
      { ...webhook, ...defaulted, reinvocationPolicy: 'Never' },
    ])
    expect(validating.created({ webhooks: [webhook] })['webhooks']).toEqual([
      { ...webhook, ...defaulted },
    ])
  })

  test.each([
    [{}, []],
    [{ clientConfig: { url: 'https://a.example.com:8443/path' } }, []],
    [
      { name: 'short.com' },
      [
        'webhooks[0].name: Invalid value: "short.com": should be a domain with at least three segments separated by dots',
      ],
    ],
    [
      { sideEffects: undefined, admissionReviewVersions: [] },
      [
        'webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun',
        'webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1',
      ],
    ],
    [
      { sideEffects: 'Some', admissionReviewVersions: ['v2', 'v2'], timeoutSeconds: 31 },
      [
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        'webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
        'webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
        'webhooks[0].admissionReviewVersions: Invalid value: []string{"v2", "v2"}: must include at least one of v1, v1beta1',
      ],
    ],
    [
      { failurePolicy: 'Maybe', matchPolicy: 'Roughly' },
      [
        'webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
        'webhooks[0].matchPolicy: Unsupported value: "Roughly": supported values: "Equivalent", "Exact"',
      ],
    ],
    [
      { clientConfig: {} },
      ['webhooks[0].clientConfig: Required value: exactly one of url or service is required'],
    ],
    [
      { clientConfig: { url: 'http://u@h/?a=b#c' } },
      [
        `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
        'webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "c": fragments are not permitted in the URL',
        'webhooks[0].clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL',
      ],
    ],
    [
      { clientConfig: { url: 'https://' } },
      [
        'webhooks[0].clientConfig.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
      ],
    ],
    [
      { clientConfig: { service: { name: 'n', port: 443 } } },
      ['webhooks[0].clientConfig.service.name: Required value: service name is required'],
    ],
    [
      { clientConfig: { service: { namespace: 'n', port: 443 } } },
      ['webhooks[0].clientConfig.service.namespace: Required value: service namespace is required'],
    ],
    [
      { clientConfig: { service: { name: '', namespace: '', port: 70000, path: '/a//b' } } },
      [
        'webhooks[0].clientConfig.service.name: Required value: service name is required',
        'webhooks[0].clientConfig.service.namespace: Required value: service namespace is required',
        'webhooks[0].clientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive',
        'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
      ],
    ],
    [
      {
        rules: [
          {
            operations: ['*', 'CREATE'],
            apiGroups: [],
            apiVersions: [''],
            resources: ['*', 'pods'],
            scope: 'All',
          },
        ],
      },
      [
        `webhooks[0].rules[0].operations: Invalid value: []admissionregistration.OperationType{"*", "CREATE"}: if '*' is present, must not specify other operations`,
        'webhooks[0].rules[0].apiGroups: Required value',
        'webhooks[0].rules[0].apiVersions[0]: Required value',
        `webhooks[0].rules[0].resources: Invalid value: []string{"*", "pods"}: if '*' is present, must not specify other resources without subresources`,
        'webhooks[0].rules[0].scope: Unsupported value: "All": supported values: "*", "Cluster", "Namespaced"',
      ],
    ],
    [
      { rules: [{ ...rule, resources: ['pods/*', 'pods/log', '*/*'], operations: ['READ'] }] },
      [
        'webhooks[0].rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
        `webhooks[0].rules[0].resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
        `webhooks[0].rules[0].resources: Invalid value: []string{"pods/*", "pods/log", "*/*"}: if '*/*' is present, must not specify other resources`,
      ],
    ],
    [{ rules: [{ ...rule, resources: ['pods', '*'] }] }, []],
    [{ rules: [{ ...rule, resources: ['*', 'pods/log'] }] }, []],
    [
      { rules: [{ ...rule, apiGroups: ['*', 'apps'], resources: ['*/log', 'pods/log', ''] }] },
      [
        `webhooks[0].rules[0].apiGroups: Invalid value: []string{"*", "apps"}: if '*' is present, must not specify other API groups`,
        `webhooks[0].rules[0].resources[1]: Invalid value: "pods/log": if '*/log' is present, must not specify pods/log`,
        'webhooks[0].rules[0].resources[2]: Required value',
      ],
    ],
    [
      { matchConditions: [{ name: '', expression: 'true' }] },
      ['webhooks[0].matchConditions[0].name: Required value'],
    ],
    [
      {
        matchConditions: [
          { name: 'a', expression: 'true' },
          { name: 'a', expression: ' ' },
        ],
      },
      [
        'webhooks[0].matchConditions[1].expression: Required value',
        'webhooks[0].matchConditions[1].name: Duplicate value: "a"',
      ],
    ],
  ])('%j', (change, faults) => {
    expect(mutating.createFaults({ webhooks: [{ ...webhook, ...change }] })).toEqual(faults)
  })

  test('keep what an earlier release stored against the rules of v1', () => {
    const kept = { ...webhook, sideEffects: 'Unknown', admissionReviewVersions: ['v1alpha1'] }
    const old = validating.created({ webhooks: [kept, kept] })
    expect(validating.updateFaults(old, { webhooks: [kept, kept] })).toEqual([])
    const other = { ...kept, sideEffects: 'Many' }
    expect(validating.updateFaults(old, { webhooks: [other] })).toEqual([
      'webhooks[0].sideEffects: Unsupported value: "Many": supported values: "None", "NoneOnDryRun", "Some", "Unknown"',
    ])
    const fine = validating.created({ webhooks: [webhook] })
    expect(validating.updateFaults(fine, { webhooks: [kept, kept] })).toHaveLength(5)
  })

  test('name each webhook once', () => {
    expect(validating.createFaults({ webhooks: [webhook, webhook] })).toEqual([
      'webhooks[1].name: Duplicate value: "a.example.com"',
    ])
  })
})

describe('ValidatingAdmissionPolicy', () => {
  const bindings = strategyRuns('validatingAdmissionPolicyBindings')
  const spec = {
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression: 'object.spec.replicas < 5' }],
  }

  test('fails closed and matches equivalents by default', () => {
    expect(policies.created({ spec })['spec']).toMatchObject({
      failurePolicy: 'Fail',
      matchConstraints: {
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        resourceRules: [{ ...rule, scope: '*' }],
      },
    })
  })

  test.each([
    [spec, []],
    [
      {},
      [
        'spec.matchConstraints: Required value',
        'spec.validations: Required value: validations or auditAnnotations must contain at least one item',
        'spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item',
      ],
    ],
    [
      {
        ...spec,
        matchConstraints: {},
        paramKind: { apiVersion: 'a/b/c' },
        variables: [{ name: 'in', expression: '' }],
        validations: [{ expression: '', message: 'a\nb', reason: 'Because' }],
        auditAnnotations: [{ key: 'k', valueExpression: '' }],
      },
      [
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        'spec.paramKind.kind: Required value',
        'spec.matchConstraints.resourceRules: Required value',
        'spec.variables[0].name: Invalid value: "in": name is not a valid CEL identifier',
        'spec.variables[0].expression: Required value: expression is not specified',
        'spec.validations[0].expression: Required value: expression is not specified',
        'spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks',
        contains('spec.validations[0].reason: Unsupported value: "Because"'),
        'spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified',
      ],
    ],
  ])('policy %#', (given, faults) => {
    expect(policies.createFaults({ spec: given })).toEqual(faults)
  })

  test.each([
    ['v1', []],
    ['example.com/v1', []],
    [
      'Example/v1',
      [contains('spec.paramKind.apiVersion: Invalid value: "Example": a lowercase RFC 1123')],
    ],
    [
      'example.com/V1',
      [contains('spec.paramKind.apiVersion: Invalid value: "V1": a DNS-1035 label')],
    ],
    ['1', [contains('spec.paramKind.apiVersion: Invalid value: "1": a DNS-1035 label')]],
    [
      'example.com/',
      ['spec.paramKind.apiVersion: Invalid value: "example.com/": version must be specified'],
    ],
    ['', ['spec.paramKind.apiVersion: Required value']],
  ])('parameters are of the version %j', (apiVersion, faults) => {
    const paramKind = { apiVersion, kind: 'ConfigMap' }
    expect(policies.createFaults({ spec: { ...spec, paramKind } })).toEqual(faults)
  })

  test('parameters are of a kind', () => {
    const faults = (kind: string) =>
      policies.createFaults({ spec: { ...spec, paramKind: { apiVersion: 'v1', kind } } })
    expect(faults('ConfigMap')).toEqual([])
    expect(faults('Config_Map')).toEqual([
      contains('may have mixed case, but should otherwise match: a DNS-1035 label'),
    ])
  })

  test('a variable has the name of an identifier', () => {
    const faults = (name: string) =>
      policies.createFaults({ spec: { ...spec, variables: [{ name, expression: 'true' }] } })
    for (const name of ['a', '_a', 'A9_b']) expect(faults(name)).toEqual([])
    for (const name of ['9a', 'a-b', 'a b', '!', 'import']) {
      expect(faults(name)).toEqual([
        `spec.variables[0].name: Invalid value: "${name}": name is not a valid CEL identifier`,
      ])
    }
    expect(faults(' ')).toEqual(['spec.variables[0].name: Required value: name is not specified'])
  })

  test('a message is one line with words in it', () => {
    const faults = (change: object) =>
      policies.createFaults({
        spec: { ...spec, validations: [{ expression: 'true', ...change }] },
      })
    expect(faults({ message: ' a \n' })).toEqual([])
    expect(faults({ message: '', messageExpression: '' })).toEqual([])
    expect(faults({ message: ' ' })).toEqual([
      'spec.validations[0].message: Invalid value: " ": message must be non-empty if specified',
    ])
    expect(faults({ message: 'a\rb' })).toHaveLength(1)
    expect(faults({ messageExpression: ' ' })).toEqual([
      'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
    ])
    for (const reason of ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized']) {
      expect(faults({ reason }).length).toBe(reason === 'Unauthorized' ? 1 : 0)
    }
  })

  test('audit annotations: twenty keys, each once, each an expression of 5 KiB', () => {
    const annotation = (key: string, valueExpression = "'v'") => ({ key, valueExpression })
    const many = (count: number) => Array.from({ length: count }, (_, i) => annotation(`k${i}`))
    const faults = (auditAnnotations: object[], metadata = {}) =>
      policies.createFaults({ metadata, spec: { ...spec, auditAnnotations } })
    expect(faults(many(20))).toEqual([])
    expect(faults(many(21))).toEqual([contains('must not have more than 20 auditAnnotations')])
    expect(faults([annotation('a'), annotation('b'), annotation('a')])).toEqual([
      'spec.auditAnnotations[2].key: Duplicate value: "a"',
    ])
    expect(faults([annotation('-')])).toEqual([contains('Invalid value: "x/-"')])
    const long = (bytes: number) => annotation('a', `'${'ä'.repeat((bytes - 2) / 2)}'`)
    expect(faults([long(5120)])).toEqual([])
    expect(faults([long(5122)])).toEqual([
      'spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length',
    ])
    expect(faults([annotation('a')], { name: '' })).toContain(
      'spec.auditAnnotations[0].key: Invalid value: "a": requires metadata.name be non-empty',
    )
  })

  test('a status says of each warning what it is and where', () => {
    const old = policies.created({ spec })
    const faults = (expressionWarnings?: object[]) =>
      policies.updateFaults(
        old,
        { spec, status: { typeChecking: { expressionWarnings } } },
        'status',
      )
    expect(faults()).toEqual([])
    expect(faults([{ fieldRef: 'spec.x', warning: 'w' }])).toEqual([])
    expect(
      faults([
        { fieldRef: 'spec.x', warning: 'w' },
        { fieldRef: ' ', warning: '' },
      ]),
    ).toEqual([
      'status.typeChecking.expressionWarnings[1].warning: Required value',
      'status.typeChecking.expressionWarnings[1].fieldRef: Required value',
    ])
    expect(policies.updateFaults(old, { spec }, 'status')).toEqual([])
  })

  test.each([
    [{ policyName: 'p', validationActions: ['Deny'] }, []],
    [
      {
        validationActions: ['Deny', 'Warn', 'Shout'],
        paramRef: { name: 'a', selector: {} },
      },
      [
        'spec.policyName: Required value',
        'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
        'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
        'spec.paramRef.parameterNotFoundAction: Required value',
        'spec.validationActions[2]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
        contains('must not contain both Deny and Warn'),
      ],
    ],
    [
      { policyName: 'P', validationActions: [], paramRef: { parameterNotFoundAction: 'Deny' } },
      [
        contains('spec.policyName: Invalid value: "P"'),
        'spec.paramRef: Required value: one of name or selector must be specified',
        'spec.validationActions: Required value: at least one validation action is required',
      ],
    ],
    [
      {
        policyName: 'p',
        validationActions: ['Audit', 'Warn', 'Audit'],
        paramRef: { name: 'a/b', parameterNotFoundAction: 'Maybe' },
      },
      [
        contains('spec.paramRef.name: Invalid value: "a/b"'),
        contains('spec.paramRef.parameterNotFoundAction: Unsupported value: "Maybe"'),
        'spec.validationActions[2]: Duplicate value: "Audit"',
      ],
    ],
    [
      {
        policyName: 'p',
        validationActions: ['Audit', 'Warn'],
        paramRef: {
          selector: { matchExpressions: [{ key: 'a', operator: 'Like' }] },
          parameterNotFoundAction: 'Allow',
        },
        // Upstream misspells its path.
        matchResources: { matchPolicy: 'Roughly', resourceRules: [{ ...rule, scope: 'All' }] },
      },
      [
        contains('spec.paramRef.selector.matchExpressions[0].operator: Invalid value: "Like"'),
        contains('spec.matchResources.matchPolicy: Unsupported value: "Roughly"'),
        contains('spec.matchResources.resourceRules[0].scope: Unsupported value: "All"'),
      ],
    ],
  ])('binding %#', (given, faults) => {
    expect(bindings.createFaults({ spec: given })).toEqual(faults)
  })

  test('a binding matches equivalents by default', () => {
    const given = { policyName: 'p', validationActions: ['Deny'] }
    const matchResources = { resourceRules: [rule], excludeResourceRules: [rule] }
    expect(bindings.created({ spec: given })['spec']).toEqual(given)
    expect(bindings.created({ spec: { ...given, matchResources } })['spec'].matchResources).toEqual(
      {
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        resourceRules: [{ ...rule, scope: '*' }],
        excludeResourceRules: [{ ...rule, scope: '*' }],
      },
    )
  })

  test('a rule names each object once', () => {
    const faults = (...resourceNames: string[]) =>
      policies.createFaults({
        spec: { ...spec, matchConstraints: { resourceRules: [{ ...rule, resourceNames }] } },
      })
    expect(faults('a', 'b')).toEqual([])
    const at = 'spec.matchConstraints.resourceRules[0].resourceNames'
    expect(faults('a', 'b', 'a')).toEqual([`${at}[2]: Duplicate value: "a"`])
    expect(faults('a/b')).toEqual([contains(`${at}[0]: Invalid value: "a/b"`)])
  })
})
