/** `skiff join` with the key of another cluster: a token wins and the old key is named; without a token it is an error. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatToken } from '../../cluster/plan/bootstrap-token.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { readyCondition } from '../../cluster/wait-for-nodes.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { eventually } from '../support/eventually.ts'
import { builtOnce } from './built.ts'
import { killHard } from './machine.ts'
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

const pem = (): string =>
  readFileSync(join(place.stateRoot, 'nodes', 'guest', 'pki', 'kubelet-client-current.pem'), 'utf8')
const aside = (): string => join(place.stateRoot, 'nodes', 'guest', 'pki.former')

/** Starts the agent of node `guest`, waits until its Node is Ready, and ends it; resolves with what it said. */
async function joinAndLeave(cluster: Cluster, words: readonly string[]): Promise<string> {
  const args = ['join', cluster.server, '--port', '0', '--node-name', 'guest', ...words]
  const child: ChildProcess = place.start(args)
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const { client } = cluster
  await eventually(async () => {
    const node = await client.resource(resourcesOf(client.dialect).nodes).get({ name: 'guest' })
    expect(readyCondition(node)?.status).toBe('True')
    expect(said).toMatch(/\bready\b/)
  })
  await killHard(child.pid ?? 0)
  await exited
  return said
}

const pinned = (cluster: Cluster): string[] => [
  '--discovery-token-ca-cert-hash',
  cluster.config.caHash,
]
const unpinned = ['--discovery-token-unsafe-skip-ca-verification']
const tokenFor = async (cluster: Cluster): Promise<string[]> => [
  '--token',
  formatToken(await cluster.createToken()),
]
const newCluster = async (): Promise<Cluster> => {
  await place.run(['down', '--name', 'lab'])
  return await place.up('lab', ['--nodes', '0'])
}

test('a second start on the same cluster uses the key that it has, with a token or without', async () => {
  const cluster = await newCluster()
  await joinAndLeave(cluster, [...(await tokenFor(cluster)), ...pinned(cluster)])
  const first = pem()
  await joinAndLeave(cluster, pinned(cluster))
  await joinAndLeave(cluster, [...(await tokenFor(cluster)), ...pinned(cluster)])
  expect(pem()).toBe(first)
  expect(existsSync(aside())).toBe(false)
})

test.each([
  ['with a pin', pinned],
  ['without a pin', () => unpinned],
])(
  'a second cluster of the same name is joined with its token; the old key is named (%s)',
  async (_, trust) => {
    const before = pem()
    const cluster = await newCluster()
    const words = ['join', cluster.server, '--port', '0', '--node-name', 'guest', ...trust(cluster)]
    const refused = await place.run(words)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(
      /^error: node "guest" has the key of another cluster \(CA sha256:[0-9a-f]{64}\) in \S+\nhint: join with a token of this cluster /,
    )
    expect(pem()).toBe(before)

    const said = await joinAndLeave(cluster, [...(await tokenFor(cluster)), ...trust(cluster)])
    expect(said).toMatch(/^node "guest" has the key of another cluster \(CA sha256:/)
    expect(said).toContain(`; moved it to ${aside()}\n`)
    expect(pem()).not.toBe(before)
    expect(readFileSync(join(aside(), 'kubelet-client-current.pem'), 'utf8')).toBe(before)
  },
)
