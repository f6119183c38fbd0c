import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cacheRoot, envtestAssets } from '../../envtest/assets.ts'
import type { AssetsOptions } from '../../envtest/assets.ts'
import { scriptsOf } from '../../envtest/scripts.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { expectMode } from '../support/file-mode.ts'

/** Bundles that print how they were started. */
const echo =
  'console.log(JSON.stringify({ args: process.argv.slice(2), options: process.execArgv, env: process.env }))\n'

function builtPackage(name = 'dist') {
  const programs = join(temporaryFolder('package'), name)
  mkdirSync(programs)
  for (const bundle of ['kube-apiserver', 'etcd', 'kubectl'])
    writeFileSync(join(programs, `envtest-${bundle}.js`), echo)
  return programs
}

const optionsFor = (programs: string, more: Partial<AssetsOptions> = {}): AssetsOptions => ({
  withControllers: false,
  programs,
  node: process.execPath,
  platform: 'linux',
  environment: {},
  ...more,
})

function started(program: string, words: readonly string[]) {
  const env = { PATH: '/nowhere' }
  return JSON.parse(execFileSync(program, words, { encoding: 'utf8', env, cwd: '/' })) as {
    args: string[]
    options: string[]
    env: Record<string, string>
  }
}

describe('the folder of envtest', () => {
  it('lies in the package, and is the same each time', async () => {
    const programs = builtPackage()
    const [first, second] = await Promise.all([
      envtestAssets(optionsFor(programs)),
      envtestAssets(optionsFor(programs)),
    ])
    expect(dirname(first)).toBe(join(programs, 'envtest'))
    expect(second).toBe(first)
    expect(await envtestAssets(optionsFor(programs))).toBe(first)
    expect(readdirSync(dirname(first))).toEqual([basename(first)])
    expect(readdirSync(first).toSorted()).toEqual([
      'etcd',
      'kube-apiserver',
      'kubectl',
      'skiff-envtest.json',
    ])
    expectMode(first, 0o755)
  })

  it('is another one with controllers, and for another Node', async () => {
    const programs = builtPackage()
    const paths = await Promise.all([
      envtestAssets(optionsFor(programs)),
      envtestAssets(optionsFor(programs, { withControllers: true })),
      envtestAssets(optionsFor(programs, { node: '/opt/node' })),
    ])
    expect(new Set(paths).size).toBe(3)
    const marker = readFileSync(join(paths[1], 'skiff-envtest.json'), 'utf8')
    expect(JSON.parse(marker)).toEqual({ withControllers: true })
  })

  it('lies in the user’s cache where the package cannot be written', async () => {
    const programs = builtPackage()
    // A file where the folder is to be refuses the superuser, too.
    writeFileSync(join(programs, 'envtest'), '')
    const cache = temporaryFolder('cache')
    const environment = { XDG_CACHE_HOME: cache }
    const folder = await envtestAssets(optionsFor(programs, { environment }))
    expect(dirname(folder)).toBe(join(cache, 'skiff', 'envtest'))
    expect(started(join(folder, 'etcd'), []).env['NODE_COMPILE_CACHE']).toBe(
      join(cache, 'skiff', 'compile-cache'),
    )
  })

  it('is an error that says what to do where neither can be written', async () => {
    const programs = builtPackage()
    writeFileSync(join(programs, 'envtest'), '')
    const environment = { XDG_CACHE_HOME: join(programs, 'envtest') }
    await expect(envtestAssets(optionsFor(programs, { environment }))).rejects.toMatchObject({
      kind: 'permission',
      hint: 'set XDG_CACHE_HOME to a folder of yours',
    })
  })

  it('is an error that names what is missing where nothing is built', async () => {
    const programs = temporaryFolder('package')
    await expect(envtestAssets(optionsFor(programs))).rejects.toThrow(
      `${join(programs, 'envtest-kube-apiserver.js')} is missing`,
    )
  })
})

describe('the programs in it', () => {
  it('run with the Node that wrote them, from any folder, without one in PATH', async () => {
    const folder = await envtestAssets(optionsFor(builtPackage()))
    const words = ['--a=b c', "it's", '$HOME', '', '*']
    for (const name of ['etcd', 'kubectl', 'kube-apiserver'])
      expect(started(join(folder, name), words).args).toEqual(words)
    expect(started(join(folder, 'kube-apiserver'), []).options).toContain('--expose-gc')
  })

  it('are told their parent, and where compiled code is kept', async () => {
    const programs = builtPackage()
    const { env } = started(join(await envtestAssets(optionsFor(programs)), 'etcd'), [])
    expect(env).toMatchObject({
      SKIFF_ENVTEST_PARENT: String(process.pid),
      NODE_COMPILE_CACHE: join(programs, '.compile-cache'),
    })
  })

  it('work in a folder with blanks, quotes and non-Latin letters', async () => {
    const folder = await envtestAssets(optionsFor(builtPackage(`o'brien "dist" ж $HOME`)))
    expect(started(join(folder, 'etcd'), ['x']).args).toEqual(['x'])
  })

  it('run the controllers when they are asked for', async () => {
    const folder = await envtestAssets(optionsFor(builtPackage(), { withControllers: true }))
    const { args } = started(join(folder, 'kube-apiserver'), ['--v=2'])
    expect(args).toEqual(['--with-controllers', '--v=2'])
    expect(started(join(folder, 'etcd'), []).args).toEqual([])
  })

  it('say what to do when their Node is gone', async () => {
    const node = join(temporaryFolder('node'), 'node')
    writeFileSync(node, '')
    chmodSync(node, 0o755)
    const folder = await envtestAssets(optionsFor(builtPackage(), { node }))
    chmodSync(node, 0o644)
    const run = () => execFileSync(join(folder, 'etcd'), [], { encoding: 'utf8', stdio: 'pipe' })
    expect(run).toThrow(`etcd: ${node} is gone: run kube-skiff envtest again`)
  })

  it('are batch files on Windows', () => {
    const scripts = scriptsOf(
      {
        node: String.raw`C:\Program Files\nodejs\node.exe`,
        programs: String.raw`C:\100%\dist`,
        compileCache: String.raw`C:\100%\dist\.compile-cache`,
        withControllers: false,
      },
      { platform: 'win32', nodeOptions: [] },
    )
    expect(scripts.map(({ name }) => name)).toEqual([
      'skiff-envtest.json',
      'kube-apiserver.cmd',
      'etcd.cmd',
      'kubectl.cmd',
    ])
    expect(scripts[2]?.text).toContain(
      String.raw`"C:\Program Files\nodejs\node.exe" "C:\100%%\dist\envtest-etcd.js" %*`,
    )
  })

  it('lie in the cache folder of the system', () => {
    const of = (platform: NodeJS.Platform, environment: Record<string, string>) =>
      cacheRoot({ platform, environment })
    expect(of('linux', { HOME: '/home/jane' })).toBe('/home/jane/.cache/skiff')
    expect(of('linux', { HOME: '/home/jane', XDG_CACHE_HOME: 'relative' })).toBe(
      '/home/jane/.cache/skiff',
    )
    expect(of('darwin', { HOME: '/Users/jane' })).toBe('/Users/jane/Library/Caches/skiff')
    expect(of('win32', { LOCALAPPDATA: '/local' })).toBe('/local/skiff')
  })
})
