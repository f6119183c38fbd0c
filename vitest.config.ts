import { defineConfig } from 'vitest/config'
import { suite } from './test/support/suite.ts'
import { filesLeftOut } from './test/support/system-needs.ts'

const leftOut = filesLeftOut(process.platform)
for (const { file, system, uses } of leftOut)
  process.stderr.write(`NOT TESTED: ${file}: it needs ${system} for ${uses}\n`)
const excluded = leftOut.map(({ file }) => file)

/**
 * Tests that leave nothing in their process, so that one runs file after file: to load the API server costs more than most of
 * their tests.
 */
const sharing = [
  'test/api/**/*.test.ts',
  'test/api-server/**/*.test.ts',
  'test/cel/*.test.ts',
  'test/certs/*.test.ts',
  'test/cluster/plan/*.test.ts',
  'test/cluster/saved/*.test.ts',
  'test/cluster/why/*.test.ts',
  'test/client/*.test.ts',
  'test/component-base/**/*.test.ts',
  'test/controller-manager/**/*.test.ts',
  'test/docs/{charts,diagrams,names,output,reference,request-flow,security,spec}.test.ts',
  'test/envtest/*.test.ts',
  'test/histories/*.test.ts',
  'test/{invariants,monitors/rules}/*.test.ts',
  'test/library/{apply-manifests,duration,expect,identities,install-order,manifests}.test.ts',
  'test/library/{object-client,options,story,watch-objects,webhook}.test.ts',
  'test/machinery/**/*.test.ts',
  'test/models/*.test.ts',
  'test/node-agent/**/*.test.ts',
  'test/scenarios/{docs,expectation,reports,run-scenario,scenario,variables,where}.test.ts',
  'test/scheduler/**/*.test.ts',
  'test/scripts/**/*.test.ts',
  'test/store/*.test.ts',
]

export default defineConfig({
  test: {
    ...suite,
    // Twice the cores of a small machine: tests of processes wait for most of their time.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            ...excluded,
            // Of `npm run examples`.
            'test/examples/**',
            'test/clients/{go,go-chaos,etcd-releases,upstream-storage}.test.ts',
            ...sharing.map((one) => one.replace('/**/*.test.ts', '/**/!(slow-start).test.ts')),
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'sharing',
          include: sharing,
          exclude: ['**/slow-start.test.ts', ...excluded],
          isolate: false,
        },
      },
    ],
  },
})
