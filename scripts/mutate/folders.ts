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
    'test/api-server/kinds/**/*.test.ts',
    'test/api-server/handlers/collections.test.ts',
    'test/api-server/handlers/deletions.test.ts',
    'test/api-server/handlers/dry-run.test.ts',
    'test/api-server/registry/managed-fields.test.ts',
    'test/api-server/registry/object-metadata.test.ts',
    'test/api-server/registry/server-side-apply.test.ts',
    'test/api-server/handlers/subresources.test.ts',
    'test/api-server/handlers/updates.test.ts',
    'test/api-server/registry/corrupt-objects.test.ts',
  ],
}

/** The environment variable that carries the patterns to the test runner, joined by commas. */
export const testsVariable = 'MUTATE_TESTS'
