/** One body, four media types: how a patch is read is its Content-Type's to say. */
import { expect, it } from 'vitest'
import { cborBody } from '../../../components/api-server/encoding/cbor.ts'
import { startApiServer } from '../../support/api-server.ts'
import { describeDialects } from '../../support/shared-server.ts'

const labels = { app: 'x' }
const two = [
  { name: 'one', image: 'i' },
  { name: 'two', image: 'i' },
]
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', annotations: { a: '1' } },
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: two } },
  },
}

const container = '/spec/template/spec/containers/0'

describeDialects('patches', (server) => {
  it('[UPD-005] each media type has its own rules', async () => {
    const path = `/apis/apps/v1/namespaces/${await server().namespace()}/deployments`
    const patch = async (type: string, body: unknown, query = ''): Promise<unknown> => {
      await server().ok('POST', path, { body: deployment })
      const reply = await server().request('PATCH', `${path}/d${query}`, {
        headers: { 'content-type': type },
        body,
      })
      await server().ok('DELETE', `${path}/d`)
      if (reply.status !== 200) return reply.status
      const { metadata, spec } = reply.body
      const images = spec.template.spec.containers.map(
        ({ name, image }: { name: string; image: string }) => `${name}=${image}`,
      )
      return [metadata.annotations, ...images]
    }
    const document = {
      metadata: { annotations: { b: '2', a: null } },
      spec: { template: { spec: { containers: [{ name: 'one', image: 'new' }] } } },
    }
    const list = [{ op: 'replace', path: `${container}/image`, value: 'new' }]
    const json = 'application/json-patch+json'
    const merge = 'application/merge-patch+json'
    const strategic = 'application/strategic-merge-patch+json'
    const apply = 'application/apply-patch+yaml'
    expect(await patch(json, list)).toEqual([{ a: '1' }, 'one=new', 'two=i'])
    // A list is a value to the one, and has keys for the other.
    expect(await patch(merge, document)).toEqual([{ b: '2' }, 'one=new'])
    expect(await patch(strategic, document)).toEqual([{ b: '2' }, 'one=new', 'two=i'])
    // Fields belong to those who set them, and stay when another leaves them out.
    const config = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { annotations: { b: '2' } },
      spec: document.spec,
    }
    expect(await patch(apply, config, '?fieldManager=m')).toBe(409)
    expect(await patch(apply, config, '?fieldManager=m&force=true')).toEqual([
      { a: '1', b: '2' },
      'one=new',
      'two=i',
    ])
    // The same words under another type mean nothing.
    for (const type of [merge, strategic]) expect(await patch(type, list)).toBe(400)
    expect(await patch(json, document)).toBe(400)
    expect(await patch(apply, list, '?fieldManager=m')).toBe(400)
    for (const type of ['application/json', 'application/yaml', 'text/plain', '']) {
      expect(await patch(type, document), type).toBe(415)
    }
  })
})

it('an apply configuration may be CBOR where the gate is on, other patches never', async () => {
  await using server = await startApiServer({
    flags: ['--feature-gates=CBORServingAndStorage=true'],
  })
  const path = `/api/v1/namespaces/${await server.namespace()}/configmaps/c?fieldManager=m`
  const config = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c' },
    data: { a: 'b' },
  }
  const send = async (type: string, body: Buffer) =>
    await server.request('PATCH', path, { headers: { 'content-type': type }, body })
  const apply = 'application/apply-patch+cbor'
  const made = await send(apply, cborBody(config, undefined))
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({ data: { a: 'b' } })
  expect(
    (await send(apply, cborBody({ ...config, data: {} }, undefined))).body.data,
  ).toBeUndefined()
  expect((await send(apply, Buffer.from('a2616101616102', 'hex'))).status).toBe(400)
  expect((await send(apply, cborBody([], undefined))).status).toBe(400)
  expect((await send('application/merge-patch+cbor', cborBody({}, undefined))).status).toBe(415)
  await using plain = await startApiServer()
  const ns = await plain.namespace()
  const off = await plain.request('PATCH', `/api/v1/namespaces/${ns}/configmaps/c?fieldManager=m`, {
    headers: { 'content-type': apply },
    body: cborBody(config, undefined),
  })
  expect(off.status).toBe(415)
})
