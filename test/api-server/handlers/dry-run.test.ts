/** Dry runs: rows DRY-001, DRY-002, DRY-004 to DRY-007 and DRY-009. */
import { describe, expect, it } from 'vitest'
import { user } from '../../support/api-server.ts'
import { sharedServer } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

describe('dry runs', () => {
  const server = sharedServer()
  const collection = async (): Promise<string> =>
    `/api/v1/namespaces/${await server().namespace()}/configmaps`

  it('[DRY-002][DRY-005] show the outcome of POST, PUT and DELETE and keep nothing', async () => {
    const at = await collection()
    const kept = await server().ok('POST', at, { body: { metadata: { name: 'kept' } } })
    const watch = await server().watch(
      `${at}?watch=1&resourceVersion=${kept.metadata.resourceVersion}`,
    )
    const made = await server().request('POST', `${at}?dryRun=All`, {
      body: { metadata: { name: 'x' }, data: { a: '1' } },
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ metadata: { name: 'x', namespace: at.split('/')[4] } })
    expect(made.body.data).toEqual({ a: '1' })
    expect((await server().request('GET', `${at}/x`)).status).toBe(404)
    const put = await server().request('PUT', `${at}/kept?dryRun=All`, {
      body: { ...kept, data: { a: '1' } },
    })
    expect(put.status).toBe(200)
    expect(put.body.data).toEqual({ a: '1' })
    const patched = await server().request('PATCH', `${at}/kept?dryRun=All`, {
      headers: merge,
      body: { data: { b: '1' } },
    })
    expect(patched.status).toBe(200)
    expect(patched.body.data).toEqual({ b: '1' })
    for (const path of [`${at}/kept`, at]) {
      const deleted = await server().request('DELETE', `${path}?dryRun=All`)
      expect(deleted.status).toBe(200)
    }
    expect(await server().ok('GET', `${at}/kept`)).toEqual(kept)
    // The name is still free, and the only event is of its use.
    await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'x' } } })
    expect(watch.waiting).toEqual([])
    watch.close()
  })

  it('a dry run takes no address, no port and no quota', async () => {
    const ns = await server().namespace()
    const at = `/api/v1/namespaces/${ns}/services`
    const service = {
      metadata: { name: 's' },
      spec: { clusterIP: '10.96.200.1', ports: [{ port: 80 }] },
    }
    for (const _ of [1, 2]) await server().ok('POST', `${at}?dryRun=All`, { body: service })
    const made = await server().ok('POST', at, { body: service })
    expect(made.spec.clusterIP).toBe('10.96.200.1')
    const taken = await server().request('POST', `${at}?dryRun=All`, {
      body: { ...service, metadata: { name: 't' } },
    })
    expect(taken.status).toBe(422)
  })

  it('[DRY-001][DRY-004][DRY-006] an empty value is a normal request', async () => {
    const at = await collection()
    const made = await server().ok('POST', `${at}?dryRun=`, { body: { metadata: { name: 'x' } } })
    expect(await server().ok('GET', `${at}/x`)).toEqual(made)
    await server().ok('PUT', `${at}/x?dryRun=`, { body: { ...made, data: { a: '1' } } })
    expect((await server().ok('GET', `${at}/x`)).data).toEqual({ a: '1' })
    await server().ok('DELETE', `${at}/x?dryRun=`)
    expect((await server().request('GET', `${at}/x`)).status).toBe(404)
    // What it would do with the value All, it does not do.
    const dry = await server().request('POST', `${at}?dryRun=All`, {
      body: { metadata: { name: 'x' } },
    })
    expect([dry.status, dry.body.metadata.name]).toEqual([201, 'x'])
    expect((await server().request('GET', `${at}/x`)).status).toBe(404)
    const kept = await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    expect((await server().request('DELETE', `${at}/x?dryRun=All`)).status).toBe(200)
    expect(await server().ok('GET', `${at}/x`)).toEqual(kept)
  })

  it('[DRY-007] any other value is refused', async () => {
    const at = await collection()
    const body = { metadata: { name: 'x' } }
    await server().ok('POST', at, { body })
    for (const value of ['Some', 'all', 'true', 'All&dryRun=None']) {
      for (const [method, path] of [
        ['POST', at],
        ['PUT', `${at}/x`],
        ['PATCH', `${at}/x`],
        ['DELETE', `${at}/x`],
        ['DELETE', at],
      ] as const) {
        const answer = await server().request(method, `${path}?dryRun=${value}`, {
          body: method === 'DELETE' ? undefined : body,
          ...(method === 'PATCH' ? { headers: merge } : {}),
        })
        expect(answer.status, `${method} ${value}`).toBe(422)
        expect(answer.body.details.causes[0].field).toBe('dryRun')
      }
    }
    expect((await server().request('GET', `${at}/x`)).status).toBe(200)
  })

  it('[DRY-009] a dry run passes the same checks', async () => {
    const at = await collection()
    const kept = await server().ok('POST', at, { body: { metadata: { name: 'x' } } })
    await server().ok('PATCH', `${at}/x`, { headers: merge, body: { data: { a: '1' } } })
    const same = async (method: string, path: string, ask: object): Promise<number> => {
      const real = await server().request(method, path, ask)
      const dry = await server().request(method, `${path}?dryRun=All`, ask)
      expect(dry.status).toBe(real.status)
      expect(dry.body).toEqual(real.body)
      return dry.status
    }
    const body = { metadata: { name: 'y' } }
    expect(await same('POST', at, { body, as: user('nobody') })).toBe(403)
    expect(await same('POST', at, { body: { metadata: { name: 'No Name' } } })).toBe(422)
    expect(await same('POST', at, { body: { metadata: { name: 'y' }, data: 5 } })).toBe(400)
    expect(await same('POST', at, { body: { metadata: { name: 'x' } } })).toBe(409)
    expect(await same('PUT', `${at}/x`, { body: kept })).toBe(409)
    expect(await same('PUT', `${at}/none`, { body: { metadata: { name: 'none' } } })).toBe(404)
    const pods = at.replace('configmaps', 'pods')
    const pod = await server().ok('POST', `${pods}?dryRun=All`, {
      body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    })
    expect(pod.spec).toMatchObject({ restartPolicy: 'Always', serviceAccountName: 'default' })
  })
})
