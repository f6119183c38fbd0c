/** SummaryReporter: what failed, once more and in few words, as the last lines of a run; and for whoever asks, in a file. */
import { appendFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** Lines `PASSED <number>`, `FAILED <what>: <why>`, `UNHANDLED <error>` and `LEFT <what>`. */
const path = process.env['TEST_SUMMARY']

/** One more failure, found when the tests are over. */
export function addToSummary(line: string): void {
  process.stdout.write(`${line}\n`)
  if (path !== undefined) appendFileSync(path, `${line}\n`)
}

const firstLine = (error: SerializedError | undefined): string =>
  (error?.message ?? 'no message').split('\n')[0] ?? ''

function failuresOf(module: TestModule): string[] {
  const file = relative(process.cwd(), module.moduleId)
  const failed = (name: string, error: SerializedError | undefined): string =>
    `FAILED ${[file, ...(name === '' ? [] : [name])].join(' > ')}: ${firstLine(error)}`
  return [
    ...module.errors().map((error) => failed('', error)),
    ...[...module.children.allSuites()].flatMap((suite) =>
      suite.errors().map((error) => failed(suite.fullName, error)),
    ),
    ...[...module.children.allTests('failed')].map((test) =>
      failed(test.fullName, test.result().errors?.[0]),
    ),
  ]
}

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const passed = modules.flatMap((module) => [...module.children.allTests('passed')]).length
    if (path !== undefined) writeFileSync(path, `PASSED ${passed}\n`)
    for (const line of modules.flatMap(failuresOf)) addToSummary(line)
    for (const error of unhandled) {
      const where = error.stack?.split('\n').find((line) => line.includes('/')) ?? ''
      addToSummary(`UNHANDLED ${firstLine(error)} ${where.trim()}`)
    }
  }
}
