/** Loads after which a server must be about as small as before, for a test and for the soak. */
import type { ApiClient } from './api-client.ts'

const path = '/api/v1/namespaces/default/configmaps'
const patching = { 'content-type': 'application/merge-patch+json' }

type Server = Pick<ApiClient, 'request'>

async function expectStatus(
  server: Server,
  [method, at, ask]: Parameters<ApiClient['request']>,
  status: number,
): Promise<void> {
  const answer = await server.request(method, at, ask)
  if (answer.status !== status) throw new Error(`${method} ${at}: ${answer.status} ${answer.text}`)
}

/** Eight clients replace one object of 1 MB each, so many times together; the objects are gone then. */
export async function replaceLargeObjects(server: Server, updates: number): Promise<void> {
  let done = 0
  const client = async (_: unknown, at: number): Promise<void> => {
    const name = `large-${at}`
    const body = { metadata: { name } }
    await expectStatus(server, ['POST', path, { body }], 201)
    while (done < updates) {
      done += 1
      const data = { value: `${done} `.padEnd(1_000_000, 'abcdefg') }
      await expectStatus(
        server,
        ['PATCH', `${path}/${name}`, { body: { data }, headers: patching }],
        200,
      )
    }
    await expectStatus(server, ['DELETE', `${path}/${name}`], 200)
  }
  await Promise.all(Array.from({ length: 8 }, client))
}

/** So many objects of 1 KB come and go. */
export async function comeAndGo(server: Server, objects: number): Promise<void> {
  let made = 0
  const client = async (): Promise<void> => {
    while (made < objects) {
      made += 1
      const name = `small-${made}`
      const body = { metadata: { name }, data: { value: 'x'.repeat(1000) } }
      await expectStatus(server, ['POST', path, { body }], 201)
      await expectStatus(server, ['DELETE', `${path}/${name}`], 200)
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
}
