/** What holds for every stored kind alike, in both dialects. */
import { describe, expect, it } from 'vitest'
import { samples } from '../../support/one-of-each.ts'
import { describeDialects } from '../../support/shared-server.ts'

const merge = { 'content-type': 'application/merge-patch+json' }

/** Without those whose status the server itself writes as soon as it sees them, and which it holds back when they go. */
const stillSamples: typeof samples = (server, ns) =>
  samples(server, ns).filter(
    ({ path }) =>
      !/\/(?:flowschemas|customresourcedefinitions|validatingadmissionpolicies)$/.test(path),
  )

describeDialects('every stored kind', (server) => {
  it('is among the samples', async () => {
    const { groups } = await server().ok('GET', '/apis')
    const versions: string[] = groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
      group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    )
    const sampled = new Set(
      samples(server(), '*').map(({ path }) => path.replace('/namespaces/*', '')),
    )
    const missing: string[] = []
    for (const path of ['/api/v1', ...versions]) {
      const { resources } = await server().ok('GET', path)
      for (const { name, verbs } of resources) {
        if (name.includes('/') || !verbs.includes('create') || !verbs.includes('list')) continue
        if (!sampled.has(`${path}/${name}`)) missing.push(`${path}/${name}`)
      }
    }
    expect(missing).toEqual([])
  })

  it('is created, read, listed, watched, patched and deleted', async () => {
    const ns = await server().namespace()
    for (const { path, body } of stillSamples(server(), ns)) {
      const { name } = body.metadata
      const start = (await server().ok('GET', path)).metadata.resourceVersion
      // The server makes objects of its own: events about others.
      const own = `fieldSelector=metadata.name%3D${name}`
      const watch = await server().watch(`${path}?watch=true&resourceVersion=${start}&${own}`)
      const made = await server().ok('POST', path, { body })
      expect(await server().ok('GET', `${path}/${name}`), path).toEqual(made)
      const { kind, apiVersion } = made
      const list = await server().ok('GET', `${path}?fieldSelector=metadata.name%3D${name}`)
      expect(list, path).toMatchObject({ kind: `${kind}List`, apiVersion })
      expect(list.items.map((item: object) => ({ kind, apiVersion, ...item }))).toEqual([made])
      const patched = await server().ok('PATCH', `${path}/${name}`, {
        headers: merge,
        body: { metadata: { annotations: { seen: 'yes' } } },
      })
      expect(patched.metadata.annotations, path).toMatchObject({ seen: 'yes' })
      expect(patched.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion)
      await server().ok('DELETE', `${path}/${name}?gracePeriodSeconds=0`)
      const events = await watch.take(3)
      watch.close()
      expect(events[0], path).toEqual({ type: 'ADDED', object: made })
      expect(events[1]).toEqual({ type: 'MODIFIED', object: patched })
      expect(['DELETED', 'MODIFIED']).toContain(events[2]?.type)
    }
  })

  it('a PUT or PATCH that changes nothing makes no new version', async () => {
    const ns = await server().namespace()
    for (const { path, body } of stillSamples(server(), ns)) {
      const made = await server().ok('POST', path, { body })
      const item = `${path}/${body.metadata.name}`
      const sent = structuredClone(made)
      delete sent.metadata.resourceVersion
      const unconditional = await server().request('PUT', item, { body: sent })
      if (unconditional.status === 200) expect(unconditional.body, path).toEqual(made)
      else expect(unconditional.body.message, path).toContain('must be specified for an update')
      expect(await server().ok('PUT', item, { body: made }), path).toEqual(made)
      expect(await server().ok('PATCH', item, { body: {}, headers: merge }), path).toEqual(made)
      await server().ok('DELETE', item)
    }
  })

  it('a status update keeps everything but the status', async () => {
    const ns = await server().namespace()
    let updates = 0
    for (const { path, body } of stillSamples(server(), ns)) {
      const root = path
        .split('/')
        .slice(0, path.startsWith('/api/') ? 3 : 4)
        .join('/')
      const plural = path.split('/').at(-1)
      const { resources } = await server().ok('GET', root)
      const hasStatus = resources.some(({ name }: { name: string }) => name === `${plural}/status`)
      const made = await server().ok('POST', path, { body })
      const item = `${path}/${body.metadata.name}`
      if (hasStatus) {
        const answer = await server().request('PUT', `${item}/status`, {
          body: { ...made, spec: undefined },
        })
        expect(answer.status, `${path}: ${answer.text}`).toBe(200)
        expect(answer.body, path).toEqual(made)
        const patched = await server().ok('PATCH', `${item}/status`, {
          headers: merge,
          body: { metadata: { annotations: { a: 'b' } } },
        })
        expect(patched.spec, path).toEqual(made.spec)
        updates += 1
      }
      await server().ok('DELETE', item)
    }
    expect(updates).toBeGreaterThan(15)
  })

  it('a dry run leaves nothing behind and shows what would be', async () => {
    const ns = await server().namespace()
    for (const { path, body } of samples(server(), ns)) {
      const item = `${path}/${body.metadata.name}`
      const shown = await server().ok('POST', `${path}?dryRun=All`, { body })
      expect(shown.metadata.name, path).toBe(body.metadata.name)
      expect(shown.metadata.resourceVersion, path).toBeUndefined()
      expect((await server().request('GET', item)).status, path).toBe(404)
    }
  })

  it('has a Table with its name in it, and a metadata-only view', async () => {
    const ns = await server().namespace()
    const meta = `meta.${server().dialect.apiDomain}`
    for (const { path, body } of stillSamples(server(), ns)) {
      const made = await server().ok('POST', path, { body })
      const table = await server().ok('GET', path, {
        headers: { accept: `application/json;as=Table;v=v1;g=${meta}` },
      })
      const index = table.columnDefinitions.findIndex(
        (column: { format: string; name: string }) =>
          column.format === 'name' || column.name === 'Name',
      )
      const row = table.rows.find(
        ({ object }: { object: { metadata: { uid: string } } }) =>
          object.metadata.uid === made.metadata.uid,
      )
      if (index >= 0) expect(row.cells[index], path).toBe(body.metadata.name)
      expect(row.cells.length, path).toBe(table.columnDefinitions.length)
      const partial = await server().ok('GET', `${path}/${body.metadata.name}`, {
        headers: { accept: `application/json;as=PartialObjectMetadata;v=v1;g=${meta}` },
      })
      expect(partial, path).toEqual({
        kind: 'PartialObjectMetadata',
        apiVersion: `${meta}/v1`,
        metadata: made.metadata,
      })
      await server().ok('DELETE', `${path}/${body.metadata.name}`)
    }
  })
})

describe('samples', () => {
  it('cover many kinds', () => {
    expect(samples({ group: (stem) => stem }, 'ns').length).toBeGreaterThan(40)
  })
})
