/** The listener of a component: who may see what, and what it says when the API server cannot be asked. */
import { expect, test } from 'vitest'
import { createHealthListener } from '../../components/client/health-listener.ts'
import type { DelegatedAuth } from '../../components/client/delegated-auth.ts'
import type { HttpRequest } from '../../components/component-base/http.ts'
import { silentLog } from '../../components/component-base/log.ts'

const auth: DelegatedAuth = {
  authenticate: async ({ headers }) => {
    const username = headers['authorization']
    if (username === 'lost') throw new Error('no API server')
    return typeof username === 'string' ? { username, groups: [] } : undefined
  },
  authorize: async ({ username }) => ({ isAllowed: username === 'prometheus', reason: '' }),
}

async function ask(url: string, username?: string, why?: string): Promise<[number, string]> {
  const answer = await createHealthListener({
    auth,
    notReady: () => why,
    metrics: () => 'up 1\n',
    log: silentLog,
  })({
    method: 'GET',
    url,
    headers: username === undefined ? {} : { authorization: username },
  } as unknown as HttpRequest)
  return [answer.status, String(answer.body)]
}

test('anybody may ask for its health', async () => {
  for (const path of ['/healthz', '/livez', '/readyz', '/readyz?verbose']) {
    expect(await ask(path)).toEqual([200, 'ok'])
  }
  expect(await ask('/readyz', undefined, 'waiting')).toEqual([500, 'not ready: waiting\n'])
  expect(await ask('/livez', undefined, 'waiting')).toEqual([200, 'ok'])
})

test('a target that is none is a bad request', async () => {
  expect(await ask('//')).toEqual([400, '400 Bad Request'])
})

test('metrics are for those whom the API server allows', async () => {
  expect(await ask('/metrics')).toEqual([401, 'Unauthorized'])
  expect(await ask('/metrics', 'jane')).toEqual([
    403,
    'Forbidden (user=jane, verb=get, path=/metrics)',
  ])
  expect(await ask('/metrics', 'prometheus')).toEqual([200, 'up 1\n'])
  expect(await ask('/debug', 'prometheus')).toEqual([404, '404 page not found\n'])
  expect((await ask('/metrics', 'lost'))[0]).toBe(500)
})
