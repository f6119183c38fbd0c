/** Evictions: what a pod says of its own, and what they are not to hit. */
import { describe, expect, it } from 'vitest'
import { startApiServer } from '../../support/api-server.ts'
import { sharedServer } from '../../support/shared-server.ts'

describe('an eviction', () => {
  const server = sharedServer()

  /** A pod on a node, so that it ends with grace and can be looked at. */
  async function boundPod(): Promise<{ at: string; uid: string; version: string }> {
    const at = `/api/v1/namespaces/${await server().namespace()}/pods`
    const body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    await server().ok('POST', at, { body })
    const target = { kind: 'Node', name: 'n' }
    await server().ok('POST', `${at}/p/binding`, { body: { metadata: { name: 'p' }, target } })
    const { uid, resourceVersion } = (await server().ok('GET', `${at}/p`)).metadata
    return { at, uid, version: resourceVersion }
  }
  const evict = async (at: string, deleteOptions: object = {}, query = '') => {
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'p' },
      deleteOptions,
    }
    return await server().request('POST', `${at}/p/eviction${query}`, { body })
  }
  const target = async (at: string) => {
    const { status } = await server().ok('GET', `${at}/p`)
    return (status.conditions as { type: string }[]).find(({ type }) => type === 'DisruptionTarget')
  }

  it('says on the pod why it goes', async () => {
    const { at, version } = await boundPod()
    const watch = await server().watch(`${at}?watch=1&resourceVersion=${version}`)
    expect((await evict(at)).status).toBe(201)
    const [marked, ending] = await watch.take(2)
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'EvictionByEvictionAPI',
      message: 'Eviction API: evicting',
    }
    for (const event of [marked, ending]) {
      expect(event?.object['status'].conditions).toContainEqual(expect.objectContaining(condition))
    }
    expect(marked?.object.metadata['deletionTimestamp']).toBeUndefined()
    expect(ending?.object.metadata['deletionTimestamp']).toBeDefined()
    // Once more: it is on its way already.
    expect((await evict(at)).status).toBe(201)
  })

  it('of another pod, of an older state, or on trial leaves it as it is', async () => {
    const { at, uid } = await boundPod()
    for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }]) {
      expect(await evict(at, { preconditions })).toMatchObject({
        status: 409,
        body: { reason: 'Conflict' },
      })
    }
    expect((await evict(at, {}, '?dryRun=All')).status).toBe(201)
    expect(await target(at)).toBeUndefined()
    expect((await evict(at, { preconditions: { uid } })).status).toBe(201)
    expect(await target(at)).toBeDefined()
  })

  it('[VER-079] a budget with an empty selector in policy/v1 covers every pod of its namespace', async () => {
    const namespace = await server().namespace()
    const elsewhere = await server().namespace()
    const make = async (within: string, name: string, labels?: object): Promise<void> => {
      const at = `/api/v1/namespaces/${within}/pods`
      const spec = { containers: [{ name: 'c', image: 'i' }] }
      await server().ok('POST', at, { body: { metadata: { name, labels }, spec } })
      const body = { metadata: { name }, target: { kind: 'Node', name: 'n' } }
      await server().ok('POST', `${at}/${name}/binding`, { body })
      await server().ok('PATCH', `${at}/${name}/status`, {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
      })
    }
    await make(namespace, 'plain')
    await make(namespace, 'labelled', { app: 'web' })
    await make(elsewhere, 'other', { app: 'web' })
    const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`
    const body = { metadata: { name: 'all' }, spec: { selector: {}, maxUnavailable: 0 } }
    const made = await server().ok('POST', budgets, { body })
    expect(made.spec.selector).toEqual({})
    // As the disruption controller finds it.
    const counted = { currentHealthy: 2, desiredHealthy: 2, expectedPods: 2, disruptionsAllowed: 0 }
    await server().ok('PUT', `${budgets}/all/status`, {
      body: { ...made, status: { ...counted, observedGeneration: made.metadata.generation } },
    })
    const evictNamed = async (within: string, name: string): Promise<number> => {
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
      const path = `/api/v1/namespaces/${within}/pods/${name}/eviction`
      return (await server().request('POST', path, { body: eviction })).status
    }
    expect(await evictNamed(namespace, 'plain')).toBe(429)
    expect(await evictNamed(namespace, 'labelled')).toBe(429)
    expect(await evictNamed(elsewhere, 'other')).toBe(201)
  })

  it('of exactly the state that the client saw goes through', async () => {
    const { at, version } = await boundPod()
    const reply = await evict(at, { preconditions: { resourceVersion: version } })
    expect(reply.status, reply.text).toBe(201)
    expect((await server().ok('GET', `${at}/p`)).metadata.deletionTimestamp).toBeDefined()
  })
})

describe('an eviction beside the report of an agent', () => {
  it.each([
    ['waits for its node', 'Pending'],
    ['is not ready', 'Running'],
  ])('that a pod costs nothing since it %s does not hit it once it is ready', async (_, phase) => {
    // Commits take a while, so that the agent's report is under way when the eviction is decided.
    await using server = await startApiServer({ store: 'sqlite' })
    const namespace = await server.namespace()
    const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`
    const body = { metadata: { name: 'all' }, spec: { selector: {}, maxUnavailable: 0 } }
    const made = await server.ok('POST', budgets, { body })
    const counted = { currentHealthy: 2, desiredHealthy: 2, expectedPods: 2, disruptionsAllowed: 0 }
    const { resourceVersion } = (
      await server.ok('PUT', `${budgets}/all/status`, {
        body: { ...made, status: { ...counted, observedGeneration: made.metadata.generation } },
      })
    ).metadata
    const at = `/api/v1/namespaces/${namespace}/pods`
    const report = (name: string, status: object) =>
      server.request('PATCH', `${at}/${name}/status`, {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { status },
      })
    const names = Array.from({ length: 30 }, (_one, index) => `p${index}`)
    const replies = names.map(async (name) => {
      const spec = { containers: [{ name: 'c', image: 'i' }] }
      await server.ok('POST', at, { body: { metadata: { name }, spec } })
      const bound = { metadata: { name }, target: { kind: 'Node', name: 'n' } }
      await server.ok('POST', `${at}/${name}/binding`, { body: bound })
      await report(name, { phase })
      const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
      const [, reply] = await Promise.all([
        report(name, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }),
        server.request('POST', `${at}/${name}/eviction`, { body: eviction }),
      ])
      return reply.status
    })
    expect(
      [...new Set(await Promise.all(replies))].filter((code) => ![201, 429].includes(code)),
    ).toEqual([])
    await server.ok('POST', at, {
      body: { metadata: { name: 'end' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    })
    const watch = await server.watch(`${at}?watch=1&resourceVersion=${resourceVersion}`)
    const wereReady = new Set<string>()
    const wrong: string[] = []
    for (;;) {
      const { object } = await watch.next()
      const { name } = object.metadata as { name: string }
      if (name === 'end') break
      const conditions = (object.status.conditions ?? []) as { type: string; status: string }[]
      const has = (type: string) =>
        conditions.some((one) => one.type === type && one.status === 'True')
      if (has('DisruptionTarget') && wereReady.has(name)) wrong.push(name)
      if (has('Ready')) wereReady.add(name)
    }
    watch.close()
    expect(wrong).toEqual([])
  })
})
