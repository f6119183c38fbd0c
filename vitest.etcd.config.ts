import { defineConfig } from 'vitest/config'
import { suite } from './test/support/suite.ts'

process.env['TEST_STORE'] = 'etcd'

/** `npm run test:etcd`: whole clusters, and models of the API server, on a real etcd. */
export default defineConfig({
  test: {
    ...suite,
    maxWorkers: 4,
    include: ['test/e2e/*.test.ts', 'test/models/api-server.test.ts', 'test/models/informer.test.ts'],
  },
})
