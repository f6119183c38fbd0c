import { defineConfig } from 'vitest/config'
import { suite } from './test/support/suite.ts'

/** `npm run examples`: what other compilers build. The suite of every example in its own language, and the tests of client-go. */
export default defineConfig({
  test: {
    ...suite,
    include: [
      'test/examples/*.test.ts',
      'test/clients/{go,go-chaos,etcd-releases,upstream-storage}.test.ts',
    ],
    // Compilers take every core, and explorations mostly wait.
    maxWorkers: 2,
    // The first build of an example's libraries takes minutes on a small machine.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
  },
})
