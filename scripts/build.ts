/** Build: one ESM bundle per process into dist/, heavy parts in lazily loaded chunks beside it. `--strict`: every process must be there. */
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
  supervisor: 'cluster/supervisor-main.ts',
  'api-server': 'components/api-server/main.ts',
  'controller-manager': 'components/controller-manager/main.ts',
  scheduler: 'components/scheduler/main.ts',
  'node-agent': 'components/node-agent/main.ts',
  'sqlite-writer': 'components/store/sqlite-writer.ts',
} as const

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
    // Whitespace stays: a crash prints its source line, and a minified bundle is one line.
    minifySyntax: true,
    legalComments: 'none',
    metafile: true,
    logLevel: 'silent',
  })
  return Object.keys(result.metafile.outputs)
}

async function removeStale(written: Set<string>): Promise<void> {
  const entries = await readdir(dist, { recursive: true, withFileTypes: true }).catch(() => [])
  const stale = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !written.has(path.split(sep).join('/')))
  await Promise.all(stale.map((path) => rm(join(root, path))))
}

const strict = process.argv.includes('--strict')
const started = performance.now()
const written = new Set<string>()
const problems: string[] = []
await Promise.all(
  Object.entries(bundles).map(async ([name, source]) => {
    if (!existsSync(join(root, source))) {
      problems.push(`${name}: ${source} does not exist`)
      return
    }
    try {
      for (const path of await bundle(name, source)) written.add(path)
    } catch (error) {
      problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }),
)
await removeStale(written)
await rm(join(dist, '.compile-cache'), { recursive: true, force: true })
for (const problem of problems) process.stderr.write(`build: ${problem}\n`)
process.stdout.write(
  `built ${Object.keys(bundles).length - problems.length} of ${Object.keys(bundles).length} bundles in ${Math.round(performance.now() - started)} ms\n`,
)
if (problems.length > 0 && strict) process.exitCode = 1
