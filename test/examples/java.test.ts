/** The Java example: its suite in JUnit passes on a cluster of its own, and leaves nothing, not even when the JVM is killed. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { eventually } from '../support/eventually.ts'
import { requireParts } from '../support/require-parts.ts'
import { copyExample, goneWithinMs } from './example.ts'

const root = join(import.meta.dirname, '..', '..')
const leastMajor = 17
const dependencyPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
/** The first build fetches the dependencies. */
const mavenTimeoutMs = 600_000
const suite = ['-q', '-B', 'test'] as const

function hindrance(): string | undefined {
  const cwd = join(root, 'examples', 'java-operator')
  const run = (file: string, words: readonly string[]): string =>
    execFileSync(file, words, { cwd, encoding: 'utf8', stdio: 'pipe', timeout: 300_000 })
  try {
    const [, major] = /^javac (\d+)/.exec(run('javac', ['--version'])) ?? []
    if (Number(major) < leastMajor) return `Java ${leastMajor} is needed, there is ${major}`
  } catch {
    return 'there is no javac in PATH'
  }
  try {
    run('mvn', ['--version'])
  } catch {
    return 'there is no mvn in PATH'
  }
  try {
    run('mvn', ['-q', '-B', `${dependencyPlugin}:resolve`])
    return undefined
  } catch (error) {
    return `its dependencies cannot be fetched: ${(error as Error).message.split('\n')[1] ?? ''}`
  }
}

const test = requireParts('examples/java-operator', hindrance)

beforeAll(builtOnce)

/** What each class's report counts: run, failed and skipped tests. */
function counts(project: string): string[] {
  const reports = join(project, 'target', 'surefire-reports')
  return readdirSync(reports)
    .filter((name) => name.endsWith('.txt'))
    .flatMap(
      (name) => readFileSync(join(reports, name), 'utf8').match(/^Tests run: .*?(?=, Time)/m) ?? [],
    )
}

test('the suite in JUnit is green, and leaves nothing', async () => {
  const example = copyExample('java-operator')
  const { code, output } = await example.run('mvn', suite)
  expect(code, output).toBe(0)
  expect(counts(example.folder)).toEqual(['Tests run: 7, Failures: 0, Errors: 0, Skipped: 0'])
  expect(readFileSync(join(example.folder, 'target', 'skiff.log'), 'utf8')).toContain('node-1')
  expect(example.leftovers()).toEqual([])
})

test('a JVM that is killed leaves no process and no cluster', async () => {
  const example = copyExample('java-operator')
  const maven = example.start('mvn', suite)
  // The cluster's name has the pid of the JVM that Maven starts for the tests.
  const jvm = await eventually(() => {
    const [name = ''] = readdirSync(join(example.stateRoot, 'clusters'))
    const [, pid] = /^java-(\d+)$/.exec(name) ?? []
    if (pid === undefined) throw new Error(`${name} has no pid in its name`)
    return Number(pid)
  }, mavenTimeoutMs)
  expect(example.leftovers()).not.toEqual([])
  process.kill(jvm, 'SIGKILL')
  expect((await maven.ended).code).not.toBe(0)
  await eventually(() => expect(example.leftovers()).toEqual([]), goneWithinMs)
})
