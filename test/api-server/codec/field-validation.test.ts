/** Unknown, duplicate, missing and mistyped fields: rows VAL-001 to VAL-011, ERR-001 and ERR-002. */
import { describe, expect, it } from 'vitest'
import { sharedServer } from '../../support/shared-server.ts'
import { warningsOf } from '../../support/warning-headers.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const yaml = { 'content-type': 'application/yaml' }
const modes = ['Ignore', 'Warn', 'Strict'] as const

describe('field validation', () => {
  const server = sharedServer()
  const collection = async (): Promise<string> =>
    `/api/v1/namespaces/${await server().namespace()}/configmaps`
  const oddJson = (name: string): string =>
    `{"metadata":{"name":"${name}","colour":"red"},"data":{"a":"1","a":"2"},"size":3}`

  it('[VAL-001] applies to POST, PUT and PATCH', async () => {
    const at = await collection()
    const body = { metadata: { name: 'x' }, size: 3 }
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    for (const [method, path, headers, code] of [
      ['POST', at, {}, 400],
      ['PUT', `${at}/x`, {}, 400],
      ['PATCH', `${at}/x`, merge, 422],
      ['PATCH', `${at}/x`, { 'content-type': 'application/strategic-merge-patch+json' }, 422],
    ] as const) {
      const answer = await server().request(method, `${path}?fieldValidation=Strict`, {
        body,
        headers,
      })
      expect(answer.status, method).toBe(code)
      expect(answer.body.message).toContain('unknown field "size"')
    }
  })

  it('[VAL-002] Ignore drops unknown fields and takes duplicates without a word', async () => {
    const at = await collection()
    const answer = await server().request('POST', `${at}?fieldValidation=Ignore`, {
      body: oddJson('x'),
    })
    expect(answer.status).toBe(201)
    expect(warningsOf(answer)).toEqual([])
    expect(answer.body.data).toEqual({ a: '2' })
    expect(Object.keys(answer.body).sort()).toEqual(['apiVersion', 'data', 'kind', 'metadata'])
    expect(answer.body.metadata.colour).toBeUndefined()
  })

  it('[VAL-003][VAL-004][VAL-007] Warn, the default, warns once for each', async () => {
    for (const query of ['?fieldValidation=Warn', '', '?fieldValidation=']) {
      const at = await collection()
      const answer = await server().request('POST', `${at}${query}`, { body: oddJson('x') })
      expect(answer.status).toBe(201)
      expect(warningsOf(answer)).toEqual([
        'unknown field "metadata.colour"',
        'duplicate field "data.a"',
        'unknown field "size"',
      ])
      expect(answer.body.size).toBeUndefined()
    }
  })

  it('[VAL-005][VAL-006][ERR-001] Strict refuses with 400 and names them all', async () => {
    const at = await collection()
    const answer = await server().request('POST', `${at}?fieldValidation=Strict`, {
      body: oddJson('x'),
    })
    expect(answer.status).toBe(400)
    expect(answer.body.reason).toBe('BadRequest')
    for (const field of ['"metadata.colour"', '"data.a"', '"size"']) {
      expect(answer.body.message).toContain(field)
    }
    for (const body of [
      '{"metadata":{"name":"x"},"size":3}',
      '{"metadata":{"name":"x"},"data":{"a":"1","a":"1"}}',
    ]) {
      const one = await server().request('POST', `${at}?fieldValidation=Strict`, { body })
      expect(one.status).toBe(400)
    }
    expect((await server().ok('GET', at)).items).toEqual([])
    const clean = '{"metadata":{"name":"x"},"data":{"a":"1"}}'
    await server().ok('POST', `${at}?fieldValidation=Strict`, { body: clean })
  })

  it('[VAL-012] Strict rejects what a patch makes of an object with 422, and names the fields', async () => {
    const at = await collection()
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    const answer = await server().request('PATCH', `${at}/x?fieldValidation=Strict`, {
      body: { size: 3, metadata: { colour: 'red' } },
      headers: merge,
    })
    expect(answer.status).toBe(422)
    expect(answer.body.reason).toBe('Invalid')
    expect(answer.body.details.causes).toHaveLength(1)
    expect(answer.body.details.causes[0].field).toBe('patch')
    expect(answer.body.message).toMatch(
      /: strict decoding error: unknown field "metadata.colour", unknown field "size"$/,
    )
    expect((await server().ok('GET', `${at}/x`)).metadata.colour).toBeUndefined()
  })

  it('YAML is checked like JSON', async () => {
    const at = await collection()
    const body = 'metadata:\n  name: x\nsize: 3\ndata:\n  a: "1"\n'
    const strict = await server().request('POST', `${at}?fieldValidation=Strict`, {
      body,
      headers: yaml,
    })
    expect(strict.status).toBe(400)
    expect(strict.body.message).toContain('unknown field "size"')
    const twice = await server().request('POST', `${at}?fieldValidation=Strict`, {
      body: 'metadata:\n  name: x\ndata:\n  a: "1"\n  a: "2"\n',
      headers: yaml,
    })
    expect(twice.status).toBe(400)
    const warned = await server().request('POST', at, { body, headers: yaml })
    expect(warned.status).toBe(201)
    expect(warningsOf(warned)).toEqual(['unknown field "size"'])
  })

  it('[VAL-008][ERR-002] of a malformed body only the first fatal error is told', async () => {
    const at = await collection()
    const mistyped = '{"size":3,"metadata":{"name":7,"labels":{"a":1}},"data":{"a":1}}'
    const answer = await server().request('POST', `${at}?fieldValidation=Strict`, {
      body: mistyped,
    })
    expect(answer.status).toBe(400)
    expect(answer.body.message).toMatch(/cannot unmarshal number into Go struct field \S+ of type/)
    expect(answer.body.message.match(/cannot unmarshal/g)).toHaveLength(1)
    expect(answer.body.message).not.toContain('size')
    const broken = await server().request('POST', `${at}?fieldValidation=Strict`, {
      body: '{"size":3,"metadata":{"name":"x"}',
    })
    expect(broken.status).toBe(400)
    expect(broken.body.message).toContain('unexpected end of JSON input')
    expect(broken.body.message).not.toContain('unknown field')
  })

  it('[VAL-009] any other value is refused', async () => {
    const at = await collection()
    for (const value of ['Foo', 'strict', 'true']) {
      const answer = await server().request('POST', `${at}?fieldValidation=${value}`, {
        body: { metadata: { name: 'x' } },
      })
      expect(answer.status).toBe(422)
      expect(answer.body.details.causes[0].field).toBe('fieldValidation')
    }
    expect((await server().ok('GET', at)).items).toEqual([])
  })

  it('[VAL-010] a missing required field is an error in every mode', async () => {
    const ns = await server().namespace()
    for (const mode of modes) {
      for (const [path, body, field] of [
        ['configmaps', {}, 'metadata.name'],
        ['pods', { metadata: { name: 'p' }, spec: {} }, 'spec.containers'],
        [
          'pods',
          { metadata: { name: 'p' }, spec: { containers: [{ image: 'i' }] } },
          'spec.containers[0].name',
        ],
        ['services', { metadata: { name: 's' }, spec: {} }, 'spec.ports'],
      ] as const) {
        const answer = await server().request(
          'POST',
          `/api/v1/namespaces/${ns}/${path}?fieldValidation=${mode}`,
          { body },
        )
        expect(answer.status, `${mode} ${field}`).toBe(422)
        const fields = answer.body.details.causes.map((cause: { field: string }) => cause.field)
        expect(fields).toContain(field)
      }
    }
  })

  it('[VAL-011] a wrong type is an error in every mode', async () => {
    const ns = await server().namespace()
    for (const mode of modes) {
      for (const spec of [
        { containers: 'none' },
        { containers: [{ name: 'c', image: 5 }] },
        { containers: [], terminationGracePeriodSeconds: '30' },
        { containers: [], hostNetwork: 'true' },
        { containers: [{ name: 'c', resources: { limits: { cpu: {} } } }] },
      ]) {
        const answer = await server().request(
          'POST',
          `/api/v1/namespaces/${ns}/pods?fieldValidation=${mode}`,
          { body: { metadata: { name: 'p' }, spec } },
        )
        expect(answer.status, JSON.stringify(spec)).toBe(400)
        expect(answer.body.reason).toBe('BadRequest')
      }
    }
  })

  it('warnings survive any field name, in any number', async () => {
    const at = await collection()
    const odd = { 'fäld 日本 "quoted" \\ \u0007': 1 }
    const answer = await server().request('POST', at, { body: { metadata: { name: 'x' }, ...odd } })
    expect(answer.status).toBe(201)
    expect(warningsOf(answer)).toHaveLength(1)
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`field-${index}-${'x'.repeat(500)}`, index]),
    )
    const flood = await server().request('POST', at, { body: { metadata: { name: 'y' }, ...many } })
    expect(flood.status).toBe(201)
    expect(warningsOf(flood).length).toBeGreaterThan(5)
    expect(warningsOf(flood).join('').length).toBeLessThan(6000)
  })
})
