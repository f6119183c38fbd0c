/** The tarball: what is in it, what it says of other people's code, and what must not be in it. */
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { libraryBundles } from '../../scripts/build/bundles.ts'
import { packagePathOf } from '../../scripts/build/bundled-packages.ts'
import { specifiersIn } from '../../scripts/build/declarations.ts'
import { run } from '../e2e/program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { packedOnce, root } from './packed.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly bin: Readonly<Record<string, string>>
  readonly types: string
  readonly exports: Readonly<Record<string, string | { types: string; default: string }>>
  readonly dependencies?: unknown
  readonly engines: { readonly node: string }
}

let folder = ''
const file = (...parts: readonly string[]): string => join(folder, ...parts)
const text = (...parts: readonly string[]): string => readFileSync(file(...parts), 'utf8')
const manifest = (): Manifest => JSON.parse(text('package.json')) as Manifest

beforeAll(async () => {
  const tarball = await packedOnce()
  const place = temporaryFolder('tarball')
  mkdirSync(place, { recursive: true })
  const { code, stderr } = await run('tar', ['-xzf', tarball], { cwd: place, timeoutMs: 60_000 })
  expect(stderr).toBe('')
  expect(code).toBe(0)
  folder = join(place, 'package')
})

/** Every JavaScript file of the bundles. */
const bundles = (): string[] => globSync('dist/**/*.{js,cjs}', { cwd: folder })

describe('what a package manager reads', () => {
  test('one executable has three names', () => {
    const { bin, name, private: isPrivate } = manifest()
    expect(name).toBe('kube-skiff')
    expect(isPrivate).toBeUndefined()
    expect(Object.keys(bin).toSorted()).toEqual(['kube-skiff', 'kubectl-skiff', 'skiff'])
    expect(new Set(Object.values(bin))).toEqual(new Set(['bin/skiff.js']))
    expect(text('bin/skiff.js')).toMatch(/^#!\/usr\/bin\/env node\n/)
    if (process.platform !== 'win32')
      expect(statSync(file('bin/skiff.js')).mode & 0o111).toBe(0o111)
  })

  test('nothing is installed beside it', () => {
    expect(manifest().dependencies).toBeUndefined()
  })

  test('every entry that can be imported has its file and its types', () => {
    const { exports, types } = manifest()
    const { '.': main, './package.json': own, ...fixtures } = exports
    expect(own).toBe('./package.json')
    expect(main).toMatchObject({ types: `./${types.replace('./', '')}` })
    const entries = Object.entries({ './library': main, ...fixtures })
    expect(entries.map(([name]) => name.slice(2)).toSorted()).toEqual(
      Object.keys(libraryBundles).toSorted(),
    )
    const missing = entries
      .flatMap(([, entry]) => (typeof entry === 'object' ? [entry.types, entry.default] : []))
      .filter((path) => !existsSync(file(path)))
    expect(missing).toEqual([])
  })
})

test('declarations name nothing that a user may not have', () => {
  const declarations = globSync('dist/types/**/*.d.ts', { cwd: folder })
  expect(declarations.length).toBeGreaterThan(1)
  const own = new Set(['vitest', 'node:test', '@jest/globals'])
  const wrong = declarations.flatMap((path) =>
    specifiersIn(text(path))
      .filter((one) => {
        if (!one.startsWith('.')) return !own.has(one)
        return !existsSync(file(dirname(path), one.replace(/\.js$/, '.d.ts')))
      })
      .map((one) => `${path} names ${one}`),
  )
  expect(wrong).toEqual([])
})

test('an embedded cluster starts with the objects of the base image', async () => {
  const program = `
    import { startCluster } from ${JSON.stringify(pathToFileURL(file('dist', 'library.js')).href)}
    for (const components of [undefined, []]) {
      const cluster = await startCluster({ components })
      console.log(await cluster.story({ namespace: 'kube-system' }))
      await cluster.stop()
    }`
  const { code, stdout, stderr } = await run(
    process.execPath,
    ['--input-type=module', '--eval', program],
    // No cache is to be left in the folder.
    { cwd: folder, env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' }, timeoutMs: 60_000 },
  )
  expect(stderr).toBe('')
  expect(code).toBe(0)
  // With controllers, and without any.
  expect(stdout.match(/ServiceAccount\/default was there/g)).toHaveLength(1)
  expect(stdout.match(/Role\/extension-apiserver-authentication-reader was there/g)).toHaveLength(2)
})

describe('what must not be in it', () => {
  test('no source, test, hidden file or cache', () => {
    const all = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    expect(all.length).toBeGreaterThan(100)
    const wrong = all.filter(
      (path) =>
        /(^|[/\\])\./.test(path) || /^(?:test|components|cluster|node_modules)\b/.test(path),
    )
    expect(wrong).toEqual([])
    expect(all.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([])
  })

  test('no path of the machine that built it', () => {
    const wrong = bundles().filter((path) => text(path).includes(root))
    expect(bundles().length).toBeGreaterThan(9)
    expect(wrong).toEqual([])
  })
})

describe('other people’s code', () => {
  /** Names of the packages that the bundles have code of: esbuild writes each input's path above its code. */
  const packages = (): string[] => {
    const inputs = bundles().flatMap((path) =>
      [...text(path).matchAll(/^\s*\/\/ (\S*node_modules\/\S+)$/gm)].map(([, input = '']) => input),
    )
    const paths = inputs.flatMap((input) => packagePathOf(input) ?? [])
    return [...new Set(paths)].toSorted()
  }
  const installed = (path: string): { name: string; version: string } =>
    JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as {
      name: string
      version: string
    }

  test('each package has its licence text in the notices', () => {
    const notices = text('dist/THIRD_PARTY_NOTICES.txt')
    const sections = new Map(
      notices.split(/^={80}\n/m).map((section) => [/^\S+ \S+/.exec(section)?.[0], section]),
    )
    expect(packages().length).toBeGreaterThan(30)
    const without = packages().filter((path) => {
      const { name, version } = installed(path)
      const section = sections.get(`${name} ${version}`) ?? ''
      return !/copyright/i.test(section) || section.length < 500
    })
    expect(without).toEqual([])
    // Descriptions of fields come from its declarations.
    expect(
      sections.has(
        `@kubernetes/client-node ${installed('node_modules/@kubernetes/client-node').version}`,
      ),
    ).toBe(true)
  })

  test('each package is in the bill of materials, with its version, licence and hash', () => {
    interface Bill {
      readonly bomFormat: string
      readonly metadata: { readonly component: { readonly purl: string } }
      readonly components: readonly {
        readonly 'bom-ref': string
        readonly name: string
        readonly version: string
        readonly licenses: readonly unknown[]
        readonly hashes: readonly { readonly content: string }[]
      }[]
      readonly dependencies: readonly { readonly ref: string; readonly dependsOn: string[] }[]
    }
    const bill = JSON.parse(text('dist/sbom.cdx.json')) as Bill
    expect(bill.bomFormat).toBe('CycloneDX')
    expect(bill.metadata.component.purl).toBe(`pkg:npm/kube-skiff@${manifest().version}`)
    const listed = new Map(bill.components.map((one) => [`${one.name} ${one.version}`, one]))
    const wrong = packages().filter((path) => {
      const { name, version } = installed(path)
      const component = listed.get(`${name} ${version}`)
      return component?.licenses.length !== 1 || component.hashes[0]?.content.length !== 128
    })
    expect(wrong).toEqual([])
    // Every package is reached from ours.
    const graph = new Map(bill.dependencies.map((one) => [one.ref, one.dependsOn]))
    const reached = new Set<string>()
    const visit = (ref: string): void => {
      if (reached.has(ref)) return
      reached.add(ref)
      for (const next of graph.get(ref) ?? []) visit(next)
    }
    visit(bill.metadata.component.purl)
    expect(bill.components.map((one) => one['bom-ref']).filter((ref) => !reached.has(ref))).toEqual(
      [],
    )
  })
})
