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
    name: 'authn-oidc-tokens',
    code: ['authn/oidc/{claim-mapping,issuer-keys,jwt-authenticator,verified-token}.ts'],
    tests: ['authn/claim-mapping', 'authn/verified-token', 'authn/issuer-keys'],
  },
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
    code: ['authn/service-account-*.ts'],
    tests: ['authn/service-account-token'],
  },
  {
    name: 'authn-certificates',
    code: ['authn/{client-certificate,certificate-chain}.ts'],
    tests: ['authn/client-certificate'],
  },
  {
    name: 'authn-remotes',
    code: ['authn/{request-header,static-token-file,token-webhook}.ts'],
    tests: ['authn/token-authenticators'],
  },
  {
    name: 'authn-tokens',
    code: ['authn/*.ts'],
    tests: ['authn/bearer-token', 'authn/bootstrap-token', 'authn/union'],
  },
]

const authz: readonly MutatedPart[] = [
  { name: 'authz-abac', code: ['authz/abac.ts'], tests: ['authz/abac'] },
  {
    name: 'authz-escalation',
    code: ['authz/{escalation,rule-covers}.ts'],
    tests: ['authz/escalation'],
  },
  {
    name: 'authz-rbac',
    code: ['authz/{rbac,rbac-index,rule-matching}.ts'],
    tests: ['authz/rbac', 'authz/default-policy', 'authz/escalation'],
  },
  { name: 'authz-explanations', code: ['authz/node-detail.ts'], tests: ['explain/access'] },
  {
    name: 'authz-node',
    code: ['authz/node-*.ts'],
    tests: ['authz/node-authorizer', 'authz/node-authorizer-verbs'],
  },
  {
    name: 'authz-webhook',
    code: ['authz/webhook-authorizer.ts'],
    tests: ['authz/webhook-authorizer'],
  },
  {
    name: 'authz-union',
    code: ['authz/*.ts'],
    tests: ['authz/union', 'authz/authorization-modes'],
  },
]

const admission: readonly MutatedPart[] = [
  {
    name: 'admission-pod-security',
    code: ['admission/pod-security/*.ts'],
    tests: ['admission/pod-security-checks'],
  },
  {
    name: 'admission-policies',
    code: ['admission/{policy,expressions}/*.ts'],
    tests: [
      'admission/match-conditions',
      'admission/policy-params',
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
    tests: ['admission/limit-ranger'],
  },
  {
    name: 'admission-plugins',
    code: ['admission/*.ts'],
    tests: ['admission/node-restriction', 'admission/plugins', 'admission/chain'],
  },
]

const registry: readonly MutatedPart[] = [
  {
    name: 'registry-corrupt-objects',
    code: ['registry/{corrupt-objects,unsafe-delete}.ts'],
    tests: ['storage/corrupt-objects'],
  },
  {
    name: 'registry-custom-resources',
    code: ['registry/strategies/{custom-resource-*,structural-schema}.ts'],
    tests: [
      'strategies/custom-resource-definition',
      'custom-resources/rules',
      'custom-resources/schemas',
      'custom-resources/odd',
    ],
  },
  {
    name: 'registry-evictions',
    code: ['registry/strategies/eviction.ts'],
    tests: ['strategies/pod-actions', 'evictions'],
  },
  {
    name: 'registry-pod-updates',
    code: ['registry/strategies/{spec-difference,pod/pod-update-validation}.ts'],
    tests: ['strategies/pod', 'strategies/pod-update-rules', 'pod-update-refusals'],
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
      'strategies/pod-security-rules',
      'strategies/pod-volume-rules',
      'strategies/pod-container-rules',
      'strategies/pod-update-rules',
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
