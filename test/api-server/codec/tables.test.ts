/** The Table view: rows TABLE-001 to TABLE-003 and TABLE-005, and what upstream's clients rely on besides. */
import { expect, it } from 'vitest'
import { describeDialects } from '../../support/shared-server.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly priority: number
}

describeDialects('tables', (server) => {
  const table = async (path: string, more = ''): Promise<any> => {
    const accept = `application/json;as=Table;v=v1;g=meta.${server().dialect.apiDomain}${more}`
    return await server().ok('GET', path, { headers: { accept } })
  }

  it('[TABLE-001][TABLE-002] a Table says so in kind and apiVersion', async () => {
    for (const path of ['/api/v1/namespaces', '/api/v1/namespaces/default', '/api/v1/pods']) {
      const found = await table(path)
      expect(found.kind).toBe('Table')
      expect(found.apiVersion).toBe(`meta.${server().dialect.apiDomain}/v1`)
      expect(found.metadata.resourceVersion).toMatch(/^\d+$/)
    }
  })

  it('[TABLE-003] every column has a name and a type, and every row a cell for it', async () => {
    const { groups } = await server().ok('GET', '/apis')
    const versions: string[] = groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
      group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
    )
    let tables = 0
    for (const path of ['/api/v1', ...versions]) {
      for (const { name, verbs } of (await server().ok('GET', path)).resources) {
        if (name.includes('/') || !verbs.includes('list')) continue
        const { columnDefinitions, rows } = await table(`${path}/${name}`)
        expect(columnDefinitions.length, name).toBeGreaterThan(0)
        for (const column of columnDefinitions as Column[]) {
          expect(column.name, name).toMatch(/\S/)
          expect(['string', 'integer', 'number', 'boolean', 'date'], name).toContain(column.type)
          expect(typeof column.priority).toBe('number')
        }
        for (const { cells } of rows) expect(cells.length, name).toBe(columnDefinitions.length)
        tables += 1
      }
    }
    expect(tables).toBeGreaterThan(40)
  })

  it('[TABLE-005] the default columns show name and creation time', async () => {
    const path = `/apis/${server().group('rbac.authorization')}/v1/clusterroles`
    const { columnDefinitions, rows } = await table(path)
    expect(columnDefinitions.map(({ name, type }: Column) => [name, type])).toEqual([
      ['Name', 'string'],
      ['Created At', 'date'],
    ])
    const { items } = await server().ok('GET', path)
    expect(items.length).toBeGreaterThan(10)
    expect(rows.map(({ cells }: { cells: unknown[] }) => cells)).toEqual(
      items.map(({ metadata }: { metadata: { name: string; creationTimestamp: string } }) => [
        metadata.name,
        metadata.creationTimestamp,
      ]),
    )
  })

  it('rows carry metadata, the whole object or nothing, as asked', async () => {
    const path = '/api/v1/namespaces/default'
    const whole = await server().ok('GET', path)
    const meta = `meta.${server().dialect.apiDomain}/v1`
    expect((await table(path)).rows[0].object).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: meta,
      metadata: whole.metadata,
    })
    expect((await table(`${path}?includeObject=Object`)).rows[0].object).toEqual(whole)
    expect((await table(`${path}?includeObject=None`)).rows[0].object).toBeNull()
    const accept = `application/json;as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const odd = await server().request('GET', `${path}?includeObject=Some`, { headers: { accept } })
    expect(odd.status).toBe(400)
    expect(odd.body.message).toContain('unrecognized includeObject value: "Some"')
  })

  it('a watch sends tables of one row, with the columns in the first only', async () => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const accept = `application/json;as=Table;v=v1;g=meta.${server().dialect.apiDomain}`
    const watch = await server().watch(`${at}?watch=1`, { headers: { accept } })
    for (const name of ['a', 'b']) await server().ok('POST', at, { body: { metadata: { name } } })
    const [first, second] = await watch.take(2)
    watch.close()
    expect(first).toMatchObject({ type: 'ADDED', object: { kind: 'Table' } })
    expect(first?.object.columnDefinitions[0].name).toBe('Name')
    expect(first?.object.rows[0].cells[0]).toBe('a')
    expect(second?.object.columnDefinitions).toEqual([])
    expect(second?.object.rows[0].cells[0]).toBe('b')
  })

  it('pages of a table continue like pages of a list', async () => {
    const path = `/apis/${server().group('rbac.authorization')}/v1/clusterroles`
    const first = await table(`${path}?limit=5`)
    expect(first.rows.length).toBe(5)
    const next = await table(
      `${path}?limit=5&continue=${encodeURIComponent(first.metadata.continue)}`,
    )
    expect(next.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    expect(next.rows[0].cells[0] > first.rows[4].cells[0]).toBe(true)
  })

  it('a client that names several views gets the first it can have', async () => {
    const { apiDomain } = server().dialect
    const accept = `application/json;as=Table;v=v9;g=meta.${apiDomain},application/json;as=Table;v=v1beta1;g=meta.${apiDomain},application/json`
    const found = await server().ok('GET', '/api/v1/namespaces', { headers: { accept } })
    expect(found.apiVersion).toBe(`meta.${apiDomain}/v1beta1`)
  })
})
