/** Rules in CEL: refused when they cannot be used, asked of every write, with the state before where they name it. */
import { describe, expect, it } from 'vitest'
import { SchemaRules } from '../../../components/api-server/custom-resources/cel-rules.ts'
import { define, definitionOf, definitionsPath } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

describe('rules of custom resources', () => {
  const server = sharedServer()
  const causesOf = (reply: { body: any }): string[] =>
    (reply.body.details?.causes ?? []).map(({ field, message }: any) => `${field}: ${message}`)

  const schema = {
    type: 'object',
    'x-kubernetes-validations': [
      { rule: "self.metadata.name.startsWith('a')", message: 'the name starts with an a' },
    ],
    properties: {
      spec: {
        type: 'object',
        'x-kubernetes-validations': [
          { rule: 'self.min <= self.max' },
          {
            rule: '!has(self.ratio) || self.ratio * 2.0 <= 1.0',
            messageExpression: "'twice %s is too much'.format([self.ratio])",
            fieldPath: '.ratio',
            reason: 'FieldValueForbidden',
          },
          {
            rule: "!has(self.at) || self.at > timestamp('2020-01-01T00:00:00Z')",
            message: 'too early',
          },
        ],
        required: ['min', 'max'],
        properties: {
          min: { type: 'integer' },
          max: { type: 'integer' },
          ratio: { type: 'number' },
          at: { type: 'string', format: 'date-time' },
          fixed: {
            type: 'string',
            'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is immutable' }],
          },
          'dashed-name': { type: 'string' },
          list: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
            items: {
              type: 'object',
              required: ['name'],
              'x-kubernetes-validations': [
                {
                  rule: '!has(oldSelf.value) || self.value >= oldSelf.value',
                  message: 'only grows',
                },
              ],
              properties: { name: { type: 'string' }, value: { type: 'integer' } },
            },
          },
        },
      },
    },
  }

  it('are asked of every write, with the state before where they name it', async () => {
    const group = 'rules.example.com'
    const pathIn = await define(server(), { group, kind: 'Thing', schema })
    const path = pathIn(await server().namespace())
    const create = async (name: string, spec: object) =>
      await server().request('POST', path, {
        body: { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name }, spec },
      })
    expect(
      causesOf(await create('b', { min: 2, max: 1, ratio: 1, at: '2019-01-01T00:00:00Z' })),
    ).toEqual([
      '<nil>: Invalid value: "object": the name starts with an a',
      'spec: Invalid value: "object": failed rule: self.min <= self.max',
      'spec.ratio: Forbidden: twice 1 is too much',
      'spec: Invalid value: "object": too early',
    ])
    expect(causesOf(await create('a', { min: 2 }))).toEqual([
      'spec.max: Required value',
      '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ])
    const spec = {
      min: 1,
      max: 2,
      ratio: 0.5,
      fixed: 'x',
      list: [{ name: 'n', value: 2 }, { name: 'm' }],
    }
    expect((await create('a', spec)).status).toBe(201)
    const change = async (more: object) =>
      await server().request('PATCH', `${path}/a`, { body: { spec: more }, headers: merge })
    expect(causesOf(await change({ fixed: 'y' }))).toEqual([
      'spec.fixed: Invalid value: "string": is immutable',
    ])
    expect(
      causesOf(
        await change({
          list: [
            { name: 'm', value: 1 },
            { name: 'n', value: 1 },
          ],
        }),
      ),
    ).toEqual(['spec.list[1]: Invalid value: "object": only grows'])
    expect((await change({ list: [{ name: 'n', value: 3 }], max: 5 })).status).toBe(200)
  })

  it('that cannot be compiled are refused with the definition', async () => {
    const broken = structuredClone(schema) as any
    broken.properties.spec['x-kubernetes-validations'] = [
      { rule: 'self.nothing > 1' },
      { rule: 'self.min' },
      { rule: 'self.dashed__dash__name == "x"', messageExpression: 'self.min' },
    ]
    const definition = definitionOf(server(), {
      group: 'broken.example.com',
      kind: 'Thing',
      schema: broken,
    })
    const reply = await server().request('POST', definitionsPath(server()), { body: definition })
    expect(reply.status).toBe(422)
    const [first, second, third, ...more] = reply.body.details.causes
    const at = 'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations'
    expect(first.field).toBe(`${at}[0].rule`)
    expect(first.message).toContain(
      "compilation failed: ERROR: <input>:1:5: undefined field 'nothing'",
    )
    expect(second).toMatchObject({ field: `${at}[1].rule` })
    expect(second.message).toContain('must evaluate to bool')
    expect(third).toMatchObject({ field: `${at}[2].messageExpression` })
    expect(more).toEqual([])
  })

  const refused = async (broken: object): Promise<string[]> => {
    const definition = definitionOf(server(), {
      group: 'refused.example.com',
      kind: 'Thing',
      schema: { type: 'object', properties: { spec: broken } } as Record<string, unknown>,
    })
    const reply = await server().request('POST', definitionsPath(server()), { body: definition })
    expect(reply.status).toBe(422)
    return causesOf(reply)
  }
  const at = 'spec.validation.openAPIV3Schema.properties[spec]'
  const advice =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)'
  const texts = (rule: string, more: object = {}, items: object = {}) => ({
    type: 'array',
    items: { type: 'string', ...items },
    'x-kubernetes-validations': [{ rule }],
    ...more,
  })

  it('with optionalOldSelf are asked of new values, too', async () => {
    const group = 'optional.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      spec: {
        size: {
          type: 'integer',
          'x-kubernetes-validations': [
            {
              rule: 'oldSelf.hasValue() || self < 10',
              optionalOldSelf: true,
              message: 'starts small',
            },
            {
              rule: 'self >= oldSelf.orValue(0)',
              optionalOldSelf: true,
              message: 'only grows',
            },
          ],
        },
      },
    })
    const path = pathIn(await server().namespace())
    const create = async (size: number) =>
      await server().request('POST', path, {
        body: { apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name: 'a' }, spec: { size } },
      })
    const change = async (size: number) =>
      await server().request('PATCH', `${path}/a`, { body: { spec: { size } }, headers: merge })
    expect(causesOf(await create(10))).toEqual([
      'spec.size: Invalid value: "integer": starts small',
    ])
    expect((await create(9)).status).toBe(201)
    expect((await change(20)).status).toBe(200)
    expect(causesOf(await change(19))).toEqual(['spec.size: Invalid value: "integer": only grows'])
  })

  it('that could cost too much are refused with the definition, by how much', async () => {
    const rule = "self.all(x, x.contains('gpu'))"
    const tooMuch = `exceeds budget by factor of more than 100x ${advice}`
    expect(await refused(texts(rule))).toEqual([
      `${at}.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost ${tooMuch}`,
      `${at}.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      `spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema ${tooMuch}`,
    ])
    expect(await refused(texts(rule, { maxItems: 94_340 }, { maxLength: 253 }))).toEqual([
      `${at}.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.000004x ${advice}`,
    ])
    expect(await refused(texts(rule, { maxItems: 200_000 }, { maxLength: 253 }))).toEqual([
      `${at}.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 2.1x ${advice}`,
    ])
    await define(server(), {
      group: 'cheap.example.com',
      kind: 'Thing',
      spec: { texts: texts(rule, { maxItems: 94_339 }, { maxLength: 253 }) },
    })
    const [message] = await refused({
      type: 'object',
      properties: { size: { type: 'integer' } },
      'x-kubernetes-validations': [
        { rule: 'true', messageExpression: "'not ' + string(self.size)" },
      ],
    })
    expect(message).toBe(
      `${at}.x-kubernetes-validations[0].messageExpression: Forbidden: estimated messageExpression cost ${tooMuch}`,
    )
  })

  it('name what was before only where it can be known, and fields that there are', async () => {
    const immutable = [{ rule: 'self == oldSelf' }]
    const list = (more: object) => ({
      type: 'array',
      maxItems: 5,
      items: { type: 'string', maxLength: 5, 'x-kubernetes-validations': immutable },
      ...more,
    })
    expect(await refused(list({}))).toEqual([
      `${at}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${at}`,
    ])
    expect(
      await refused({
        type: 'object',
        'x-kubernetes-map-type': 'atomic',
        properties: { a: { type: 'integer', 'x-kubernetes-validations': immutable } },
      }),
    ).toEqual([
      `${at}.properties[a].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${at}`,
    ])
    expect(
      await refused({
        type: 'integer',
        'x-kubernetes-validations': [{ rule: 'self > 1', optionalOldSelf: true }],
      }),
    ).toEqual([
      `${at}.x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
    ])
    expect(
      await refused({
        type: 'object',
        properties: { a: { type: 'integer' } },
        'x-kubernetes-validations': [{ rule: 'true', fieldPath: '.b' }],
      }),
    ).toEqual([
      `${at}.x-kubernetes-validations[0].fieldPath: Invalid value: ".b": fieldPath must be a valid path`,
    ])
  })

  it('tell of fields by their path, those of maps in brackets', async () => {
    const group = 'paths.example.com'
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      spec: {
        sizes: {
          type: 'object',
          properties: {
            'the-first': {
              type: 'object',
              additionalProperties: { type: 'integer' },
              maxProperties: 5,
            },
          },
          'x-kubernetes-validations': [
            {
              rule: 'self.the__dash__first.a > 1',
              fieldPath: "['the-first'].a",
              reason: 'FieldValueDuplicate',
            },
          ],
        },
      },
    })
    const reply = await server().request('POST', pathIn(await server().namespace()), {
      body: {
        apiVersion: `${group}/v1`,
        kind: 'Thing',
        metadata: { name: 'a' },
        spec: { sizes: { 'the-first': { a: 1 } } },
      },
    })
    expect(causesOf(reply)).toEqual(['spec.sizes.the-first[a]: Duplicate value: "object"'])
  })

  it('of one object are asked until their budget is spent', () => {
    const rules = new SchemaRules(
      {
        type: 'array',
        items: {
          type: 'string',
          'x-kubernetes-validations': [{ rule: "self.contains('a')", message: 'has an a' }],
        },
      },
      { isWhole: false },
    )
    const long = 'b'.repeat(900_000)
    const faults = rules.faults(
      Array.from({ length: 120 }, () => long),
      undefined,
    )
    expect(faults.length).toBeLessThan(120)
    expect(faults.at(0)?.message).toContain('has an a')
    expect(faults.at(-1)).toMatchObject({
      field: `[${faults.length - 1}]`,
      message: expect.stringContaining(
        'validation failed due to running out of cost budget, no further validation rules will be run',
      ),
    })
  })
})
