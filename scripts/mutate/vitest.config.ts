import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { testsVariable } from './parts.ts'

const tests = process.env[testsVariable]?.split(',') ?? []

/** In the order of the list: what notices a change soon comes before what takes long. */
class Listed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      tests.findIndex((test) => moduleId.endsWith(`/${test}`))
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

/** The tests of one mutated part, file after file. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/run-folder.ts'],
    setupFiles: ['test/support/set-up.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    include: tests,
    sequence: { sequencer: Listed },
    // As in the suite: to load the API server once per file would cost more than the tests.
    isolate: false,
  },
})
