/** The command where the machine's own Node is older than the one it needs, and a cluster in the other dialect. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { processesMarked } from '../../cluster/state/process-identity.ts'
import { readyCondition } from '../../cluster/wait-for-nodes.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { createPlace } from './place.ts'

const place = createPlace()
afterAll(() => place[Symbol.asyncDispose]())

/** The first Node in the path that is too old for our code. */
function findOldNode(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  return folders
    .map((folder) => join(folder, 'node'))
    .find((file) => {
      try {
        const version = execFileSync(file, ['--version'], { encoding: 'utf8', stdio: 'pipe' })
        return Number(/^v(\d+)\./.exec(version)?.[1]) < 22
      } catch {
        return false // none there
      }
    })
}

const old = findOldNode()
if (old === undefined) process.stderr.write('NOT TESTED: an old Node; there is none in the path\n')

test.skipIf(old === undefined)(
  'an old Node hands over to the pinned one, whose exit code is the command’s',
  async () => {
    const node = old ?? ''
    const version = await place.run(['version', '-o', 'json'], { node })
    expect(version).toMatchObject({ code: 0, stderr: '' })
    const manifest = join(import.meta.dirname, '../../node_modules/node/package.json')
    const { version: pinned } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
    expect(JSON.parse(version.stdout)).toMatchObject({ node: pinned })
    expect(await place.run(['upp'], { node })).toMatchObject({ code: 2, stdout: '' })

    // What it writes for Go tests does not run on the old one either.
    const folder = (await place.run(['envtest'], { node })).stdout.trim()
    const env = { PATH: dirname(node) }
    expect(execFileSync(join(folder, 'etcd'), ['--help'], { encoding: 'utf8', env })).toContain(
      '--data-dir',
    )
  },
)

test('a cluster in the svc dialect becomes Ready, also when an old Node starts it', async () => {
  const words = ['--dialect', 'svc', '--nodes', '2']
  const cluster = await place.up('lab', words, old === undefined ? {} : { node: old })
  const { client } = cluster
  expect(client.dialect.name).toBe('svc')
  const nodes = await client.resource(resourcesOf(client.dialect).nodes).list()
  expect(nodes.items.map((node) => readyCondition(node)?.status)).toEqual(['True', 'True'])
  const names = JSON.stringify(nodes.items.map(({ metadata }) => metadata.labels))
  expect(names).toContain(client.dialect.apiDomain)
  expect(names).not.toContain('kubernetes')

  const processes = processesMarked(cluster.config.id)
  expect(processes).toHaveLength(6)
  const programs = new Set(processes.map(({ pid }) => readlinkSync(`/proc/${pid}/exe`)))
  expect([...programs].filter((program) => program === old)).toEqual([])
  expect(programs.size).toBe(1)
  expect((await place.run(['down', '--name', 'lab'])).code).toBe(0)
  expect(place.leftovers()).toEqual([])
})
