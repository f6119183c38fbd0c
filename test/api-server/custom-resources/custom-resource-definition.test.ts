import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { loadedStrategyRuns } from '../../support/strategy-runs.ts'

const definitions = await loadedStrategyRuns('customResourceDefinitions')
const metadata = { name: 'widgets.example.com' }
const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } }
const version = { name: 'v1', served: true, storage: true, schema }
const spec = {
  group: 'example.com',
  scope: 'Namespaced',
  names: { plural: 'widgets', kind: 'Widget' },
  versions: [version],
}
const contains = (text: string): unknown => expect.stringContaining(text)
const faultsOf = (change: object) =>
  definitions.createFaults({ metadata, spec: { ...spec, ...change } })
const schemaFaults = (root: object) =>
  faultsOf({ versions: [{ ...version, schema: { openAPIV3Schema: root } }] })
const propertyFaults = (property: object) =>
  schemaFaults({ type: 'object', properties: { p: property } })
const at = 'spec.validation.openAPIV3Schema'

test('names and conversion are filled in; the storage version is stored', () => {
  const made = definitions.created({ metadata, spec })
  expect(made['spec']).toMatchObject({
    names: { singular: 'widget', listKind: 'WidgetList' },
    conversion: { strategy: 'None' },
  })
  expect(made['status']).toEqual({
    conditions: null,
    acceptedNames: { kind: '', plural: '' },
    storedVersions: ['v1'],
  })
  const second = { ...version, name: 'v2' }
  const versions = [{ ...version, storage: false }, second]
  expect(
    definitions.updated(made, { metadata, spec: { ...spec, versions } })['status'],
  ).toMatchObject({ storedVersions: ['v1', 'v2'] })
})

describe('a definition', () => {
  test.each([
    [{}, []],
    [
      { group: 'other.com' },
      [
        'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
      ],
    ],
    [
      { scope: 'Galaxy' },
      ['spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'],
    ],
    [
      { versions: [{ ...version, schema: undefined }] },
      ['spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required'],
    ],
    [
      { versions: [version, { ...version, name: 'v2' }] },
      [contains('must have exactly one version marked as storage version')],
    ],
    [
      { versions: [version, { ...version, storage: false }] },
      [contains('must contain unique version names')],
    ],
    [
      { names: { ...spec.names, listKind: 'Widget', shortNames: ['W'] } },
      [
        contains('spec.names.shortNames[0]: Invalid value: "W": a DNS-1035 label'),
        'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
      ],
    ],
    [
      { conversion: { strategy: 'Webhook' } },
      [
        'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
        'spec.conversion.conversionReviewVersions: Required value',
      ],
    ],
    [
      { preserveUnknownFields: true },
      [
        'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ],
    ],
    [
      { versions: [{ ...version, deprecationWarning: 'old' }] },
      [
        'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
      ],
    ],
    [
      {
        versions: [
          {
            ...version,
            additionalPrinterColumns: [{ name: 'a', type: 'text', jsonPath: 'spec' }],
            subresources: {
              scale: {
                specReplicasPath: '.status.x',
                statusReplicasPath: '',
                labelSelectorPath: '.x',
              },
            },
          },
        ],
      },
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec',
        'spec.subresources.scale.statusReplicasPath: Required value',
        'spec.subresources.scale.labelSelectorPath: Invalid value: ".x": should be a json path under either .spec or .status',
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path starting with .',
      ],
    ],
  ])('%#', (change, faults) => {
    expect(faultsOf(change)).toEqual(faults)
  })

  test('in a group of the project needs an approval', async () => {
    const group = 'x.k8s.io'
    const named = (annotations: object) => ({
      metadata: { name: `widgets.${group}`, annotations },
      spec: { ...spec, group },
    })
    const key = 'api-approved.kubernetes.io'
    expect(definitions.createFaults(named({}))).toEqual([
      `metadata.annotations[${key}]: Required value: protected groups must have approval annotation "${key}", see https://github.com/kubernetes/enhancements/pull/1111`,
    ])
    expect(definitions.createFaults(named({ [key]: 'unapproved, testing' }))).toEqual([])
    expect(definitions.createFaults(named({ [key]: 'sure' }))).toHaveLength(1)
    const svc = await loadedStrategyRuns('customResourceDefinitions', { dialect: dialects.svc })
    expect(svc.createFaults(named({}))).toEqual([])
  })

  test('keeps its group and plural, and once served its scope and kind', () => {
    const old = definitions.created({ metadata, spec })
    old['status'].conditions = [{ type: 'Established', status: 'True' }]
    const changed = { ...spec, scope: 'Cluster', names: { plural: 'gadgets', kind: 'Gadget' } }
    expect(definitions.updateFaults(old, { metadata, spec: changed })).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Gadget": field is immutable',
      'spec.names.plural: Invalid value: "gadgets": field is immutable',
    ])
  })

  test('keeps a version as long as objects are stored in it', () => {
    const old = definitions.created({ metadata, spec })
    const versions = [{ ...version, name: 'v2' }]
    expect(definitions.updateFaults(old, { metadata, spec: { ...spec, versions } })).toEqual([
      contains('status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was'),
    ])
  })
})

describe('a schema', () => {
  test('is reported at each version where the versions differ', () => {
    const other = { ...version, name: 'v2', storage: false, schema: { openAPIV3Schema: {} } }
    expect(faultsOf({ versions: [version, other] })).toEqual([
      'spec.versions[1].schema.openAPIV3Schema.type: Required value: must not be empty at the root',
    ])
  })

  test.each([
    [{ type: 'string' }, [`${at}.type: Invalid value: "string": must be object at the root`]],
    [
      { type: 'object', additionalProperties: true },
      [`${at}.additionalProperties: Forbidden: must not be used at the root`],
    ],
    [
      { type: 'object', nullable: true },
      [`${at}.nullable: Forbidden: nullable cannot be true at the root`],
    ],
    [
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
      },
      [
        `${at}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
      ],
    ],
    [
      {
        type: 'object',
        properties: { metadata: { type: 'object', properties: { name: { type: 'string' } } } },
      },
      [],
    ],
  ])('root %j', (root, faults) => {
    expect(schemaFaults(root)).toEqual(faults)
  })

  const p = `${at}.properties[p]`
  test.each([
    [{}, [`${p}.type: Required value: must not be empty for specified object fields`]],
    [{ 'x-kubernetes-int-or-string': true }, []],
    [{ 'x-kubernetes-preserve-unknown-fields': true }, []],
    [{ type: 'array' }, [`${p}.items: Required value: must be specified`]],
    [
      { type: 'array', items: {} },
      [`${p}.items.type: Required value: must not be empty for specified array items`],
    ],
    [
      { type: 'text' },
      [
        `${p}.type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string"`,
      ],
    ],
    [
      { type: 'object', $ref: 'x', uniqueItems: true },
      [
        `${p}.$ref: Forbidden: $ref is not supported`,
        `${p}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
      ],
    ],
    [
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        additionalProperties: { type: 'string' },
      },
      [
        `${p}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
      ],
    ],
    [
      { type: 'string', anyOf: [{ type: 'string', description: 'd' }] },
      [
        `${p}.anyOf[0].description: Forbidden: must be empty to be structural`,
        `${p}.anyOf[0].type: Forbidden: must be empty to be structural`,
      ],
    ],
    [{ 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] }, []],
    [
      { type: 'string', pattern: '(' },
      [
        contains(
          `${p}.pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
        ),
      ],
    ],
    [{ type: 'string', pattern: '^(?i)a\\z' }, []],
    [
      {
        type: 'array',
        items: { type: 'object', properties: { k: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
      },
      [
        `${p}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
      ],
    ],
    [
      {
        type: 'array',
        items: { type: 'object', properties: { k: { type: 'string' } } },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k', 'z'],
      },
      [
        `${p}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
        `${p}.x-kubernetes-list-map-keys: Invalid value: []string{"k", "z"}: entries must all be names of item properties`,
      ],
    ],
    [
      { type: 'string', 'x-kubernetes-map-type': 'atomic' },
      [`${p}.type: Invalid value: "string": must be object if x-kubernetes-map-type is specified`],
    ],
    [
      { type: 'string', 'x-kubernetes-validations': [{ rule: '', reason: 'Because' }] },
      [
        `${p}.x-kubernetes-validations[0].rule: Required value: rule is not specified`,
        contains(`${p}.x-kubernetes-validations[0].reason: Unsupported value: "Because"`),
      ],
    ],
  ])('property %j', (property, faults) => {
    expect(propertyFaults(property)).toEqual(faults)
  })
})
