/** Maven: runs the JUnit suite of a Maven project. */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { test } from 'vitest'

const leastMajor = 17
const dependencyPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
/** The first build fetches the dependencies. */
export const mavenTimeoutMs = 600_000

/** Why Maven cannot build the project in that folder; undefined when it can. */
function hindrance(project: string): string | undefined {
  const run = (file: string, words: readonly string[]): string =>
    execFileSync(file, words, { cwd: project, encoding: 'utf8', stdio: 'pipe', timeout: 300_000 })
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

/** The tests that run the project in that folder. Where Maven cannot they are skipped, and standard error says so. */
export function requireMaven(project: string): typeof test | typeof test.skip {
  const why = hindrance(project)
  if (why === undefined) return test
  const message = `NOT TESTED: ${project}: ${why}`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return test.skip
}

interface MavenRun {
  readonly child: ChildProcess
  /** Resolves when it has ended, whatever its end. */
  readonly ended: Promise<{ code: number | null; output: string }>
}

/** Starts `mvn -q -B test` in the folder, with this environment alone. */
export function startMaven(project: string, env: NodeJS.ProcessEnv): MavenRun {
  const child = spawn('mvn', ['-q', '-B', 'test'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    child
      .once('error', reject)
      .once('close', (code) => resolve({ code, output: stripVTControlCharacters(output) }))
  })
  return { child, ended }
}
