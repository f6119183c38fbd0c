/** Build: one ESM bundle per process into dist/, heavy parts in lazily loaded chunks beside it. `--lenient`: the others are built when one cannot be. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')

/** Bundle -> source. Bundles find each other (workers, children) by these names in their own folder. */
const bundles = {
  skiff: 'scripts/skiff.ts',
  supervisor: 'cluster/supervisor/supervisor-main.ts',
  'api-server': 'components/api-server/main.ts',
  'controller-manager': 'components/controller-manager/main.ts',
  scheduler: 'components/scheduler/main.ts',
  'node-agent': 'components/node-agent/main.ts',
  keeper: 'scenarios/engine/keeper-main.ts',
  'sqlite-writer': 'components/store/sqlite-writer.ts',
  library: 'library/index.ts',
  'embedded-host': 'embedded/embedded-host.ts',
  'yaml-worker': 'components/api-server/encoding/yaml-worker.ts',
} as const

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

/** Writes one bundle and its chunks; returns the files written, as paths from the repository's root. */
async function bundle(name: string, source: string): Promise<string[]> {
  const result = await build({
    absWorkingDir: root,
    entryPoints: { [name]: source },
    outdir: 'dist',
    chunkNames: `chunks/${name}-[name]-[hash]`,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    banner: { js: requireBanner },
    define: { __SKIFF_BUILD__: JSON.stringify(commit) },
    // Whitespace stays: a crash prints its source line, and a minified bundle is one line.
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'silent',
  })
  return Object.keys(result.metafile.outputs)
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

const lenient = process.argv.includes('--lenient')
const started = performance.now()
const written = new Set<string>()
const problems = new Map<string, string>()
await Promise.all(
  Object.entries(bundles).map(async ([name, source]) => {
    if (!existsSync(join(root, source))) {
      problems.set(name, `${source} does not exist`)
      return
    }
    try {
      for (const path of await bundle(name, source)) written.add(path)
    } catch (error) {
      problems.set(name, error instanceof Error ? error.message : String(error))
    }
  }),
)
await removeStale(written, [...problems.keys()])
await rm(join(dist, '.compile-cache'), { recursive: true, force: true })
for (const [name, problem] of problems) process.stderr.write(`build: ${name}: ${problem}\n`)
process.stdout.write(
  `built ${Object.keys(bundles).length - problems.size} of ${Object.keys(bundles).length} bundles in ${Math.round(performance.now() - started)} ms\n`,
)
if (problems.size > 0 && !lenient) process.exitCode = 1
