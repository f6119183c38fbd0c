import { afterEach, describe, expect, it } from 'vitest'
import { baseImageFor } from '../../embedded/base-image.ts'
import type { BaseImageKind } from '../../embedded/base-image.ts'
import { blankImage } from '../../embedded/blank-image.ts'
import { EmbeddedCluster } from '../../embedded/embedded-cluster.ts'
import type { EmbeddedClusterOptions } from '../../embedded/embedded-options.ts'

const kinds: readonly BaseImageKind[] = ['with-controllers', 'api-server-alone']
const startAtMs = Date.UTC(2031, 3, 5, 6, 7, 8)
const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

function optionsOf(
  kind: BaseImageKind,
  more: Partial<EmbeddedClusterOptions> = {},
): EmbeddedClusterOptions {
  return {
    nodes: kind === 'with-controllers' ? [{ name: 'node-1', flags: {} }] : [],
    components: kind === 'with-controllers' ? ['controller-manager', 'scheduler'] : [],
    extraFlags: {},
    port: 0,
    seed: 1,
    startAtMs,
    initialState: undefined,
    ...more,
  }
}

/** At rest. */
async function start(options: EmbeddedClusterOptions, base?: string): Promise<EmbeddedCluster> {
  const cluster = await EmbeddedCluster.start(options, () => base)
  ends.push(() => cluster.close())
  await cluster.clock.settled()
  await cluster.clock.advance(60_000)
  return cluster
}

const uids = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g

/** The order of field managers goes by their times. */
function withManagersInOrder(text: string): string {
  const object = JSON.parse(text)
  object.metadata?.managedFields?.sort((one: { manager: string }, other: { manager: string }) =>
    one.manager.localeCompare(other.manager),
  )
  return JSON.stringify(object)
}

/** Key -> object, without what differs from start to start. */
async function contentOf(cluster: EmbeddedCluster): Promise<ReadonlyMap<string, string>> {
  const { kvs } = await cluster.image()
  const insideJson = (pem: string): string => JSON.stringify(pem).slice(1, -1)
  const { authority, frontProxyAuthority } = cluster.authorities
  // Events have the time in their names.
  const objects = kvs.filter(
    ({ key }) => /^\/registry\/[^/]+\/./.test(key) && !key.startsWith('/registry/events/'),
  )
  return new Map(
    objects.map(({ key, value }) => [
      key,
      withManagersInOrder(value.toString())
        .replaceAll(insideJson(authority), 'CA')
        .replaceAll(Buffer.from(authority).toString('base64'), 'CA')
        .replaceAll(insideJson(frontProxyAuthority), 'FRONT-PROXY-CA')
        .replaceAll(`:${cluster.port}`, ':PORT')
        .replace(/"kubeletEndpoint":\{"Port":\d+\}/, 'AGENT-PORT')
        .replaceAll(uids, 'UID')
        .replaceAll(/"2031-04-05T06:0\d:\d\d(\.\d+)?Z"/g, 'TIME'),
    ]),
  )
}

describe('a base image', () => {
  it.each(kinds)('gives a cluster what it would have written itself (%s)', async (kind) => {
    const base = await blankImage(kind)
    const without = await contentOf(await start(optionsOf(kind)))
    const from = await contentOf(await start(optionsOf(kind), base))
    expect([...from.keys()]).toEqual([...without.keys()])
    expect(from).toEqual(without)
  })

  it('gives each object its own uid, by the seed of the cluster, and the time of the start', async () => {
    const base = await blankImage('api-server-alone')
    const uidsOf = async (seed: number): Promise<string[]> => {
      const cluster = await start(optionsOf('api-server-alone', { seed }), base)
      const { kvs } = await cluster.image()
      const roles = kvs.filter(({ key }) => key.startsWith('/registry/clusterroles/'))
      const metadata = roles.map(({ value }) => JSON.parse(value.toString()).metadata)
      expect(new Set(metadata.map(({ creationTimestamp }) => creationTimestamp))).toEqual(
        new Set(['2031-04-05T06:07:08Z']),
      )
      return metadata.map(({ uid }) => uid)
    }
    const [first, again, other] = [await uidsOf(1), await uidsOf(1), await uidsOf(2)]
    expect(first.length).toBeGreaterThan(50)
    expect(again).toEqual(first)
    expect(new Set([...first, ...other]).size).toBe(2 * first.length)
  })

  it.each(kinds)('has the same text each time, and nothing of the cluster (%s)', async (kind) => {
    const text = await blankImage(kind)
    expect(await blankImage(kind)).toBe(text)
    expect(text).not.toMatch(uids)
    expect(text).not.toMatch('CERTIFICATE')
  })

  it('is not for clusters whose flags or saved objects ask for other objects', () => {
    expect(baseImageFor(optionsOf('with-controllers'))).toBe('with-controllers')
    expect(baseImageFor(optionsOf('api-server-alone'))).toBe('api-server-alone')
    const nodes = { 'node-agent': { 'max-pods': '5' } }
    expect(baseImageFor(optionsOf('with-controllers', { extraFlags: nodes }))).toBeDefined()
    for (const program of ['api-server', 'controller-manager'] as const) {
      const extraFlags = { [program]: { 'feature-gates': 'A=true' } }
      expect(baseImageFor(optionsOf('with-controllers', { extraFlags }))).toBeUndefined()
    }
    const initialState = '/saved.jsonl'
    expect(baseImageFor(optionsOf('with-controllers', { initialState }))).toBeUndefined()
  })
})
