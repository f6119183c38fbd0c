/** The other release lines of Node.js in support run the package: the command, the library, and a whole cluster. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { inTurn } from '../support/start-turn.ts'
import { emptyProject, installWithNpm, packedOnce, root } from './packed.ts'
import type { Project } from './packed.ts'
import { nodeBinary, testWith } from './tools.ts'

/** All other tests run on 24. */
const lines = [22, 26]

test('package.json and the documentation name these lines', () => {
  const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    engines: { node: string }
  }
  expect(engines.node).toBe(`>=${lines[0]}.13`)
  const install = readFileSync(join(root, 'docs/how-to/install.md'), 'utf8')
  expect(install).toContain('Node.js 22 (from 22.13), 24 and 26')
})

describe.each(lines)('Node.js %i', (major) => {
  const node = nodeBinary(major)
  let project: Project
  let skiff = ''
  const testHere = testWith(node, `Node.js ${major}`)
  beforeAll(async () => {
    if (testHere === test.skip) return
    project = emptyProject(node)
    skiff = join(project.folder, 'node_modules', 'kube-skiff', 'bin', 'skiff.js')
    await installWithNpm(project, await packedOnce())
  })

  testHere('runs the command', async () => {
    const version = JSON.parse(await project.run(node, [skiff, 'version', '--output', 'json'])) as {
      node: string
    }
    expect(version.node).toMatch(new RegExp(`^${major}\\.`))
  })

  testHere(
    'imports and requires the library, and starts and forks an embedded cluster',
    async () => {
      project.write(
        'main.js',
        `import { createRequire } from 'node:module'
import { startCluster } from 'kube-skiff'
const required = createRequire(import.meta.url)('kube-skiff')
const cluster = await startCluster({ nodes: 1 })
const fork = await cluster.fork()
await fork.expect({ kind: 'Node', name: 'node-1', within: '30s' })
await fork.stop()
await cluster.stop()
console.log(required.startCluster === startCluster)\n`,
      )
      expect(await project.run(node, ['--throw-deprecation', 'main.js'])).toBe('true\n')
    },
  )

  testHere('runs a cluster', async () => {
    const words = ['--nodes', '1', '--port', '0', '--parent', String(process.pid), '--ttl', '5m']
    const up = await inTurn(
      async () => await project.run(node, [skiff, 'up', ...words, '--output', 'json']),
    )
    expect(JSON.parse(up)).toMatchObject({ name: 'default', nodes: ['node-1'] })
    const status = await project.run(node, [skiff, 'status'])
    expect(status).toContain('node-1')
    expect(await project.run(node, [skiff, 'down'])).toContain('is gone')
  })
})
