import { defineConfig } from 'vitest/config'
import { testsVariable } from './folders.ts'

/** The tests of one mutated folder, file after file. */
export default defineConfig({
  test: {
    globalSetup: ['test/support/run-folder.ts'],
    setupFiles: ['test/support/set-up.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    include: process.env[testsVariable]?.split(',') ?? [],
  },
})
