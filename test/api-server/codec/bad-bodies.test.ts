/** Bodies that are broken, mistyped, too large or malicious: always a Status that names the fault, and the server goes on. */
import { describe, expect, it } from 'vitest'
import { expectFault } from '../../support/expect-fault.ts'
import { sharedServer } from '../../support/shared-server.ts'

const yaml = { 'content-type': 'application/yaml' }
const limit = 3 * 1024 * 1024

describe('bodies', () => {
  const server = sharedServer()
  const collection = async (): Promise<string> => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    await server().ok('POST', at, { body: { metadata: { name: 'x' }, data: { a: '1' } } })
    return at
  }

  it('of broken JSON are refused with the place of the fault', async () => {
    const at = await collection()
    for (const [body, why] of [
      ['', 'unexpected end of JSON input'],
      ['{', 'unexpected end of JSON input'],
      ['nope', "invalid character 'o' in literal null (expecting 'u')"],
      ["{'a': 1}", "invalid character '\\'' looking for beginning of object key string"],
      ['{"a": 1,}', "invalid character '}' looking for beginning of object key string"],
      ['{"a" 1}', "invalid character '1' after object key"],
      ['{} {}', "invalid character '{' after top-level value"],
      [Buffer.from([0xff, 0xfe]), "invalid character 'ÿ' looking for beginning of value"],
      [
        '{"data": {"a": -1.5e999}}',
        'cannot unmarshal number -1.5e999 into Go value of type float64',
      ],
      ['[]', 'cannot unmarshal array'],
      ['"text"', 'cannot unmarshal string'],
      ['5', 'cannot unmarshal number'],
      ['{"kind": 1}', 'cannot unmarshal number into Go struct field .kind of type string'],
      [
        '{"apiVersion": 1, "kind": "ConfigMap"}',
        'cannot unmarshal number into Go struct field .apiVersion of type string',
      ],
      ['{"kind": "Secret", "apiVersion": "v1"}', 'cannot be handled as a ConfigMap'],
      [
        '{"kind": "None", "apiVersion": "v1"}',
        'None in version "v1" cannot be handled as a ConfigMap: no kind "None" is registered for version "v1"',
      ],
      [
        '{"apiVersion": "v9", "kind": "ConfigMap"}',
        'ConfigMap in version "v9" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v9"',
      ],
      [
        '{"apiVersion": "apps/v1", "kind": "ReplicaSet"}',
        'ReplicaSet in version "v1" cannot be handled as a ConfigMap: converting (v1.ReplicaSet) to (core.ConfigMap): unknown conversion',
      ],
    ] as const) {
      for (const [method, path] of [
        ['POST', at],
        ['PUT', `${at}/x`],
      ] as const) {
        const reply = await server().request(method, path, {
          body,
          headers: { 'content-type': 'application/json' },
        })
        expectFault(reply, `${method} ${body.toString()}`, 400)
        expect(reply.body.message).toContain(why)
      }
    }
  })

  it('of broken or strange YAML are refused', async () => {
    const at = await collection()
    for (const [body, why] of [
      ['a: [', 'unexpected end of the stream'],
      ['a: b: c', 'bad indentation'],
      ['- a', 'cannot unmarshal array'],
      ['!!js/function x', 'unknown scalar tag'],
      ['---\na: 1\n---\nb: 2', 'expected a single document'],
      ['? [a]\n: b', 'does not support complex keys'],
      ['a: "\\xZZ"', 'expected hexadecimal character'],
      ['\u0000', 'null byte'],
      ['a: &a [*a]', 'nested too deep'],
      ['['.repeat(5000), 'maxDepth'],
      [`${'a: {'.repeat(1)}${'b: {'.repeat(400)}`, 'maxDepth'],
      ['metadata: {name: y}\ndata: {a: .nan}', 'cannot unmarshal number'],
      ['metadata: {name: y}\ndata: {a: 1}', 'cannot unmarshal number'],
    ] as const) {
      const reply = await server().request('POST', at, { body, headers: yaml })
      expectFault(reply, body.slice(0, 40), 400)
      expect(reply.body.message, body.slice(0, 40)).toContain(why)
    }
  })

  it('that aliases would blow up are refused at once', async () => {
    const at = await collection()
    const lines = ['a0: &a0 ["x","x","x","x","x","x","x","x","x"]']
    for (let level = 1; level < 12; level += 1) {
      const aliases = Array.from({ length: 9 }, () => `*a${level - 1}`)
      lines.push(`a${level}: &a${level} [${aliases.join(',')}]`)
    }
    const reply = await server().request('POST', at, { body: lines.join('\n'), headers: yaml })
    expectFault(reply, 'alias bomb', 400)
    expect(reply.body.message).toContain('excessive aliasing')
    const long = `a: &a ${'x'.repeat(limit / 2)}\nb: [${'*a,'.repeat(100_000)}]`
    const texts = await server().request('POST', at, { body: long, headers: yaml })
    expectFault(texts, 'bomb of long texts', 400)
    expect(texts.body.message).toContain('excessive aliasing')
    const few = 'metadata: {name: aliased, labels: &l {a: b}, annotations: *l}'
    expect((await server().request('POST', at, { body: few, headers: yaml })).status).toBe(201)
  })

  it('that nest too deep are refused', async () => {
    const at = await collection()
    for (const body of [
      '['.repeat(limit - 1),
      `${'{"a":'.repeat(400_000)}1${'}'.repeat(400_000)}`,
      `{"metadata":{"name":"y","annotations":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}}`,
    ]) {
      const reply = await server().request('POST', at, { body })
      expectFault(reply, body.slice(0, 20), 400)
      expect(reply.body.message).toContain('exceeded max depth')
    }
    const revisions = at
      .replace('api/v1', 'apis/apps/v1')
      .replace('configmaps', 'controllerrevisions')
    const deep = `${'{"a":'.repeat(900)}1${'}'.repeat(900)}`
    const body = `{"metadata":{"name":"deep"},"revision":1,"data":${deep}}`
    const kept = await server().request('POST', revisions, { body })
    expect(kept.status).toBe(201)
    expect(await server().ok('GET', `${revisions}/deep`)).toEqual(kept.body)
    expect((await server().request('PUT', `${revisions}/deep`, { body: kept.text })).status).toBe(
      200,
    )
  })

  it('larger than 3 MiB are refused, whether announced or not', async () => {
    const at = await collection()
    const body = Buffer.alloc(limit + 1, ' ')
    for (const headers of [{}, { 'content-length': String(body.length) }]) {
      for (const [method, path, type] of [
        ['POST', at, 'application/json'],
        ['PUT', `${at}/x`, 'application/json'],
        ['PATCH', `${at}/x`, 'application/merge-patch+json'],
        ['DELETE', `${at}/x`, 'application/json'],
      ] as const) {
        const reply = await server().request(method, path, {
          body,
          headers: { ...headers, 'content-type': type },
        })
        expectFault(reply, method, 413)
        expect(reply.body.reason).toBe('RequestEntityTooLarge')
      }
    }
    const most = await server().request('POST', at, { body: Buffer.alloc(limit, ' ') })
    expectFault(most, 'exactly 3 MiB', 400)
    // Refused before anybody reads it, a large body must not keep the stream open either.
    const denied = await server().request('POST', at, { body, as: { user: 'nobody' } })
    expectFault(denied, 'forbidden', 403)
    expectFault(await server().request('POST', `${at}/x`, { body }), 'wrong method', 405)
  })

  it('with contents too large for their kind are refused', async () => {
    const at = await collection()
    const reply = await server().request('POST', at, {
      body: { metadata: { name: 'y' }, data: { a: 'x'.repeat(1_100_000) } },
    })
    expectFault(reply, 'ConfigMap over 1 MiB', 422)
    const annotated = await server().request('POST', at, {
      body: { metadata: { name: 'y', annotations: { a: 'x'.repeat(300_000) } } },
    })
    expectFault(annotated, 'annotations over 256 KiB', 422)
  })

  it('in unknown media types are refused', async () => {
    const at = await collection()
    const body = { metadata: { name: 'y' } }
    for (const type of ['text/plain', 'application/cbor', 'application/xml', 'nonsense']) {
      const reply = await server().request('POST', at, { body, headers: { 'content-type': type } })
      expectFault(reply, type, 415)
      expect(reply.body.message).toContain('application/json, application/yaml')
    }
    const typed = { 'content-type': 'application/json; charset=utf-8' }
    expect((await server().request('POST', at, { body, headers: typed })).status).toBe(201)
    for (const garbage of [Buffer.from('k8s\0garbage'), Buffer.alloc(0), Buffer.from('k8s\0')]) {
      const reply = await server().request('POST', at, {
        body: garbage,
        headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
      })
      expectFault(reply, 'protobuf')
    }
  })

  it('of patches that make no sense are refused', async () => {
    const at = await collection()
    const before = await server().ok('GET', `${at}/x`)
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: '1' }))
    const cases: [type: string, body: unknown, code: number][] = [
      ['json-patch+json', {}, 400],
      ['json-patch+json', [1], 400],
      ['json-patch+json', [{ op: 'conjure', path: '/data/a' }], 422],
      ['json-patch+json', [{ op: 'add' }], 422],
      ['json-patch+json', [{ op: 'remove', path: '' }], 422],
      ['json-patch+json', [{ op: 'replace', path: '', value: null }], 422],
      ['json-patch+json', [{ op: 'replace', path: '', value: [] }], 422],
      ['json-patch+json', [null], 422],
      ['json-patch+json', [{ op: 'move', from: '/data', path: '/data/x' }], 422],
      ['json-patch+json', [{ op: 'copy', from: '', path: '/data/x' }], 422],
      ['json-patch+json', many, 413],
      ['merge-patch+json', [], 400],
      ['merge-patch+json', 'null', 400],
      ['merge-patch+json', { metadata: null }, 400],
      ['merge-patch+json', { metadata: { name: 'other' } }, 400],
      ['merge-patch+json', { metadata: { namespace: 'other' } }, 400],
      ['merge-patch+json', { metadata: { uid: 'other' } }, 409],
      ['merge-patch+json', { metadata: { resourceVersion: '1' } }, 409],
      ['merge-patch+json', { kind: 'Secret' }, 422],
      ['merge-patch+json', { apiVersion: 'v9' }, 422],
      ['strategic-merge-patch+json', { $patch: 'delete' }, 400],
      ['strategic-merge-patch+json', { data: { $patch: 'conjure' } }, 400],
      ['strategic-merge-patch+json', { metadata: { ownerReferences: [{}] } }, 422],
    ]
    for (const [type, body, code] of cases) {
      const reply = await server().request('PATCH', `${at}/x`, {
        body,
        headers: { 'content-type': `application/${type}` },
      })
      expectFault(reply, `${type} ${JSON.stringify(body).slice(0, 60)}`, code)
    }
    expect(await server().ok('GET', `${at}/x`)).toEqual(before)
  })

  it('of delete options that make no sense are refused, and nothing is deleted', async () => {
    const at = await collection()
    for (const body of [
      'nope',
      '[]',
      '{"propagationPolicy":1}',
      '{"propagationPolicy":"Sideways"}',
      '{"gracePeriodSeconds":"long"}',
      '{"gracePeriodSeconds":1e30}',
      '{"dryRun":"All"}',
      '{"preconditions":"x"}',
      '{"orphanDependents":"yes"}',
      '{"kind":"Pod"}',
      '{"propagationPolicy":"Background","orphanDependents":true}',
    ]) {
      expectFault(await server().request('DELETE', `${at}/x`, { body }), body)
      expectFault(await server().request('DELETE', at, { body }), body)
    }
    expect((await server().ok('GET', at)).items.length).toBe(1)
  })

  it('with names that objects inherit are data like any other', async () => {
    const at = await collection()
    const odd = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf']
    for (const [index, key] of odd.entries()) {
      const item = `${at}/odd-${index}`
      const label = key.replaceAll('_', '')
      const body = `{"metadata":{"name":"odd-${index}","labels":{"${label}":"1"}},"data":{"${key}":"1"},"${key}":{"a":1}}`
      const made = await server().request('POST', at, { body })
      expect(made.status).toBe(201)
      expect(Object.entries(made.body.data)).toEqual([[key, '1']])
      const changes: [type: string, body: string, value: string | undefined][] = [
        ['merge-patch', `{"data":{"${key}":"2"}}`, '2'],
        ['strategic-merge-patch', `{"data":{"${key}":"3"},"${key}":{"polluted":"1"}}`, '3'],
        ['json-patch', `[{"op":"replace","path":"/data/${key}","value":"4"}]`, '4'],
        ['merge-patch', `{"data":{"${key}":null}}`, undefined],
        ['json-patch', `[{"op":"add","path":"/data","value":{"${key}":"5"}}]`, '5'],
      ]
      for (const [type, patch, value] of changes) {
        const reply = await server().request('PATCH', item, {
          body: patch,
          headers: { 'content-type': `application/${type}+json` },
        })
        expect(reply.status, `${type} ${patch}: ${reply.text}`).toBe(200)
        expect(Object.entries(reply.body.data ?? {})).toEqual(
          value === undefined ? [] : [[key, value]],
        )
      }
      const added = await server().ok('PATCH', item, {
        body: `{"metadata":{"annotations":{"${label}":"x"}}}`,
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      expect(Object.entries(added.metadata.annotations)).toEqual([[label, 'x']])
      const found = await server().ok('GET', `${at}?labelSelector=${label}`)
      expect(found.items.length).toBe(1)
      const viaYaml = await server().request('POST', `${at}?dryRun=All`, {
        body: `metadata: {name: y}\ndata: {"${key}": "1"}\n`,
        headers: yaml,
      })
      expect(Object.entries(viaYaml.body.data)).toEqual([[key, '1']])
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})
