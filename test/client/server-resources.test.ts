import { describe, expect, it } from 'vitest'
import { dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createClientOver } from '../../components/client/client.ts'
import type { RestClient, RestRequest } from '../../components/client/rest-client.ts'
import { createDiscovery } from '../../components/client/server-resources.ts'
import { silentLog } from '../../components/component-base/log.ts'
import { FakeClock } from '../support/fake-clock.ts'

function clientOf(
  answer: (request: RestRequest) => unknown,
  dialect: keyof typeof dialects = 'kubernetes',
) {
  const requests: RestRequest[] = []
  const rest: RestClient = {
    server: 'https://server',
    json: (request) => {
      requests.push(request)
      return Promise.resolve(answer(request))
    },
    bytes: () => Promise.reject(new Error('not asked for')),
    stream: (request) => {
      requests.push(request)
      const lines = Buffer.from(`${JSON.stringify(answer(request))}\n`)
      const chunks = (async function* () {
        yield await Promise.resolve(lines)
      })()
      return Promise.resolve({ status: 200, headers: {}, chunks })
    },
    dialing: () => Promise.reject(new Error('not asked for')),
    setCredentials: () => {},
    close: () => {},
  }
  const options = { dialect: dialects[dialect], clock: new FakeClock(), log: silentLog }
  return { client: createClientOver(rest, options), requests }
}

const widget = (version: string) => ({
  version,
  resources: [
    {
      resource: 'widgets',
      responseKind: { group: 'example.com', version, kind: 'Widget' },
      scope: 'Namespaced',
      singularResource: 'widget',
      verbs: ['delete', 'list', 'watch'],
    },
  ],
})

describe('discovery', () => {
  const documents: Record<string, unknown> = {
    '/api': {
      items: [
        {
          metadata: {},
          versions: [
            {
              version: 'v1',
              resources: [
                {
                  resource: 'pods',
                  responseKind: { group: '', version: 'v1', kind: 'Pod' },
                  scope: 'Namespaced',
                  singularResource: 'pod',
                  verbs: ['list'],
                },
              ],
            },
          ],
        },
      ],
    },
    '/apis': {
      items: [
        { metadata: { name: 'example.com' }, versions: [widget('v2'), widget('v1')] },
        {
          metadata: { name: 'stats.example.com' },
          versions: [{ version: 'v1', resources: [], freshness: 'Stale' }],
        },
      ],
    },
  }

  it('knows built-in resources, makes others, prefers a group’s first version, and tells of stale ones', async () => {
    const { client, requests } = clientOf(({ path }) => documents[path])
    const discover = createDiscovery(client)
    const { all, preferred, failed } = await discover()
    expect(requests.map(({ headers }) => headers?.['accept'])).toEqual([
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    ])
    expect(all[0]).toBe(resourcesOf(dialects.kubernetes).pods)
    expect(all.map(({ group, version, plural }) => `${group}/${version}/${plural}`)).toEqual([
      '/v1/pods',
      'example.com/v2/widgets',
      'example.com/v1/widgets',
    ])
    expect(preferred.map(({ version }) => version)).toEqual(['v1', 'v2'])
    expect(failed).toEqual(['stats.example.com/v1'])
    expect((await discover()).preferred[1]).toBe(preferred[1])
  })
})

describe('metadata alone', () => {
  const metadata = { name: 'a', namespace: 'default', resourceVersion: '5' }
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
  const { pods } = resourcesOf(dialects.svc)

  it('is asked for in the dialect’s words, and comes as the resource’s own kind', async () => {
    const { client, requests } = clientOf(
      ({ path }) =>
        path.includes('watch=true')
          ? { type: 'ADDED', object: partial }
          : { metadata: { resourceVersion: '5' }, items: [partial] },
      'svc',
    )
    const list = await client.resource(pods).list({ metadataOnly: true })
    expect(list.items).toEqual([{ kind: 'Pod', apiVersion: 'v1', metadata }])
    const { signal } = new AbortController()
    for await (const event of client.resource(pods).watch({ metadataOnly: true }, signal))
      expect(event).toEqual({ type: 'ADDED', object: { kind: 'Pod', apiVersion: 'v1', metadata } })
    expect(requests.map(({ headers }) => headers?.['accept'])).toEqual([
      'application/json;as=PartialObjectMetadataList;g=meta.svc.io;v=v1',
      'application/json;as=PartialObjectMetadata;g=meta.svc.io;v=v1',
    ])
  })
})
