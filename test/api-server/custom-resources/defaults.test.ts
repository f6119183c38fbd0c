/** Defaults in schemas: only values that the schema itself allows, with upstream's messages. */
import { describe, expect, it } from 'vitest'
import { define, definitionOf, definitionsPath } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

describe('defaults of custom resources', () => {
  const server = sharedServer()
  const at = 'spec.validation.openAPIV3Schema.properties[spec].properties'

  const causesOf = (reply: { body: any }): string[] =>
    (reply.body.details?.causes ?? []).map(({ field, message }: any) => `${field}: ${message}`)
  const refused = async (spec: Record<string, unknown>) => {
    const definition = definitionOf(server(), { group: 'no.example.com', kind: 'Thing', spec })
    const reply = await server().request('POST', definitionsPath(server()), { body: definition })
    expect(reply.status).toBe(422)
    return causesOf(reply)
  }

  it.each([
    [{ type: 'integer', default: 'a' }, 'in body must be of type integer: "string"'],
    [{ type: 'integer', minimum: 2, default: 1 }, 'in body should be greater than or equal to 2'],
    [{ type: 'string', pattern: '^a$', default: 'b' }, "in body should match '^a$'"],
    [{ type: 'string', enum: ['a'], default: 'b' }, 'supported values: "a"'],
    [
      { type: 'object', properties: { a: { type: 'string' } }, default: { b: 1 } },
      'must not have unknown fields',
    ],
    [
      {
        type: 'integer',
        default: 1,
        'x-kubernetes-validations': [{ rule: 'self > 1', message: 'too small' }],
      },
      'too small',
    ],
  ])('%j is refused', async (schema, text) => {
    const [cause, ...more] = await refused({ x: schema })
    expect(cause).toContain(`${at}[x].default: `)
    expect(cause).toContain(text)
    expect(more).toEqual([])
  })

  it('are looked at wherever they stand, and told of by the place within', async () => {
    const inner = { type: 'object', required: ['b'], properties: { b: { type: 'integer' } } }
    expect(await refused({ list: { type: 'array', items: { ...inner, default: {} } } })).toEqual([
      `${at}[list].items.default.b: Required value`,
    ])
    expect(
      await refused({ list: { type: 'array', items: inner, default: [{ b: 1 }, { b: 'x' }] } }),
    ).toEqual([
      `${at}[list].default[1].b: Invalid value: "string": [1].b in body must be of type integer: "string"`,
    ])
    expect(
      await refused({
        whole: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
          default: { kind: 'A' },
        },
      }),
    ).toEqual([`${at}[whole].default.apiVersion: Required value: must not be empty`])
  })

  it('that the schema allows are taken, those of metadata and of whole objects too', async () => {
    await define(server(), {
      group: 'yes.example.com',
      kind: 'Thing',
      schema: {
        type: 'object',
        properties: {
          metadata: {
            type: 'object',
            properties: { name: { type: 'string', default: 'only' } },
          },
          spec: {
            type: 'object',
            default: {},
            properties: {
              a: { type: 'integer', minimum: 1, default: 1 },
              free: {
                type: 'object',
                'x-kubernetes-preserve-unknown-fields': true,
                default: { any: [1] },
              },
              nothing: { type: 'string', nullable: true, default: null },
              pod: {
                type: 'object',
                'x-kubernetes-embedded-resource': true,
                properties: { spec: { type: 'object' } },
                default: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } },
              },
            },
          },
        },
      },
    })
  })
})
