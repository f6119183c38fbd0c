/**
 * Build: the library as ESM bundles, and each process as scripts with a small entry, into dist/; heavy parts are lazily loaded chunks beside
 * them; what embedded clusters start from; the library's types, and what other people's code in the bundles asks for. `--lenient`: the
 * others are built when one cannot be.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type BuildOptions, type Metafile } from 'esbuild'
import { bundledPackages } from './build/bundled-packages.ts'
import {
  libraryBundles,
  programGroups,
  runnerBundle,
  screenBundle,
  type BundleGroup,
} from './build/bundles.ts'
import { bundleConsolePage } from './build/console-page.ts'
import { classicScript } from './build/classic-script.ts'
import { writeDeclarations } from './build/declarations.ts'
import { noticesOf } from './build/notices.ts'
import { sbomOf } from './build/sbom.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')

function git(...words: string[]): string {
  return execFileSync('git', words, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, TZ: 'UTC' },
  }).trim()
}

/** The commit that is built, as `/version` tells it; its date, so that a second build of it is the same. */
function builtCommit(): { gitCommit: string; gitTreeState: string; buildDate: string } {
  try {
    const dateForm = '--date=format-local:%Y-%m-%dT%H:%M:%SZ'
    return {
      gitCommit: git('rev-parse', 'HEAD'),
      gitTreeState: git('status', '--porcelain') === '' ? 'clean' : 'dirty',
      buildDate: git('log', '-1', '--format=%cd', dateForm),
    }
  } catch {
    // Not a checkout, or there is no git.
    return { gitCommit: '', gitTreeState: '', buildDate: '1970-01-01T00:00:00Z' }
  }
}
const commit = builtCommit()

interface Written {
  readonly metafile: Metafile
  /** Names below the root. */
  readonly files: readonly string[]
}

/** CommonJS packages inside an ESM bundle still call `require` for Node's own modules. */
const requireBanner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/** Test runners are the user's own. */
const external = ['vitest']

/** What all bundles have in common. */
function optionsOf(group: BundleGroup) {
  const [name = ''] = Object.keys(group)
  return {
    absWorkingDir: root,
    entryPoints: { ...group },
    outdir: 'dist',
    chunkNames: `chunks/${name}-[name]-[hash]`,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    // One byte a character, in memory too.
    charset: 'ascii',
    mainFields: ['module', 'main'],
    external,
    // Names of inputs, and with them hashes, are the same wherever node_modules leads to.
    preserveSymlinks: true,
    // A text: for an object esbuild makes a module that is filled later, which no script can have.
    define: { __SKIFF_BUILD__: JSON.stringify(JSON.stringify(commit)) },
    // Whitespace stays: a crash prints its source line, and a minified bundle is one line.
    minifySyntax: true,
    // Licences are in the notices.
    legalComments: 'none',
    metafile: true,
    logLevel: 'silent',
  } as const satisfies BuildOptions
}

/** Writes bundles that users import, and their chunks. Resolves with the files in `written`. */
async function bundleModules(group: BundleGroup): Promise<Written> {
  const { metafile } = await build({ ...optionsOf(group), banner: { js: requireBanner } })
  return { metafile, files: Object.keys(metafile.outputs) }
}

/** Writes the bundle with React and Ink, without what they have for developers. */
async function bundleScreen(group: BundleGroup): Promise<Written> {
  const options = optionsOf(group)
  const { metafile } = await build({
    ...options,
    banner: { js: requireBanner },
    define: { ...options.define, 'process.env.NODE_ENV': '"production"' },
    alias: { 'react-devtools-core': join(root, 'scripts/build/no-devtools.ts') },
  })
  return { metafile, files: Object.keys(metafile.outputs) }
}

/** Writes the scripts of processes, and for each an entry that runs them. */
async function bundlePrograms(group: BundleGroup): Promise<Written> {
  const { metafile, outputFiles } = await build({
    ...optionsOf(group),
    entryNames: 'chunks/[name]-[hash]',
    outExtension: { '.js': '.cjs' },
    write: false,
  })
  await mkdir(join(dist, 'chunks'), { recursive: true })
  const scripts = outputFiles.map(({ path, text }) => ({ path, text: classicScript(text) }))
  const entries = Object.entries(metafile.outputs).flatMap(([file, { entryPoint }]) => {
    const [name] = Object.entries(group).find(([, source]) => source === entryPoint) ?? []
    if (name === undefined) return []
    return [{ path: join(dist, `${name}.js`), text: entryOf(relative('dist', file)) }]
  })
  const all = [...scripts, ...entries]
  await Promise.all(all.map(({ path, text }) => writeFile(path, text)))
  return { metafile, files: all.map(({ path }) => relative(root, path)) }
}

/** As the metafile and the code have it on every system. */
function withSlashes(path: string): string {
  return path.split(sep).join('/')
}

function entryOf(script: string): string {
  const name = JSON.stringify(withSlashes(script))
  return `import { runProgram } from './run-program.js'\nrunProgram(import.meta.dirname, ${name})\n`
}

/** Removes what earlier builds left, but for a bundle that could not be built now: its last one stays. */
async function removeStale(written: Set<string>, failed: readonly string[]): Promise<void> {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true }).catch(() => [])
  const isKept = (file: string): boolean =>
    failed.some((name) => file === `${name}.js` || file.startsWith(`${name}-`))
  const stale = entries
    .filter((entry) => entry.isFile() && /\.c?js$/.test(entry.name) && !isKept(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !written.has(withSlashes(path)))
  await Promise.all(stale.map((path) => rm(join(root, path))))
}

/** The texts and the list of other people's packages in the bundles. */
async function writeLegal(metafiles: readonly Metafile[]): Promise<void> {
  const packages = bundledPackages(root, metafiles)
  await writeFile(join(dist, 'THIRD_PARTY_NOTICES.txt'), noticesOf(root, packages))
  await writeFile(join(dist, 'sbom.cdx.json'), sbomOf(root, packages, commit.buildDate))
}

async function writeTypes(): Promise<void> {
  const into = join(dist, 'types')
  await rm(into, { recursive: true, force: true })
  await writeDeclarations(root, into, Object.values(libraryBundles))
}

/** What embedded clusters start from, made by one that runs from sources. */
async function writeBaseImages(): Promise<void> {
  const [{ baseImageFile }, { blankImage }] = await Promise.all([
    import('../embedded/base-image.ts'),
    import('../embedded/blank-image.ts'),
  ])
  for (const kind of ['with-controllers', 'api-server-alone'] as const)
    await writeFile(join(dist, baseImageFile(kind)), await blankImage(kind))
}

const lenient = process.argv.includes('--lenient')
const started = performance.now()
const problems = new Map<string, string>()

/** Undefined, and a problem under each of the names, when it fails. */
async function attempt<T>(
  names: readonly string[],
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step()
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    for (const name of names) problems.set(name, text)
    return undefined
  }
}

async function buildGroup(
  group: BundleGroup,
  bundle: (group: BundleGroup) => Promise<Written>,
): Promise<Written | undefined> {
  const names = Object.keys(group)
  return await attempt(names, async () => {
    const missing = Object.values(group).find((source) => !existsSync(join(root, source)))
    if (missing !== undefined) throw new Error(`${missing} does not exist`)
    return await bundle(group)
  })
}

const [built] = await Promise.all([
  Promise.all([
    ...[libraryBundles, runnerBundle].map((group) => buildGroup(group, bundleModules)),
    buildGroup(screenBundle, bundleScreen),
    ...programGroups.map((group) => buildGroup(group, bundlePrograms)),
    attempt(['console-page'], async () => await bundleConsolePage(root)),
  ]),
  attempt(['types'], writeTypes),
])
const written = built.filter((one) => one !== undefined)
await attempt(['notices'], async () => await writeLegal(written.map(({ metafile }) => metafile)))
await attempt(['base image'], writeBaseImages)
await removeStale(new Set(written.flatMap(({ files }) => files.map(withSlashes))), [
  ...problems.keys(),
])
for (const made of ['.compile-cache', 'envtest']) {
  await rm(join(dist, made), { recursive: true, force: true })
}
for (const [name, problem] of problems) process.stderr.write(`build: ${name}: ${problem}\n`)
const groups = [libraryBundles, runnerBundle, screenBundle, ...programGroups]
const names = [...groups.flatMap((group) => Object.keys(group)), 'console-page']
process.stdout.write(
  `built ${names.filter((name) => !problems.has(name)).length} of ${names.length} bundles in ${Math.round(performance.now() - started)} ms\n`,
)
if (problems.size > 0 && !lenient) process.exitCode = 1
