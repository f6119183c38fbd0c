/** The flag --storage-media-type: the form in which built-in kinds lie in the store. */
import { expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { startStoredServer } from '../../support/raw-store.ts'

const protobuf = '--storage-media-type=application/vnd.kubernetes.protobuf'
const configMaps = '/api/v1/namespaces/default/configmaps'
const keyOf = (name: string): string => `/registry/configmaps/default/${name}`
const magic = 'k8s\0\n\u000f\n\u0002v1\u0012\tConfigMap'

it('either form is read, and a write that changes nothing brings an object into the form of the flag', async () => {
  await using at = await startStoredServer()
  const { server } = at
  const made = await server.ok('POST', configMaps, {
    body: { metadata: { name: 'a' }, data: { k: 'v' } },
  })
  expect((await at.stored(keyOf('a'))).startsWith('{"kind":"ConfigMap"')).toBe(true)

  await at.between(async () => {}, [protobuf])
  expect(await server.ok('GET', `${configMaps}/a`)).toEqual(made)
  const rewritten = await server.ok('PUT', `${configMaps}/a`, { body: made })
  expect(rewritten.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion)
  const stored = await at.stored(keyOf('a'))
  expect(stored.slice(0, magic.length)).toBe(magic)
  expect(stored).not.toContain(rewritten.metadata.resourceVersion)
  expect(await server.ok('GET', `${configMaps}/a`)).toEqual(rewritten)
  const same = await server.ok('PUT', `${configMaps}/a`, { body: rewritten })
  expect(same.metadata.resourceVersion).toBe(rewritten.metadata.resourceVersion)

  await at.between(async () => {}, [])
  expect(await server.ok('GET', `${configMaps}/a`)).toEqual(rewritten)
  const again = await server.ok('PUT', `${configMaps}/a`, { body: rewritten })
  expect(again.metadata.resourceVersion).not.toBe(rewritten.metadata.resourceVersion)
  expect((await at.stored(keyOf('a'))).startsWith('{"kind":"ConfigMap"')).toBe(true)
})

it('custom resources, definitions and APIServices are JSON in any case', async () => {
  await using at = await startStoredServer({ flags: () => [protobuf] })
  await at.server.ok('POST', configMaps, { body: { metadata: { name: 'a' } } })
  const json = await at.between(async (store) => {
    const { kvs } = await store.range({ prefix: '/registry/' })
    return kvs.filter(({ value }) => value[0] === 0x7b).map(({ key }) => key.split('/')[2])
  })
  expect([...new Set(json)]).toEqual(['apiregistration.k8s.io'])
})

it.each(['application/yaml', 'application/cbor', 'text/plain', ''])(
  'a server does not start with %j',
  async (type) => {
    await expect(startApiServer({ flags: [`--storage-media-type=${type}`] })).rejects.toThrow(
      `--storage-media-type "${type}" invalid, allowed values: application/json, application/vnd.kubernetes.protobuf`,
    )
  },
)
