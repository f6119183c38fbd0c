/** The walk of a create in docs/request-flow.md. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codeSpans, readDoc, root } from './markdown.ts'

const [, walk = ''] = readDoc('docs/request-flow.md').split(/^## A create.*\n/m)
const [hops = ''] = walk.split(/^### /m)
const files = [...hops.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file ?? '')

/** Rooms of the API server in the order of their table: each imports only rooms above it. */
const rooms = [
  ...(readDoc('docs/architecture.md').split('## Rooms of the API server\n')[1] ?? '').matchAll(
    /^\| ([a-z0-9-]+) +\|/gm,
  ),
].map(([, room]) => room)

test('a create passes at most eight files besides the filters', () => {
  expect(files.length).toBeGreaterThan(4)
  expect(files.length).toBeLessThanOrEqual(8)
  for (const file of files) expect(existsSync(join(root, 'components', file)), file).toBe(true)
})

test('each hop of a create goes to its own room or to one above it', () => {
  const places = files.flatMap((file) => {
    const [, room] = /^api-server\/([^/]+)\//.exec(file) ?? []
    return room === undefined ? [] : [rooms.indexOf(room)]
  })
  expect(places).not.toContain(-1)
  expect(places).toEqual(places.toSorted((a, b) => b - a))
})

test('the page names every filter of the chain', () => {
  const chain = readDoc('components/api-server/start/chain.ts')
  const filters = [...chain.matchAll(/^import \{ .* from '\.\.\/(filters\/[a-z-]+\.ts)'/gm)]
  const named = codeSpans(walk)
  expect(filters.length).toBeGreaterThan(8)
  for (const [, filter] of filters) expect(named).toContain(filter)
})
