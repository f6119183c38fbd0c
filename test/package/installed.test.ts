/** The installed package: what npm, pnpm and yarn make of the tarball in an empty project, in JavaScript and in TypeScript. */
import { copyFileSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { inTurn } from '../support/start-turn.ts'
import { findKubectl } from '../docs/reader-shell.ts'
import { emptyProject, installWithNpm, packedOnce, root } from './packed.ts'
import type { Project } from './packed.ts'
import { testWith, toolFile } from './tools.ts'

let tarball = ''
beforeAll(async () => {
  tarball = await packedOnce()
})

/** Prints what a program gets from the package. */
const importing = `
import * as library from 'kube-skiff'
import { createRequire } from 'node:module'
const manifest = createRequire(import.meta.url)('kube-skiff/package.json')
console.log(JSON.stringify({ name: manifest.name, names: Object.keys(library) }))
`
const isOne = { name: 'kube-skiff', names: expect.arrayContaining(['startCluster']) as unknown }
/** Starts a cluster, uses it and stops it. */
const starting = `
import { startCluster } from 'kube-skiff'
const cluster = await startCluster({ nodes: 1 })
await cluster.admin.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { containers: [{ name: 'a', image: 'a' }] } })
const [pod] = await cluster.expect({ kind: 'Pod', name: 'web', where: 'status.phase == Running' })
console.log(pod.spec.nodeName)
await cluster.stop()
`
const versionLine = /^skiff \d+\.\d+\.\d+ \(API 1\.32, Node\.js [\d.]+\)\n$/

const typescript = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

/** Compiles a user's file with these options; a fault is an error that shows it. */
async function compile(
  project: Project,
  options: Readonly<Record<string, unknown>>,
  { file = 'usage.ts', compiler = typescript } = {},
): Promise<void> {
  copyFileSync(join(import.meta.dirname, 'fixtures', file), join(project.folder, file))
  const compilerOptions = { target: 'ES2022', strict: true, noEmit: true, ...options }
  project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }))
  await project.run(process.execPath, [compiler, '-p', 'tsconfig.json'])
}

/** Makes a package of this checkout's the project's own. */
function borrow(project: Project, name: string): void {
  const path = join(project.folder, 'node_modules', name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), path)
}

describe('npm', () => {
  let project: Project
  beforeAll(async () => {
    project = emptyProject()
    await installWithNpm(project, tarball)
  })

  test('the command has three names', async () => {
    const bin = join(project.folder, 'node_modules', '.bin')
    for (const name of ['skiff', 'kube-skiff', 'kubectl-skiff']) {
      const file = process.platform === 'win32' ? `${name}.cmd` : name
      expect(await project.run(join(bin, file), ['--version'])).toMatch(versionLine)
    }
  })

  test('npx runs it, and its help says npx with the name of the package', async () => {
    const words = ['--offline', '--no', 'kube-skiff', 'up', '--help']
    const help = await project.run('npx', words)
    expect(help).toContain('npx kube-skiff up --name big')
    expect(help).not.toContain('npx skiff')
  })

  const kubectl = findKubectl()
  if (kubectl === undefined) process.stderr.write('NOT TESTED: the plugin of kubectl\n')
  test.skipIf(kubectl === undefined)('kubectl runs it as a plugin, under that name', async () => {
    const PATH = [join(project.folder, 'node_modules', '.bin'), project.env['PATH']].join(delimiter)
    const withPlugin = { ...project.env, PATH }
    const { run } = await import('../e2e/program.ts')
    const typed = async (...words: string[]) =>
      await run(kubectl ?? '', ['skiff', ...words], { env: withPlugin, timeoutMs: 60_000 })
    expect((await typed('version')).stdout).toMatch(versionLine)
    expect((await typed('why', '--help')).stdout).toContain('kubectl skiff why')
    expect(await typed('down')).toMatchObject({ code: 3 })
  })

  test('a program imports it', async () => {
    project.write('main.js', importing)
    expect(JSON.parse(await project.run(process.execPath, ['main.js']))).toEqual(isOne)
  })

  test('a program starts a cluster with it', async () => {
    project.write('start.js', starting)
    expect(await project.run(process.execPath, ['start.js'])).toBe('node-1\n')
  })

  test('a program explores a function with it', async () => {
    project.write(
      'explore.js',
      `
import { explore } from 'kube-skiff/explore'
const controller = async ({ client, signal }) => {
  await client.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'kept' } })
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
}
const steps = [{ create: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } } }]
const plans = await explore({ controller, story: { steps }, plans: ['kill'], jobs: 1 })
console.log(plans.map(({ outcome }) => outcome).join())
`,
    )
    expect(await project.run(process.execPath, ['explore.js'])).toBe('passed,passed\n')
  })

  test('a CommonJS program requires it', async () => {
    project.write('main.cjs', "console.log(typeof require('kube-skiff').startCluster)")
    expect(await project.run(process.execPath, ['main.cjs'])).toBe('function\n')
  })

  const resolutions = [
    { module: 'node16', moduleResolution: 'node16' },
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ]
  const strictest = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true }
  test.for(resolutions)('its types work with %o, checked or not', async (resolution) => {
    await compile(project, { ...resolution, skipLibCheck: false, types: [] })
    await compile(project, { ...resolution, ...strictest, skipLibCheck: true, types: [] })
  })

  test('its types work with those of Node.js in place of the browser’s', async () => {
    borrow(project, '@types/node')
    const options = { module: 'nodenext', lib: ['ES2022'], types: ['node'] }
    await compile(project, { ...options, skipLibCheck: false })
  })

  test('the types of its fixtures work, with those of the runners', async () => {
    borrow(project, 'vitest')
    const options = { module: 'nodenext', types: ['node'], skipLibCheck: true }
    await compile(project, options, { file: 'runners.ts' })
  })

  test.for([
    ['vitest', ['node_modules/vitest/vitest.mjs', 'run', '--root', '.', '--testTimeout=60000']],
    ['node-test', ['--test', 'node-test.test.js']],
  ] as const)('a suite in %s uses its fixtures', async ([runner, words]) => {
    project.write(
      `${runner}.test.js`,
      `import { test } from 'kube-skiff/${runner}'
test('a map is stored', async ({ cluster, namespace, client }) => {
  await client.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } })
  await cluster.expect({ kind: 'ConfigMap', name: 'a', namespace })
})\n`,
    )
    project.write('vitest.config.js', "export default { test: { include: ['vitest.test.js'] } }")
    expect(await project.run(process.execPath, words)).toMatch(/1 passed|^. pass 1$/m)
  })

  test('a wrong use does not compile', async () => {
    project.write(
      'wrong.ts',
      "import type { Clusters } from 'kube-skiff'\nexport type { Clusters }\n",
    )
    const compilerOptions = { module: 'nodenext', strict: true, noEmit: true, types: [] }
    project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['wrong.ts'] }))
    const words = [typescript, '-p', 'tsconfig.json']
    await expect(project.run(process.execPath, words)).rejects.toThrow('TS2724')
  })

  const older = toolFile('typescript5', 'bin', 'tsc')
  testWith(older, 'types with TypeScript 5')('its types work with TypeScript 5', async () => {
    await compile(
      project,
      { module: 'nodenext', skipLibCheck: false, types: [] },
      { compiler: older },
    )
  })
})

test('in a folder of blanks and non-Latin letters, below such a home, all of it works', async () => {
  const project = emptyProject(undefined, "Jane's home 家", 'мой оператор 集群')
  await installWithNpm(project, tarball)
  const bin = join(project.folder, 'node_modules', '.bin')
  const skiff = join(bin, process.platform === 'win32' ? 'skiff.cmd' : 'skiff')
  expect(await project.run(skiff, ['--version'])).toMatch(versionLine)
  project.write('main.js', importing)
  expect(JSON.parse(await project.run(process.execPath, ['main.js']))).toEqual(isOne)
  for (const form of ['embedded', 'processes']) {
    project.write('start.js', starting.replace('nodes: 1', `nodes: 1, form: '${form}'`))
    const start = async () => await project.run(process.execPath, ['start.js'])
    expect(await inTurn(start)).toBe('node-1\n')
  }
  const envtest = (await project.run(skiff, ['envtest'])).trim()
  expect(readdirSync(envtest).length).toBeGreaterThan(3)
})

describe('pnpm', () => {
  const name = process.platform === 'win32' ? 'pnpm.cmd' : 'pnpm'
  const pnpm = toolFile('.bin', name)
  testWith(pnpm, 'pnpm')('installs it; command, import and types work', async () => {
    const project = emptyProject()
    const add = ['add', '--save-dev', '--offline', '--store-dir', '../store', tarball]
    await project.run(pnpm, add)
    expect(await project.run(pnpm, ['exec', 'kube-skiff', '--version'])).toMatch(versionLine)
    project.write('main.js', importing)
    expect(JSON.parse(await project.run(process.execPath, ['main.js']))).toEqual(isOne)
    await compile(project, { module: 'nodenext', skipLibCheck: false, types: [] })
  })
})

describe('yarn', () => {
  const yarn = toolFile('yarn', 'bin', 'yarn.js')
  /** A project of Yarn 4, which reaches no network. */
  async function install(nodeLinker: 'node-modules' | 'pnp'): Promise<Project> {
    const project = emptyProject()
    const settings = {
      nodeLinker,
      enableNetwork: false,
      enableTelemetry: false,
      enableGlobalCache: false,
      checksumBehavior: 'ignore',
    }
    project.write('.yarnrc.yml', JSON.stringify(settings))
    project.write('yarn.lock', '')
    await project.run(process.execPath, [yarn, 'add', '--dev', `kube-skiff@file:${tarball}`])
    return project
  }

  const testYarn = testWith(yarn, 'yarn')
  testYarn('installs it into node_modules; command, import and types work', async () => {
    const project = await install('node-modules')
    expect(await project.run(process.execPath, [yarn, 'kube-skiff', '--version'])).toMatch(
      versionLine,
    )
    project.write('main.js', importing)
    expect(JSON.parse(await project.run(process.execPath, ['main.js']))).toEqual(isOne)
    await compile(project, { module: 'nodenext', skipLibCheck: false, types: [] })
  })

  testYarn('installs it with Plug’n’Play; command and import work', async () => {
    const project = await install('pnp')
    expect(await project.run(process.execPath, [yarn, 'kube-skiff', '--version'])).toMatch(
      versionLine,
    )
    project.write('main.js', importing)
    expect(JSON.parse(await project.run(process.execPath, [yarn, 'node', 'main.js']))).toEqual(
      isOne,
    )
  })
})
