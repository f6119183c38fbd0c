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
      'admission/mutating-policies',
      'admission/mutating-policies-served',
      'admission/param-rights',
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
    tests: ['registry/corrupt-objects'],
  },
  {
    name: 'custom-resources',
    code: ['custom-resources/*.ts'],
    tests: [
      'custom-resources/custom-resource-definition',
      'custom-resources/rules',
      'custom-resources/schemas',
      'custom-resources/odd',
    ],
  },
  {
    name: 'kinds-evictions',
    code: ['kinds/core/eviction.ts'],
    tests: ['kinds/core/pod/pod-actions', 'registry/evictions'],
  },
  {
    name: 'kinds-pod-updates',
    code: ['kinds/core/pod/{spec-difference,pod-update-validation}.ts'],
    tests: [
      'kinds/core/pod/pod',
      'kinds/core/pod/pod-update-rules',
      'registry/pod-update-refusals',
    ],
  },
  {
    name: 'kinds',
    code: ['kinds/**/*.ts'],
    tests: [
      'kinds/rbac',
      'kinds/core/event',
      'kinds/storage',
      'kinds/transcripts',
      'kinds/update-rules',
      'kinds/aggregation-and-flow',
      'kinds/coordination-and-policy',
      'kinds/autoscaling/autoscaler',
      'kinds/discovery/endpoint-slice',
      'kinds/core/pod/pod-actions',
      'kinds/admissionregistration/admission-registration',
      'kinds/certificates/certificate-signing-request',
      'custom-resources/custom-resource-definition',
      'kinds/networking',
      'kinds/core/pod/pod',
      'kinds/core/pod/pod-security-rules',
      'kinds/core/pod/pod-volume-rules',
      'kinds/core/pod/pod-container-rules',
      'kinds/core/pod/pod-update-rules',
      'kinds/core/service',
      'kinds/workloads',
      'kinds/core/core',
      'kinds/initial-objects',
      'x509/pem',
    ],
  },
  {
    name: 'registry-verbs',
    code: ['registry/*.ts'],
    tests: [
      'handlers/dry-run',
      'registry/object-metadata',
      'handlers/updates',
      'handlers/deletions',
      'registry/server-side-apply',
      'registry/managed-fields',
      'registry/older-versions',
      'handlers/subresources',
      'handlers/collections',
    ],
  },
]

export const mutatedParts: readonly MutatedPart[] = [...authn, ...authz, ...admission, ...registry]

/** The environment variable that carries the test files to the test runner, joined by commas. */
export const testsVariable = 'MUTATE_TESTS'
