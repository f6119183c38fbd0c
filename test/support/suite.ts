/** Settings of every run of tests: the suite, and that of the examples. */
import type { ViteUserConfig } from 'vitest/config'
import { LongestFirst } from './longest-first.ts'
import { SummaryReporter } from './summary-reporter.ts'

export const suite = {
  globalSetup: [
    'test/support/run-folder.ts',
    'test/support/start-turn.ts',
    'test/support/run-etcd.ts',
    'test/e2e/shared-home.ts',
  ],
  setupFiles: ['test/support/set-up.ts'],
  sequence: { sequencer: LongestFirst },
  reporters: ['default', new SummaryReporter()],
  // Of what hangs; what takes long on a busy machine is not to fail.
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000, interval: 20 } },
  pool: 'forks',
  // Values in messages are whole, unless they are pages: a failure elsewhere may never be seen again.
  chaiConfig: { truncateThreshold: 1000 },
} satisfies ViteUserConfig['test']
