/**
 * The code of the API server that `npm run mutate` changes, and the tests that must notice. A file belongs to the first part
 * whose patterns match it. Every change that survives runs all tests of its part: a part names the tests that are about it,
 * cheap ones first, and leaves out those that cover it by the way.
 */
export interface MutatedPart {
  /** The file of the results in .mutation. */
  readonly name: string
  /** Patterns below components/api-server. */
  readonly code: readonly string[]
  /** Files below test/api-server, without `.test.ts`. */
  readonly tests: readonly string[]
}

const authn: readonly MutatedPart[] = [
  {
    name: 'authn-oidc',
    code: ['authn/oidc/*.ts', 'authn/issuer-documents.ts'],
    tests: [
      'authn/issuer-documents',
      'authn/authentication-config',
      'authn/distributed-claims',
      'authn/oidc-flags',
    ],
  },
  {
    name: 'authn-service-accounts',
    code: ['authn/service-account-*.ts', 'authn/authenticator.ts'],
    tests: ['authn/service-account-token', 'authn/service-account-lookup', 'authn/methods'],
  },
  {
    name: 'authn-certificates',
    code: ['authn/{client-certificate,certificate-chain,request-header}.ts'],
    tests: ['authn/client-certificate', 'authn/request-header', 'authn/reload'],
  },
  {
    name: 'authn-tokens',
    code: ['authn/{bearer-token,bootstrap-token,static-token-file,token-webhook}.ts'],
    tests: [
      'authn/bootstrap-token',
      'authn/union',
      'authn/static-token-file',
      'authn/token-webhook',
    ],
  },
  { name: 'authn-union', code: ['authn/*.ts'], tests: ['authn/union', 'authn/methods'] },
]

const authz: readonly MutatedPart[] = [
  { name: 'authz-abac', code: ['authz/abac.ts'], tests: ['authz/abac'] },
  {
    name: 'authz-escalation',
    code: ['authz/{escalation,rule-covers}.ts'],
    tests: ['authz/escalation', 'authz/models'],
  },
  {
    name: 'authz-rbac',
    code: ['authz/{rbac,rbac-index,rule-matching}.ts'],
    tests: ['authz/rbac', 'authz/default-policy', 'authz/models', 'explain/access'],
  },
  {
    name: 'authz-node',
    code: ['authz/node-*.ts'],
    tests: [
      'authz/node-authorizer',
      'authz/node-authorizer-verbs',
      'authz/models',
      'explain/access',
    ],
  },
  {
    name: 'authz-webhook',
    code: ['authz/webhook-authorizer.ts'],
    tests: ['authz/webhook', 'authz/authorization-config', 'explain/access'],
  },
  {
    name: 'authz-union',
    code: ['authz/*.ts'],
    tests: ['authz/union', 'authz/authorization-modes', 'explain/access'],
  },
]

const admission: readonly MutatedPart[] = [
  {
    name: 'admission-pod-security',
    code: ['admission/pod-security/*.ts'],
    tests: ['admission/pod-security', 'admission/admission-config'],
  },
  {
    name: 'admission-policies',
    code: ['admission/{policy,expressions}/*.ts'],
    tests: [
      'admission/access-checks',
      'admission/policy-expressions',
      'admission/validating-policies',
    ],
  },
  {
    name: 'admission-webhooks',
    code: ['admission/webhook/*.ts'],
    tests: ['admission/webhook-failures', 'admission/webhooks'],
  },
  {
    name: 'admission-limit-ranger',
    code: ['admission/{limit-ranger,pod-resources}.ts'],
    tests: ['admission/limit-ranger', 'admission/plugins'],
  },
  {
    name: 'admission-plugins',
    code: ['admission/*.ts'],
    tests: [
      'admission/node-restriction',
      'admission/plugins',
      'admission/chain',
      'authz/escalation',
      'admission/admission-config',
    ],
  },
]

const registry: readonly MutatedPart[] = [
  {
    name: 'registry-corrupt-objects',
    code: ['registry/{corrupt-objects,unsafe-delete}.ts'],
    tests: ['storage/corrupt-objects'],
  },
  {
    name: 'registry-strategies',
    code: ['registry/strategies/**/*.ts', 'registry/{strategies,strategy,service-allocator}.ts'],
    tests: [
      'strategies/rbac',
      'strategies/event',
      'strategies/storage',
      'strategies/transcripts',
      'strategies/update-rules',
      'strategies/aggregation-and-flow',
      'strategies/coordination-and-policy',
      'strategies/autoscaler',
      'strategies/endpoint-slice',
      'strategies/pod-actions',
      'strategies/admission-registration',
      'strategies/certificate-signing-request',
      'strategies/custom-resource-definition',
      'strategies/networking',
      'strategies/pod',
      'strategies/service',
      'strategies/workloads',
      'strategies/core',
      'strategies/initial-objects',
      'strategies/pem',
    ],
  },
  {
    name: 'registry-verbs',
    code: ['registry/*.ts'],
    tests: [
      'dry-run',
      'object-metadata',
      'updates',
      'deletions',
      'server-side-apply',
      'managed-fields',
      'older-versions',
      'subresources',
      'collections',
    ],
  },
]

export const mutatedParts: readonly MutatedPart[] = [...authn, ...authz, ...admission, ...registry]

/** The environment variable that carries the test files to the test runner, joined by commas. */
export const testsVariable = 'MUTATE_TESTS'
