/**
 * Build: one ESM bundle per process and the library into dist/, heavy parts in lazily loaded chunks beside them; the library's
 * types, and what other people's code in the bundles asks for. `--lenient`: the others are built when one cannot be.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'
import { bundledPackages } from './build/bundled-packages.ts'
import { bundleGroups, libraryBundles, type BundleGroup } from './build/bundles.ts'
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

/** CommonJS packages inside an ESM bundle still call `require` for Node's own modules. */
const requireBanner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/** Test runners are the user's own. */
const external = ['vitest']

/** Writes the bundles of a group and their chunks. */
async function bundle(group: BundleGroup): Promise<Metafile> {
  const [name = ''] = Object.keys(group)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { ...group },
    outdir: 'dist',
    chunkNames: `chunks/${name}-[name]-[hash]`,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    mainFields: ['module', 'main'],
    external,
    // Names of inputs, and with them hashes, are the same wherever node_modules leads to.
    preserveSymlinks: true,
    banner: { js: requireBanner },
    define: { __SKIFF_BUILD__: JSON.stringify(commit) },
    // Whitespace stays: a crash prints its source line, and a minified bundle is one line.
    minifySyntax: true,
    // Licences are in the notices.
    legalComments: 'none',
    metafile: true,
    logLevel: 'silent',
  })
  return metafile
}

/** Removes what earlier builds left, but for a bundle that could not be built now: its last one stays. */
async function removeStale(written: Set<string>, failed: readonly string[]): Promise<void> {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true }).catch(() => [])
  const isKept = (file: string): boolean =>
    failed.some((name) => file === `${name}.js` || file.startsWith(`${name}-`))
  const stale = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js') && !isKept(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !written.has(path.split(sep).join('/')))
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

async function buildGroup(group: BundleGroup): Promise<Metafile | undefined> {
  const names = Object.keys(group)
  return await attempt(names, async () => {
    const missing = Object.values(group).find((source) => !existsSync(join(root, source)))
    if (missing !== undefined) throw new Error(`${missing} does not exist`)
    return await bundle(group)
  })
}

const [built] = await Promise.all([
  Promise.all(bundleGroups.map(buildGroup)),
  attempt(['types'], writeTypes),
])
const metafiles = built.filter((one) => one !== undefined)
await attempt(['notices'], async () => await writeLegal(metafiles))
await removeStale(new Set(metafiles.flatMap(({ outputs }) => Object.keys(outputs))), [
  ...problems.keys(),
])
for (const made of ['.compile-cache', 'envtest']) {
  await rm(join(dist, made), { recursive: true, force: true })
}
for (const [name, problem] of problems) process.stderr.write(`build: ${name}: ${problem}\n`)
const names = bundleGroups.flatMap((group) => Object.keys(group))
process.stdout.write(
  `built ${names.filter((name) => !problems.has(name)).length} of ${names.length} bundles in ${Math.round(performance.now() - started)} ms\n`,
)
if (problems.size > 0 && !lenient) process.exitCode = 1
