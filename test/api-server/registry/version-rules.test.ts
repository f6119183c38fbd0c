/** What the versioning rules promise of what is served: paths and names of versions, and fields that are deprecated. */
import { expect, it } from 'vitest'
import { findSchema } from '../../../components/api/schemas.ts'
import { samples } from '../../support/one-of-each.ts'
import { describeDialects } from '../../support/shared-server.ts'

/** Fields that upstream's documentation calls deprecated, by struct. */
const deprecatedFields = {
  'core/v1.NodeSpec': ['externalID'],
  'core/v1.NodeSystemInfo': ['kubeProxyVersion'],
  'core/v1.PodSpec': ['serviceAccount'],
  'core/v1.ServiceSpec': ['loadBalancerIP'],
  'discovery/v1.Endpoint': ['deprecatedTopology'],
  'events/v1.Event': [
    'deprecatedSource',
    'deprecatedFirstTimestamp',
    'deprecatedLastTimestamp',
    'deprecatedCount',
  ],
  'meta/v1.DeleteOptions': ['orphanDependents'],
  'meta/v1.ObjectMeta': ['selfLink'],
}

describeDialects('versions', (server) => {
  it('[VER-011] an object of each named group has the apiVersion of its path', async () => {
    const ns = await server().namespace()
    const groups = new Set<string>()
    for (const { path, body } of samples(server(), ns)) {
      const [, group, version] = /^\/apis\/([^/]+)\/([^/]+)\//.exec(path) ?? []
      if (group === undefined) continue
      await server().ok('POST', path, { body })
      const item = await server().ok('GET', `${path}/${body.metadata.name}`)
      expect([path, item.apiVersion]).toEqual([path, `${group}/${version}`])
      await server().ok('DELETE', `${path}/${body.metadata.name}?gracePeriodSeconds=0`)
      groups.add(group)
    }
    // Reviews are answered, not stored: those groups have no object to get.
    const reviews = ['authentication', 'authorization'].map((stem) => server().group(stem))
    for (const [group, kind, spec] of [
      [reviews[0], 'TokenReview', { token: 'x' }],
      [
        reviews[1],
        'SelfSubjectAccessReview',
        { nonResourceAttributes: { path: '/', verb: 'get' } },
      ],
    ] as const) {
      const path = `/apis/${group}/v1/${kind.toLowerCase()}s`
      expect((await server().ok('POST', path, { body: { spec } })).apiVersion).toBe(`${group}/v1`)
      groups.add(group ?? '')
    }
    const listed: { name: string }[] = (await server().ok('GET', '/apis')).groups
    expect([...groups].toSorted()).toEqual(listed.map(({ name }) => name).toSorted())
  })

  it('[VER-033] deprecated fields are there, are accepted and are given back', async () => {
    for (const [struct, names] of Object.entries(deprecatedFields)) {
      const fields = [...(findSchema(struct)?.fields.keys() ?? [])]
      expect(fields, struct).toEqual(expect.arrayContaining(names))
    }
    const ns = await server().namespace()
    const strict = 'fieldValidation=Strict'
    await server().ok('POST', `/api/v1/namespaces/${ns}/serviceaccounts`, {
      body: { metadata: { name: 'robot' } },
    })
    const pods = `/api/v1/namespaces/${ns}/pods`
    const containers = [{ name: 'c', image: 'i' }]
    await server().ok('POST', `${pods}?${strict}`, {
      body: { metadata: { name: 'p' }, spec: { containers, serviceAccount: 'robot' } },
    })
    const { spec } = await server().ok('GET', `${pods}/p`)
    expect([spec.serviceAccount, spec.serviceAccountName]).toEqual(['robot', 'robot'])

    const services = `/api/v1/namespaces/${ns}/services`
    const balanced = { type: 'LoadBalancer', loadBalancerIP: '192.0.2.1', ports: [{ port: 80 }] }
    await server().ok('POST', `${services}?${strict}`, {
      body: { metadata: { name: 's' }, spec: balanced },
    })
    expect((await server().ok('GET', `${services}/s`)).spec.loadBalancerIP).toBe('192.0.2.1')

    await server().ok('POST', `/api/v1/nodes?${strict}`, {
      body: { metadata: { name: `n-${ns}` }, spec: { externalID: 'e' } },
    })
    expect((await server().ok('GET', `/api/v1/nodes/n-${ns}`)).spec.externalID).toBe('e')

    const configMaps = `/api/v1/namespaces/${ns}/configmaps`
    await server().ok('POST', configMaps, { body: { metadata: { name: 'c' } } })
    await server().ok('DELETE', `${configMaps}/c`, { body: { orphanDependents: false } })
  })

  it('[VER-034] a later version has the deprecated fields of events under other names', async () => {
    const ns = await server().namespace()
    const core = `/api/v1/namespaces/${ns}/events`
    const later = `/apis/${server().group('events')}/v1/namespaces/${ns}/events`
    const first = '2024-01-02T03:04:05Z'
    const body = {
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', namespace: ns, name: 'p' },
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: first,
      lastTimestamp: '2024-01-02T03:05:05Z',
      count: 3,
      reason: 'Seen',
      type: 'Normal',
    }
    const made = await server().ok('POST', core, { body })
    const read = await server().ok('GET', `${later}/e`)
    expect(read).toMatchObject({
      deprecatedCount: 3,
      deprecatedFirstTimestamp: first,
      deprecatedLastTimestamp: body.lastTimestamp,
      deprecatedSource: body.source,
    })
    for (const name of ['count', 'firstTimestamp', 'lastTimestamp', 'source']) {
      expect(read).not.toHaveProperty(name)
    }
    const labelled = { ...read, metadata: { ...read.metadata, labels: { a: 'b' } } }
    await server().ok('PUT', `${later}/e`, { body: labelled })
    const back = await server().ok('GET', `${core}/e`)
    expect(back.metadata.labels).toEqual({ a: 'b' })
    expect({ ...back, metadata: {} }).toEqual({ ...made, metadata: {} })
  })
})
