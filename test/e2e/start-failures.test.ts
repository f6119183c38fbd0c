/** A start with settings under which no node can join says so at once, and leaves nothing. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtOnce } from './built.ts'
import { createPlace } from './place.ts'
import type { Place } from './place.ts'

let place: Place
beforeAll(async () => {
  await builtOnce()
  place = createPlace()
})
afterAll(async () => {
  await place?.[Symbol.asyncDispose]()
})

test.each([
  [
    'api-server.authorization-mode=RBAC,AlwaysAllow',
    /^ {2}\| authorization-mode=RBAC,AlwaysAllow: /m,
  ],
  ['api-server.anonymous-auth=false', /^hint: allow them for cluster-info, /m],
])('%s: nodes could not read cluster-info', async (setting, reason) => {
  const { code, stderr } = await place.run(['up', '--name', 'lab', '--set', setting])
  expect(code).toBe(2)
  expect(stderr).toMatch(
    /^error: the API server rejects anonymous requests, so no node can join by token$/m,
  )
  expect(stderr).toMatch(reason)
  // Its nodes had a minute; it is the refusal that ended the start, not their time.
  expect(stderr).not.toContain('not all nodes were Ready')
  expect(readdirSync(join(place.root, 'state'))).toEqual([])
})

test('without nodes such a cluster starts, a node that is to be added is refused at once; /version names the commit', async () => {
  const cluster = await place.up('lab', [
    ...['--nodes', '0', '--set', 'api-server.authorization-mode=RBAC,AlwaysAllow'],
  ])
  const added = await place.run(['node', 'add', '--name', 'lab'])
  expect(added.code).toBe(2)
  expect(added.stderr).toContain('AlwaysAllow disables anonymous requests')
  const version = (await cluster.client.rest.json({ method: 'GET', path: '/version' })) as Record<
    string,
    string
  >
  expect(version['gitCommit']).toMatch(isCheckout() ? /^[0-9a-f]{40}$/ : /^$/)
  expect(version['gitTreeState']).toMatch(isCheckout() ? /^(clean|dirty)$/ : /^$/)
})

/** Whether what is tested was built from a commit. */
function isCheckout(): boolean {
  try {
    execFileSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
