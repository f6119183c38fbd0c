/** Objects of every kind with one wrong value in every place: answered, never an error of the server. */
import { describe, expect, it } from 'vitest'
import { expectFault } from '../../support/expect-fault.ts'
import { samples } from '../../support/one-of-each.ts'
import { sharedServer } from '../../support/shared-server.ts'

describe('mistyped objects', () => {
  const server = sharedServer()

  type Path = readonly (string | number)[]
  function* placesIn(value: unknown, path: Path = []): Generator<Path> {
    if (path.length > 0) yield path
    if (typeof value !== 'object' || value === null) return
    for (const [key, child] of Object.entries(value)) {
      yield* placesIn(child, [...path, Array.isArray(value) ? Number(key) : key])
    }
  }
  function withValue(object: unknown, path: Path, value: unknown): unknown {
    const copy = structuredClone(object)
    // oxlint-disable-next-line typescript/no-explicit-any -- walks a value of any shape
    let at: any = copy
    for (const key of path.slice(0, -1)) at = at[key]
    at[path.at(-1) ?? ''] = value
    return copy
  }

  it('of every kind, wrong in any one place, are answered and never break the server', async () => {
    const odd = [null, 0, -1.5, '', 'x', true, [], {}, [null], [{}], { a: null }]
    const ns = await server().namespace()
    let requests = 0
    for (const { path, body } of samples(server(), ns)) {
      const other = { ...body, metadata: { ...body.metadata, name: `${body.metadata.name}-2` } }
      await server().request('POST', path, { body })
      const asks = [...placesIn(body)].flatMap((place) =>
        odd.map(async (value) => {
          for (const [method, target, changed] of [
            ['POST', path, withValue(other, place, value)],
            ['PUT', `${path}/${body.metadata.name}`, withValue(body, place, value)],
          ] as const) {
            const reply = await server().request(method, `${target}?dryRun=All`, { body: changed })
            const what = `${method} ${path} ${place.join('.')} = ${JSON.stringify(value)}`
            if (reply.status >= 400) expectFault(reply, what)
            requests += 1
          }
        }),
      )
      await Promise.all(asks)
    }
    expect(requests).toBeGreaterThan(5000)
    expect((await server().request('GET', '/readyz')).status).toBe(200)
  })
})
