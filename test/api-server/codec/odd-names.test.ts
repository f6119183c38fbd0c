/** Names that every JavaScript object inherits, and text that has no UTF-8 form, in places where other names are looked up. */
import { describe, expect, it } from 'vitest'
import { expectFault } from '../../support/expect-fault.ts'
import { sharedServer } from '../../support/shared-server.ts'

const yaml = { 'content-type': 'application/yaml' }

describe('names that objects inherit', () => {
  const server = sharedServer()

  it('are keys like any other beside keys of another map', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    for (const name of ['constructor', 'toString', '__proto__']) {
      const text = name
        .replaceAll('_', '-')
        .toLowerCase()
        .replaceAll(/^-+|-+$/g, '')
      const body = `{"metadata":{"name":"${text}"},"data":{"${name}":"1"},"binaryData":{"other":"YQ=="}}`
      expect((await server().request('POST', at, { body })).status, name).toBe(201)
    }
  })

  it('are refused as amounts, not stumbled over', async () => {
    const ns = `/api/v1/namespaces/${await server().namespace()}`
    for (const name of ['constructor', 'hasOwnProperty', '__proto__']) {
      const item = `{"type":"Container","max":{"cpu":"1"},"min":{"${name}":"1"},"maxLimitRequestRatio":{"${name}":"2"}}`
      const range = `{"metadata":{"name":"x"},"spec":{"limits":[${item}]}}`
      expectFault(await server().request('POST', `${ns}/limitranges`, { body: range }), name, 422)
      const resources = `{"limits":{"cpu":"1"},"requests":{"${name}":"1"}}`
      const pod = `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","resources":${resources}}]}}`
      expectFault(await server().request('POST', `${ns}/pods`, { body: pod }), name, 422)
    }
  })
})

describe('half of a surrogate pair', () => {
  const server = sharedServer()

  it('is the replacement character, in every encoding that can write it', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/configmaps`
    const made = await server().request('POST', at, {
      body: '{"metadata":{"name":"json"},"data":{"a":"\\ud800","b":"\\ud83d\\ude00"}}',
    })
    expect(made.body.data).toEqual({ a: '\ufffd', b: '\u{1F600}' })
    const written = await server().request('POST', at, {
      body: 'metadata: {name: yaml}\ndata: {a: "\\uD800"}\n',
      headers: yaml,
    })
    expect(written.body.data).toEqual({ a: '\ufffd' })
    const patched = await server().request('PATCH', `${at}/json`, {
      body: '{"data":{"a":"x\\udfff","\\ud800":"1"}}',
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    expectFault(patched, 'key', 422)
    const roles = `/apis/${server().group('rbac.authorization')}/v1/namespaces/${ns}/roles`
    const role = await server().request('POST', roles, {
      body: '{"metadata":{"name":"\\ud800"},"rules":[]}',
    })
    expect(role.body.metadata.name).toBe('\ufffd')
    expect((await server().request('GET', `${roles}/%EF%BF%BD`)).status).toBe(200)
  })
})
