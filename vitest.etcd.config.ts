import { defineConfig } from 'vitest/config'
import { suite } from './test/support/suite.ts'

process.env['TEST_STORE'] = 'etcd'

const files = [
  'client-node',
  'cluster',
  'custom-resources',
  'deletion',
  'interrupted',
  'invariants',
  'kubectl',
  'kubectl-{apply,auth,controllers,delete,get,jobs,nodes,workloads,writes}',
  'processes',
  'runtime-config',
  'why',
]

/**
 * `npm run test:etcd`: whole clusters, and models of the API server, on a real etcd. The other end-to-end tests pass there, too, but
 * for those that read or damage the file of the store, or fill one from a saved cluster.
 */
export default defineConfig({
  test: {
    ...suite,
    maxWorkers: 4,
    include: [
      ...files.map((name) => `test/e2e/${name}.test.ts`),
      'test/models/{api-server,informer}.test.ts',
    ],
  },
})
