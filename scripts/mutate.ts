/**
 * `npm run mutate [-- FOLDER | FILE ...]`: changes the code of the API server in small ways and runs tests against each
 * change: those that mutate/parts.ts names for the file. A change that no test notices survives and is printed. Paths are
 * below components/api-server (`authz`, `authz/abac.ts`); the default is everything that mutate/parts.ts names.
 * MUTATE_SAMPLE=20 tries one change in 20, always the same ones. Results stay in .mutation, and the next run tries only what
 * is new in the code or the tests. MUTATE_WORKERS (1) is how many run in parallel; MUTATE_AFRESH=1 forgets the results.
 */
import { existsSync, globSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { Stryker } from '@stryker-mutator/core'
import { mutatedParts, testsVariable, type MutatedPart } from './mutate/parts.ts'
import { sampleVariable } from './mutate/stryker-plugins.ts'

const root = 'components/api-server'
const { [sampleVariable]: oneIn = '1', MUTATE_WORKERS: workers = '1', MUTATE_AFRESH } = process.env

const partOf = (file: string): MutatedPart | undefined =>
  mutatedParts.find(({ code }) => code.some((pattern) => matchesGlob(file, pattern)))

/** Files below the root that one of the arguments names. Throws an Error when an argument names none. */
function chosenFiles(chosen: readonly string[]): string[] {
  const all = globSync(`${root}/**/*.ts`)
    .map((file) => file.slice(root.length + 1))
    .filter((file) => partOf(file) !== undefined)
  const paths = chosen.map((path) => path.replace(`${root}/`, '').replace(/\/$/, ''))
  const isNamed = (path: string, file: string): boolean =>
    file === path || file.startsWith(`${path}/`)
  const unknown = paths.find((path) => !all.some((file) => isNamed(path, file)))
  if (unknown !== undefined) {
    throw new Error(`${unknown} names no file that mutate/parts.ts names`)
  }
  return paths.length === 0 ? all : all.filter((file) => paths.some((path) => isNamed(path, file)))
}

async function mutate({ name, tests }: MutatedPart, files: readonly string[]): Promise<void> {
  const testFiles = tests.map((test) => `test/api-server/${test}.test.ts`)
  const missing = testFiles.find((file) => !existsSync(file))
  if (missing !== undefined) throw new Error(`${missing} does not exist: correct mutate/parts.ts`)
  process.env[testsVariable] = testFiles.join()
  const results = `.mutation/${name}${oneIn === '1' ? '' : `-one-in-${oneIn}`}`
  const stryker = new Stryker({
    mutate: files.map((file) => `${root}/${file}`),
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner', './scripts/mutate/stryker-plugins.ts'],
    checkers: ['sample'],
    ignorers: ['noise'],
    vitest: { configFile: 'scripts/mutate/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // Types are stripped, never checked: there is nothing to switch off.
    disableTypeChecks: false,
    concurrency: Number(workers),
    // A server that a change stops from answering.
    timeoutMS: 15_000,
    incremental: true,
    incrementalFile: `${results}.json`,
    force: MUTATE_AFRESH === '1',
    ignorePatterns: ['/dist', '/.mutation'],
    // It would rewrite the file with the TypeScript 5 API, which TypeScript 7 lacks; nothing in the file needs it.
    tsconfigFile: 'none',
    reporters: ['clear-text', 'progress-append-only', 'html'],
    clearTextReporter: { allowEmojis: false, logTests: false, reportTests: false },
    htmlReporter: { fileName: `${results}.html` },
  })
  await stryker.runMutationTest()
}

const byPart = Map.groupBy(chosenFiles(process.argv.slice(2)), partOf)
for (const [part, files] of byPart) if (part !== undefined) await mutate(part, files)
