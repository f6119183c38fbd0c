/**
 * `npm run mutate [-- FOLDER | FILE ...]`: changes the code of the API server in small ways and runs tests against each
 * change: for a file, the tests named after it, else those of its folder. A change that no test notices survives and is
 * printed. Paths are below components/api-server (`authz`, `authz/abac.ts`); the default is all folders of
 * mutate/folders.ts. Results stay in .mutation, and the next run tries only what is new in the code or the tests.
 * MUTATE_WORKERS (1) is how many run in parallel; MUTATE_AFRESH=1 forgets the results.
 */
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import { Stryker } from '@stryker-mutator/core'
import { mutatedFolders, testsVariable } from './mutate/folders.ts'

const folderOf = (path: string): string => path.split('/')[0] ?? ''
const paths = process.argv.slice(2).map((path) => path.replace(/^components\/api-server\//, ''))
const unknown = paths.find((path) => mutatedFolders[folderOf(path)] === undefined)
if (unknown !== undefined) {
  const known = Object.keys(mutatedFolders).join(', ')
  throw new Error(`${unknown} is in no folder that is mutated: give paths in ${known}`)
}
const byFolder = Map.groupBy(paths.length > 0 ? paths : Object.keys(mutatedFolders), folderOf)

/** The tests of the folder; for a file those that are named after it, if there are any. */
function testsOf(folder: string, path: string): readonly string[] {
  const all = mutatedFolders[folder] ?? []
  if (path === folder) return all
  const name = basename(path, '.ts')
  const own = globSync(all).filter((file) => {
    const tested = basename(file, '.test.ts')
    return tested.startsWith(name) || name.startsWith(`${tested}-`)
  })
  return own.length > 0 ? own : all
}

for (const [folder, chosen] of byFolder) {
  const tests = new Set(chosen.flatMap((path) => testsOf(folder, path)))
  process.env[testsVariable] = [...tests].join()
  const stryker = new Stryker({
    mutate: chosen.map(
      (path) => `components/api-server/${path.endsWith('.ts') ? path : `${path}/**/*.ts`}`,
    ),
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'scripts/mutate/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // What runs when a module is loaded concerns every test: too much for whole folders.
    ignoreStatic: chosen.includes(folder),
    concurrency: Number(process.env['MUTATE_WORKERS'] ?? '1'),
    // A server that a change stops from answering.
    timeoutMS: 30_000,
    incremental: true,
    incrementalFile: `.mutation/${folder}.json`,
    force: process.env['MUTATE_AFRESH'] === '1',
    ignorePatterns: ['/dist', '/.mutation'],
    // It would rewrite the file with the TypeScript 5 API, which TypeScript 7 lacks; nothing in the file needs it.
    tsconfigFile: 'none',
    reporters: ['clear-text', 'progress-append-only', 'html'],
    clearTextReporter: { allowEmojis: false, logTests: false, reportTests: false },
    htmlReporter: { fileName: `.mutation/${folder}.html` },
  })
  await stryker.runMutationTest()
}
