/** Odd definitions and odd objects: every answer names the client's fault, none is a fault of the server. */
import { describe, expect, it } from 'vitest'
import { define, definitionOf, definitionsPath } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

describe('odd custom resources', () => {
  const server = sharedServer()
  const group = 'odd.example.com'

  it('objects of any shape are stored or refused', async () => {
    const scalar = { type: 'string' }
    const properties = JSON.parse(
      '{"__proto__":{"type":"string","default":"p"},"constructor":{"type":"object","properties":{"a":{"type":"string","default":"b"}}},"toString":{"type":"array","items":{"type":"object","additionalProperties":{"type":"integer"}}}}',
    ) as Record<string, unknown>
    const pathIn = await define(server(), {
      group,
      kind: 'Odd',
      spec: {
        ...properties,
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: scalar },
        map: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', required: ['k'], properties: { k: scalar } },
        },
        whole: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
        any: { 'x-kubernetes-preserve-unknown-fields': true },
        text: { type: 'string', nullable: true },
      },
      version: {
        subresources: {
          status: {},
          scale: { specReplicasPath: '.spec.any.replicas', statusReplicasPath: '.status.replicas' },
        },
        additionalPrinterColumns: [
          { name: 'A', type: 'integer', jsonPath: '.spec.any' },
          { name: 'B', type: 'date', jsonPath: '.spec.any' },
          { name: 'C', type: 'string', jsonPath: '.spec[?(@.k=="x")]..' },
        ],
        selectableFields: [{ jsonPath: '.spec.text' }],
      },
    })
    const path = pathIn(await server().namespace())
    const values: unknown[] = [
      null,
      1,
      'x',
      [],
      [null],
      [[]],
      {},
      { k: null },
      [{ k: 'a' }, { k: 'a' }],
      [{}],
      { a: { b: [{ c: null }] } },
      { apiVersion: 1, kind: [], metadata: 'x' },
      { replicas: -1 },
      { replicas: 'many' },
    ]
    const odd = [
      ...values,
      ...['__proto__', 'constructor', 'toString', 'set', 'map', 'whole', 'any'].flatMap((name) =>
        values.map((value) => JSON.parse(JSON.stringify({ [name]: value })) as unknown),
      ),
    ]
    const base = { apiVersion: `${group}/v1`, kind: 'Odd' }
    const bodies = [
      ...values.map((value) => ({ ...base, metadata: value })),
      ...values.map((value) => ({ ...base, metadata: { name: 'a', labels: value } })),
      ...odd.map((spec) => ({ ...base, metadata: { name: 'a' }, spec, status: spec })),
      ...values.map((value) => ({ ...base, kind: value })),
      ...values.map((value) => ({ ...base, apiVersion: value })),
      ...values,
    ]
    const accept = `application/json;as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const seen = new Map<number, number>()
    const ask = async (...[method, at, more]: Parameters<ReturnType<typeof server>['request']>) => {
      const reply = await server().request(method, at, more)
      seen.set(reply.status, (seen.get(reply.status) ?? 0) + 1)
      expect(reply.status, `${method} ${JSON.stringify(more?.body)}: ${reply.text}`).toBeLessThan(
        500,
      )
      return reply
    }
    for (const body of bodies) {
      const text = JSON.stringify(body)
      const type = (name: string) => ({ headers: { 'content-type': `application/${name}` } })
      const made = await ask('POST', path, { body: text, ...type('json') })
      if (made.status === 201) {
        await ask('GET', path, { headers: { accept } })
        await ask('GET', `${path}?fieldSelector=spec.text%3Dx`)
      }
      await ask('PUT', `${path}/a`, { body: text, ...type('json') })
      await ask('PATCH', `${path}/a`, { body: text, ...type('merge-patch+json') })
      await ask('PATCH', `${path}/a/status`, { body: text, ...type('merge-patch+json') })
      const applied = `${path}/a?fieldManager=m&force=true`
      await ask('PATCH', applied, { body: text, ...type('apply-patch+yaml') })
      await ask('DELETE', `${path}/a`)
    }
    expect([...seen.keys()].sort()).toEqual(expect.arrayContaining([200, 201, 400, 404, 422]))
  })

  it('definitions of any shape are taken or refused', async () => {
    const schemas: object[] = [
      { type: 'object', properties: { a: { type: 'string', default: 1 } } },
      { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
      { type: 'object', properties: { a: { type: 'array' } } },
      { type: 'object', properties: { a: { type: 'array', items: [{ type: 'string' }] } } },
      { type: 'object', properties: { a: null } },
      { type: 'object', properties: { a: { type: 'object', additionalProperties: true } } },
      { type: 'object', 'x-kubernetes-validations': [{ rule: 'true' }, {}] },
      { type: 'object', 'x-kubernetes-validations': [{ rule: '1 +' }] },
      { type: 'object', properties: { a: { type: 'string', enum: [] } } },
      { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      { type: 'array' },
      {},
    ]
    for (const [index, schema] of schemas.entries()) {
      const kind = `Odd${index}`
      const body = definitionOf(server(), {
        group,
        kind,
        schema: schema as Record<string, unknown>,
      })
      const reply = await server().request('POST', definitionsPath(server()), { body })
      expect([201, 400, 422], `${JSON.stringify(schema)}: ${reply.text}`).toContain(reply.status)
      expect((await server().request('GET', '/openapi/v2')).status).toBe(200)
      const v3 = await server().request('GET', `/openapi/v3/apis/${group}/v1`)
      expect(v3.status).toBe(200)
      const path = `/apis/${group}/v1/namespaces/default/odd${index}s`
      const made = await server().request('POST', path, {
        body: { apiVersion: `${group}/v1`, kind, metadata: { name: 'a' }, a: 'b' },
      })
      expect(made.status, made.text).toBeLessThan(500)
    }
  })
})
