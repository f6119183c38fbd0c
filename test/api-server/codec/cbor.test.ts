/** CBOR: an encoding like any other, while its feature gate is on. */
import { describe, expect, it } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import { cborBody, readCbor } from '../../../components/api-server/encoding/cbor.ts'
import { cborItems } from '../../support/binary-forms.ts'
import { samples } from '../../support/one-of-each.ts'
import { configMap, get, settled } from '../../support/representations.ts'
import { sharedServer } from '../../support/shared-server.ts'

const cborGate = ['--feature-gates=CBORServingAndStorage=true']

describe('CBOR with its feature gate on', () => {
  const server = sharedServer({ flags: cborGate })
  const cbor = 'application/cbor'
  const maps = async (): Promise<string> =>
    `/api/v1/namespaces/${await server().namespace()}/configmaps`

  it('[PROTO-019] is an answer like any other: objects, lists and errors', async () => {
    const path = await maps()
    const made = await server().ok('POST', path, { body: configMap })
    const one = await get(server(), `${path}/c`, cbor)
    expect(one.headers['content-type']).toBe(cbor)
    expect(one.bytes.subarray(0, 3).toString('hex')).toBe('d9d9f7')
    expect(cborItems(one.bytes)).toEqual([made])
    const shown = await server().ok('GET', path)
    const same = `?resourceVersion=${shown.metadata.resourceVersion}&resourceVersionMatch=Exact`
    expect(cborItems((await get(server(), `${path}${same}`, cbor)).bytes)).toEqual([shown])
    const error = await get(server(), `${path}/none`, cbor)
    expect(error.headers['content-type']).toBe(cbor)
    expect(cborItems(error.bytes)).toMatchObject([{ kind: 'Status', code: 404 }])
    const refused = await get(server(), path, 'text/html')
    expect(refused.body.message).toContain('application/vnd.kubernetes.protobuf, application/cbor')
  })

  it('[PROTO-010] bodies are read with their Content-Type and not without', async () => {
    const path = await maps()
    const body = cborBody(
      { ...configMap, binaryData: { x: '/w==' } },
      schemaOf('core/v1.ConfigMap'),
    )
    const reply = await server().request('POST', path, { headers: { 'content-type': cbor }, body })
    expect(reply.status).toBe(201)
    expect(reply.body).toMatchObject({ data: { a: 'b' }, binaryData: { x: '/w==' } })
    for (const type of ['', 'application/json']) {
      const headers = { 'content-type': type }
      const untyped = await server().request('POST', path, { headers, body })
      expect(untyped.status).toBe(400)
    }
    const unknown = cborBody({ ...configMap, metadata: { name: 'd' }, nothing: 1 }, undefined)
    const strict = await server().request('POST', `${path}?fieldValidation=Strict`, {
      headers: { 'content-type': cbor },
      body: unknown,
    })
    expect(strict.status).toBe(400)
    expect(strict.body.message).toContain('unknown field "nothing"')
    for (const broken of [
      '',
      'a1',
      'ff',
      'a2416101416102',
      'f97e00',
      '81'.repeat(1000),
      // A break that stands for a value, in a list, under a tag and under a key.
      '81ff',
      'd864ff',
      'a14464617461ff',
      'bf4464617461ff',
      'bf4464617461a14161ffff',
    ]) {
      const bad = await server().request('POST', path, {
        headers: { 'content-type': cbor },
        body: Buffer.from(broken, 'hex'),
      })
      expect(bad.status, broken).toBe(400)
      expect(bad.body.kind).toBe('Status')
    }
  })

  it('[WATCH-026] [WATCH-027] a watch is a sequence of items, one for every event', async () => {
    const path = await maps()
    const made = await server().ok('POST', path, { body: configMap })
    const watch = await server().stream(`${path}?watch=1`, {
      headers: { accept: 'application/cbor-seq, application/cbor' },
    })
    expect(watch.headers['content-type']).toBe('application/cbor-seq')
    const isThere = (count: number) => (bytes: Buffer) => {
      try {
        return cborItems(bytes).length >= count
      } catch {
        // The last item is not whole yet.
        return false
      }
    }
    await watch.bytesUntil(isThere(1))
    const changed = await server().ok('PUT', `${path}/c`, {
      body: { ...configMap, data: { a: 'c' } },
    })
    await server().ok('DELETE', `${path}/c`)
    const events = cborItems(await watch.bytesUntil(isThere(3)))
    watch.close()
    expect(events).toEqual([
      { type: 'ADDED', object: made },
      { type: 'MODIFIED', object: changed },
      {
        type: 'DELETED',
        object: {
          ...changed,
          metadata: { ...changed.metadata, resourceVersion: expect.any(String) },
        },
      },
    ])
  })

  it('every built-in kind goes through it and comes back the same', async () => {
    const ns = await server().namespace()
    for (const { path, body } of samples(server(), ns)) {
      const item = `${path}/${body.metadata.name}`
      await server().ok('POST', path, { body })
      const made = await settled(server(), item)
      const one = await get(server(), item, cbor)
      expect(readCbor(one.bytes), path).toEqual(made)
      const headers = { 'content-type': cbor }
      const put = await server().request('PUT', item, { headers, body: one.bytes })
      expect(put.body, path).toEqual(made)
      await server().ok('DELETE', `${item}?gracePeriodSeconds=0`)
    }
  })
})
