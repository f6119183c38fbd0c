/** Folders of the API server whose code is mutated, and the test files, as patterns, that must notice. */
export const mutatedFolders: Readonly<Record<string, readonly string[]>> = {
  authn: ['test/api-server/authn/*.test.ts'],
  authz: [
    'test/api-server/authz/*.test.ts',
    'test/api-server/explain/*.test.ts',
    'test/models/abac.test.ts',
    'test/models/node-authorizer.test.ts',
    'test/models/rbac.test.ts',
  ],
  admission: ['test/api-server/admission/*.test.ts'],
  registry: [
    'test/api-server/strategies/*.test.ts',
    'test/api-server/collections.test.ts',
    'test/api-server/deletions.test.ts',
    'test/api-server/dry-run.test.ts',
    'test/api-server/managed-fields.test.ts',
    'test/api-server/object-metadata.test.ts',
    'test/api-server/server-side-apply.test.ts',
    'test/api-server/subresources.test.ts',
    'test/api-server/updates.test.ts',
    'test/api-server/storage/corrupt-objects.test.ts',
  ],
}

/** The environment variable that carries the patterns to the test runner, joined by commas. */
export const testsVariable = 'MUTATE_TESTS'
