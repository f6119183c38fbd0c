/** MutatingAdmissionPolicy and its binding: defaults and validation. */
import { describe, expect, test } from 'vitest'
import { loadedStrategyRuns, strategyRuns } from '../../../support/strategy-runs.ts'

const contains = (text: string): unknown => expect.stringContaining(text)
const policies = await loadedStrategyRuns('mutatingAdmissionPolicies')
const bindings = strategyRuns('mutatingAdmissionPolicyBindings')

const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }
const apply = { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }
const patch = {
  patchType: 'JSONPatch',
  jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/spec"}]' },
}
const spec = {
  matchConstraints: { resourceRules: [rule] },
  mutations: [apply, patch],
  reinvocationPolicy: 'Never',
}

describe('a mutating admission policy', () => {
  test('fails closed and matches equivalents by default, but says itself whether it is reinvoked', () => {
    const { reinvocationPolicy: _, ...given } = spec
    expect(policies.created({ spec: given })['spec']).toEqual({
      ...given,
      failurePolicy: 'Fail',
      matchConstraints: {
        matchPolicy: 'Equivalent',
        namespaceSelector: {},
        objectSelector: {},
        resourceRules: [{ ...rule, scope: '*' }],
      },
    })
    expect(policies.createFaults({ spec: given })).toEqual([
      'spec.reinvocationPolicy: Required value',
    ])
  })

  test.each<[object, readonly unknown[]]>([
    [{}, []],
    [{ reinvocationPolicy: 'IfNeeded', failurePolicy: 'Ignore' }, []],
    [
      { matchConstraints: undefined, mutations: [], reinvocationPolicy: 'Always' },
      [
        'spec.matchConstraints: Required value',
        'spec.mutations: Required value: mutations must contain at least one item',
        'spec.reinvocationPolicy: Unsupported value: "Always": supported values: "Never", "IfNeeded"',
      ],
    ],
    [
      {
        failurePolicy: 'other',
        paramKind: { apiVersion: 'v1' },
        matchConditions: [{ expression: 'true' }],
      },
      [
        'spec.failurePolicy: Unsupported value: "other": supported values: "Fail", "Ignore"',
        'spec.paramKind.kind: Required value',
        'spec.matchConditions[0].name: Required value',
      ],
    ],
    [
      { matchConstraints: { resourceRules: [{ ...rule, operations: ['CREATE', 'DELETE'] }] } },
      [
        'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      ],
    ],
    [{ matchConstraints: {} }, ['spec.matchConstraints.resourceRules: Required value']],
    [
      { mutations: [{ applyConfiguration: { expression: 'Object{}' } }, { patchType: 'Merge' }] },
      [
        'spec.mutations[0].patchType: Required value',
        'spec.mutations[1].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"',
      ],
    ],
    [
      {
        mutations: [
          { ...apply, patchType: 'JSONPatch' },
          { ...patch, patchType: 'ApplyConfiguration' },
        ],
      },
      [
        'spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch',
        'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
        'spec.mutations[1].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration',
        'spec.mutations[1].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
      ],
    ],
    [
      {
        mutations: [
          { ...apply, applyConfiguration: { expression: ' ' } },
          { patchType: 'JSONPatch', jsonPatch: {} },
        ],
      },
      [
        'spec.mutations[0].applyConfiguration.expression: Required value',
        'spec.mutations[1].jsonPatch.expression: Required value',
      ],
    ],
  ])('%j', (change, faults) => {
    expect(policies.createFaults({ spec: { ...spec, ...change } })).toEqual(faults)
  })

  test('expressions that do not compile are faults at their fields; variables construct nothing', () => {
    const expression = (text: string) => ({ ...apply, applyConfiguration: { expression: text } })
    const mutations = [
      expression('"teapot"'),
      { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: variables.count}]' } },
      expression('Object{a: params.x}'),
      expression('Object{a: authorizer.path("/x").check("get").allowed()}'),
    ]
    const variables = [
      { name: 'count', expression: '1' },
      { name: 'whole', expression: 'Object{}' },
    ]
    const matchConditions = [{ name: 'c', expression: 'Object{} == Object{}' }]
    expect(
      policies.createFaults({ spec: { ...spec, mutations, variables, matchConditions } }),
    ).toEqual([
      contains('spec.matchConditions[0].expression: Invalid value: "Object{} == Object{}"'),
      contains(
        'spec.variables[1].expression: Invalid value: "Object{}": compilation failed: ERROR: <input>:1:1: undeclared reference to \'Object\'',
      ),
      'spec.mutations[0].applyConfiguration.expression: Invalid value: "\\"teapot\\"": must evaluate to Object but got string',
      contains("expected type of field 'op' is 'string' but provided type is 'int'"),
      contains("undeclared reference to 'params'"),
    ])
  })
})

describe('the binding of a mutating admission policy', () => {
  test.each<[object, readonly unknown[]]>([
    [{ policyName: 'p.example.com' }, []],
    [
      {
        policyName: 'p',
        paramRef: { name: 'x', parameterNotFoundAction: 'Deny' },
        matchResources: {},
      },
      [],
    ],
    [{}, ['spec.policyName: Required value']],
    [{ policyName: '!!!' }, [contains('spec.policyName: Invalid value: "!!!"')]],
    [
      { policyName: 'p', paramRef: { name: 'x' } },
      ['spec.paramRef.parameterNotFoundAction: Required value'],
    ],
    [
      { policyName: 'p', matchResources: { resourceRules: [{ ...rule, operations: ['DELETE'] }] } },
      [contains('spec.matchResources.resourceRules.operations: Unsupported value: "DELETE"')],
    ],
  ])('%j', (given, faults) => {
    expect(bindings.createFaults({ spec: given })).toEqual(faults)
  })
})
