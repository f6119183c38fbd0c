/** What clients are answered when the store has no room, or is not what was written. */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startApiServer, type TestApiServer } from '../../support/api-server.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('full-stores')
const configMap = (name: string, bytes: number) => ({
  metadata: { name },
  data: { value: 'x'.repeat(bytes) },
})
const noSpace = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'etcdserver: mvcc: database space exceeded',
  code: 500,
}

/** Creates ConfigMaps until one is refused; answers the names of those that were not. */
async function fill(server: TestApiServer, at: string): Promise<string[]> {
  const made: string[] = []
  for (;;) {
    const name = `large-${made.length}`
    const answer = await server.request('POST', at, { body: configMap(name, 200_000) })
    if (answer.status === 201) {
      made.push(name)
      continue
    }
    expect(answer.body).toEqual(noSpace)
    return made
  }
}

/** A full store: objects are refused, deletions are not, and health says so. */
async function observeFull(server: TestApiServer, at: string, made: string[]): Promise<void> {
  const update = { body: configMap(made[0] ?? '', 100_000) }
  expect((await server.request('PUT', `${at}/${made[0]}`, update)).body).toEqual(noSpace)
  expect((await server.request('GET', '/livez')).status).toBe(200)
  expect((await server.request('GET', '/readyz/etcd')).status).toBe(200)
  const ready = await eventually(async () => {
    const answer = await server.request('GET', '/readyz?verbose')
    expect(answer.status).toBe(500)
    return answer
  })
  expect(ready.text).toContain('[-]etcd-readiness failed: reason withheld')
  const { text } = await server.request('GET', '/readyz/etcd-readiness')
  expect(text).toContain('etcdserver: mvcc: database space exceeded')
  for (const name of made) await server.ok('DELETE', `${at}/${name}`)
  expect((await server.ok('GET', at)).items).toEqual([])
}

async function observeRoom(server: TestApiServer, at: string): Promise<void> {
  await eventually(async () => await server.ok('GET', '/readyz'))
  await server.ok('POST', at, { body: configMap('after', 200_000) })
}

describe('a store that has used up its quota', () => {
  it('refuses objects as etcd does, and takes them again when enough was deleted', async () => {
    const flags = ['--quota-backend-bytes=8000000']
    await using server = await startApiServer({ store: 'sqlite', flags })
    const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    const made = await fill(server, at)
    expect(made.length).toBeGreaterThan(10)
    await observeFull(server, at, made)
    await observeRoom(server, at)
    expect(server.faults).toEqual([])
  })
})

function mountSmall(at: string): boolean {
  mkdirSync(at)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', at], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Takes all room that is left, whoever else writes meanwhile. */
function fillDisk(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (const chunk = Buffer.alloc(64 * 1024); ;) writeSync(file, chunk)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}

describe('a store on a disk that is full', () => {
  it('refuses objects, commits deletions, and takes objects again when the disk has room', async ({
    skip,
  }) => {
    const small = join(folder, 'small')
    if (!mountSmall(small)) {
      process.stderr.write('NOT TESTED: a full disk; that needs the right to mount one\n')
      skip()
    }
    const rest = join(small, 'rest')
    const server = await startApiServer({ flags: [`--store=sqlite:${join(small, 'state.db')}`] })
    try {
      const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
      await server.ok('POST', at, { body: configMap('first', 1000) })
      fillDisk(rest)
      const made = await fill(server, at)
      await observeFull(server, at, [...made, 'first'])
      rmSync(rest)
      await observeRoom(server, at)
      expect(server.faults).toEqual([])
    } finally {
      await server[Symbol.asyncDispose]()
      execFileSync('umount', [small])
    }
  })
})

describe('a store that is damaged while the server runs', () => {
  it("[HEALTH-014] has the checks by upstream's names, fails etcd, and acknowledges nothing more", async () => {
    const path = join(folder, 'damaged.db')
    const logged: string[] = []
    await using server = await startApiServer({
      flags: [`--store=sqlite:${path}`],
      onLog: (line) => logged.push(line),
    })
    const at = `/api/v1/namespaces/${await server.namespace()}/configmaps`
    await server.ok('POST', at, { body: configMap('kept', 1000) })
    const { text } = await server.request('GET', '/readyz?verbose')
    for (const name of ['ping', 'log', 'etcd', 'shutdown', 'autoregister-completion'])
      expect(text).toContain(`[+]${name} ok\n`)
    expect(text).toMatch(/^\[\+\]poststarthook\/[\w/-]+ ok$/m)

    truncateSync(path, 100)
    const refused = await server.request('POST', at, { body: configMap('late', 1000) })
    expect([refused.status, refused.body.message]).toEqual([500, 'etcdserver: corrupt cluster'])
    expect((await server.request('DELETE', `${at}/kept`)).status).toBe(500)
    for (const path of ['/livez', '/readyz', '/healthz', '/livez/etcd']) {
      await eventually(async () => expect((await server.request('GET', path)).status).toBe(500))
    }
    expect((await server.request('GET', '/readyz?verbose')).text).toContain(
      '[-]etcd failed: reason withheld',
    )
    const statuses = await server.ok('GET', '/api/v1/componentstatuses/etcd-0')
    expect(statuses.conditions[0].status).toBe('False')
    // What is in memory can still be saved.
    expect((await server.ok('GET', `${at}/kept`)).data.value).toHaveLength(1000)
    await eventually(() =>
      expect(logged.join('')).toMatch(/"level":"error","message":"the store fails its check"/),
    )
  })
})
