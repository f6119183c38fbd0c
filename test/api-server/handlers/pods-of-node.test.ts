/** Lists and watches of one node's pods, which an index serves. */
import { expect, it } from 'vitest'
import type { TestApiServer } from '../../support/api-server.ts'
import { sharedServer } from '../../support/shared-server.ts'

const server = sharedServer()

interface List {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: { readonly metadata: { readonly name: string } }[]
}

async function podsIn(made: TestApiServer): Promise<string> {
  return `/api/v1/namespaces/${await made.namespace()}/pods`
}

async function makePod(at: string, name: string, nodeName?: string): Promise<void> {
  const spec = { containers: [{ name: 'c', image: 'i' }], ...(nodeName && { nodeName }) }
  await server().ok('POST', at, { body: { metadata: { name }, spec } })
}

async function bindPod(at: string, name: string, node: string): Promise<void> {
  const body = { metadata: { name }, target: { kind: 'Node', name: node } }
  await server().ok('POST', `${at}/${name}/binding`, { body })
}

const of = (node: string): string => `fieldSelector=spec.nodeName%3D${node}`
const listed = async (path: string): Promise<List> => await server().ok('GET', path)
const names = ({ items }: List): string[] => items.map(({ metadata }) => metadata.name)

it('a pod comes with its binding and goes with its deletion, for lists and watches old and new', async () => {
  const at = await podsIn(server())
  const { resourceVersion: start } = (await listed(`${at}?${of('n-1')}`)).metadata
  const early = await server().watch(`${at}?watch=1&${of('n-1')}&resourceVersion=${start}`)
  await makePod(at, 'p')
  await makePod(at, 'other', 'n-2')
  const unbound = await listed(`${at}?${of('n-1')}`)
  expect(names(unbound)).toEqual([])
  expect(names(await listed(`${at}?${of('')}`))).toEqual(['p'])
  await bindPod(at, 'p', 'n-1')
  const bound = await listed(`${at}?${of('n-1')}`)
  expect(names(bound)).toEqual(['p'])
  expect(names(await listed(`/api/v1/pods?${of('n-1')}`))).toContain('p')
  expect(names(await listed(`${at}?${of('')}`))).toEqual([])
  await server().ok('DELETE', `${at}/p`, { body: { gracePeriodSeconds: 0 } })
  expect(names(await listed(`${at}?${of('n-1')}`))).toEqual([])
  const exactly = async ({ metadata }: List): Promise<string[]> => {
    const when = `resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`
    return names(await listed(`${at}?${of('n-1')}&${when}`))
  }
  expect(await exactly(unbound)).toEqual([])
  expect(await exactly(bound)).toEqual(['p'])
  const late = await server().watch(`${at}?watch=1&${of('n-1')}&resourceVersion=${start}`)
  for (const watch of [early, late]) {
    const events = [await watch.next(), await watch.next()]
    expect(events.map(({ type, object }) => [type, object.metadata.name])).toEqual([
      ['ADDED', 'p'],
      ['DELETED', 'p'],
    ])
    expect(watch.waiting).toEqual([])
    watch.close()
  }
})

it('a watch of a node begins with its pods, and pages of them join to the whole list', async () => {
  const at = await podsIn(server())
  const wanted = ['a', 'c', 'e', 'g']
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    await makePod(at, name, wanted.includes(name) ? 'n-1' : 'n-2')
  }
  const selector = 'fieldSelector=status.phase%3DPending,spec.nodeName%3Dn-1'
  expect(names(await listed(`${at}?${selector}`))).toEqual(wanted)
  const first = await listed(`${at}?${of('n-1')}&limit=3`)
  await makePod(at, 'h', 'n-1')
  const token = encodeURIComponent(first.metadata.continue ?? '')
  const second = await listed(`${at}?${of('n-1')}&limit=3&continue=${token}`)
  expect([...names(first), ...names(second)]).toEqual(wanted)
  const watch = await server().watch(`${at}?watch=1&${of('n-1')}`)
  for (const name of [...wanted, 'h']) {
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name } } })
  }
  watch.close()
})
