/** Audit policies: which rule decides, and what is said of a file that is wrong. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { createAuditPolicy } from '../../../components/api-server/audit/policy.ts'
import { parseAuditPolicy } from '../../../components/api-server/audit/policy-file.ts'
import { parseRequestInfo } from '../../../components/api-server/request/request-info.ts'

const parse = (rules: string, dialect = dialects.kubernetes) =>
  parseAuditPolicy(
    `apiVersion: audit.${dialect.apiDomain}/v1\nkind: Policy\nrules:\n${rules}`,
    dialect,
  )

function levelOf(rules: string, request: { user?: string; groups?: string[]; to: string }): string {
  const [method = '', url = ''] = request.to.split(' ')
  const user = { name: request.user ?? 'ann', groups: request.groups ?? [] }
  return createAuditPolicy(parse(rules))(user, parseRequestInfo(method, url)).level
}

const pods = '/api/v1/namespaces/a/pods'

test.each([
  ['- level: Metadata', 'GET /healthz', 'Metadata'],
  ['- {level: Request, users: [bob]}', `GET ${pods}`, 'None'],
  ['- {level: Request, users: [bob, ann]}', `GET ${pods}`, 'Request'],
  ['- {level: None, verbs: [watch]}\n- level: Metadata', `GET ${pods}?watch=1`, 'None'],
  ['- {level: None, verbs: [watch]}\n- level: Metadata', `GET ${pods}`, 'Metadata'],
  ['- {level: Request, namespaces: [a]}', `GET ${pods}`, 'Request'],
  ['- {level: Request, namespaces: [b]}', `GET ${pods}`, 'None'],
  ['- {level: Request, namespaces: [""]}', 'GET /api/v1/nodes', 'Request'],
  ['- {level: Request, namespaces: [""]}', `GET ${pods}`, 'None'],
  ['- {level: Request, resources: [{group: ""}]}', `GET ${pods}`, 'Request'],
  ['- {level: Request, resources: [{group: apps}]}', `GET ${pods}`, 'None'],
  ['- {level: Request, resources: [{resources: [pods]}]}', `GET ${pods}/x`, 'Request'],
  ['- {level: Request, resources: [{resources: [pods]}]}', `GET ${pods}/x/log`, 'None'],
  ['- {level: Request, resources: [{resources: [pods/log]}]}', `GET ${pods}/x/log`, 'Request'],
  ['- {level: Request, resources: [{resources: ["pods/*"]}]}', `GET ${pods}/x/log`, 'Request'],
  ['- {level: Request, resources: [{resources: ["pods/*"]}]}', `GET ${pods}/x`, 'Request'],
  ['- {level: Request, resources: [{resources: ["*/log"]}]}', `GET ${pods}/x/log`, 'Request'],
  ['- {level: Request, resources: [{resources: ["*/log"]}]}', `GET ${pods}/x/status`, 'None'],
  ['- {level: Request, resources: [{resources: ["*"]}]}', `GET ${pods}/x/log`, 'Request'],
  [
    '- {level: Request, resources: [{resources: [pods], resourceNames: [x]}]}',
    `GET ${pods}/x`,
    'Request',
  ],
  [
    '- {level: Request, resources: [{resources: [pods], resourceNames: [x]}]}',
    `GET ${pods}/y`,
    'None',
  ],
  ['- {level: Request, resources: [{resources: ["*"]}]}', 'GET /healthz', 'None'],
  ['- {level: Request, nonResourceURLs: ["/healthz*"]}', 'GET /healthz/etcd', 'Request'],
  ['- {level: Request, nonResourceURLs: [/healthz]}', 'GET /healthz/etcd', 'None'],
  ['- {level: Request, nonResourceURLs: ["*"]}', 'GET /version', 'Request'],
  ['- {level: Request, nonResourceURLs: ["*"]}', `GET ${pods}`, 'None'],
])('by %s the level of %s is %s', (rules, to, level) => {
  expect(levelOf(rules, { to })).toBe(level)
})

test('a group of the user is enough; the first rule that fits decides', () => {
  const rules = '- {level: Request, userGroups: [g, h]}\n- level: Metadata'
  expect(levelOf(rules, { groups: ['h'], to: `GET ${pods}` })).toBe('Request')
  expect(levelOf(rules, { groups: [], to: `GET ${pods}` })).toBe('Metadata')
})

test('stages that the policy or the rule omits are omitted; the rule wins over the policy for managed fields', () => {
  const policy = parseAuditPolicy(
    `apiVersion: audit.svc.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: Metadata
  omitStages: [Panic]
  omitManagedFields: false
  verbs: [get]
- level: Metadata
`.replace('svc.io', dialects.svc.apiDomain),
    dialects.svc,
  )
  const decide = createAuditPolicy(policy)
  const of = (method: string) => decide({ name: 'a', groups: [] }, parseRequestInfo(method, '/x'))
  expect([...of('GET').omitStages]).toEqual(['RequestReceived', 'Panic'])
  expect(of('GET').omitManagedFields).toBe(false)
  expect([...of('POST').omitStages]).toEqual(['RequestReceived'])
  expect(of('POST').omitManagedFields).toBe(true)
})

describe('a wrong file', () => {
  test.each([
    [
      '- level: Loud',
      'rules[0].level: Unsupported value: "Loud": supported values: "None", "Metadata", "Request", "RequestResponse"',
    ],
    ['- users: [a]', 'rules[0].level: Required value'],
    [
      '- level: None\n- {level: Request, omitStages: [Later]}',
      'rules[1].omitStages[0]: Unsupported value: "Later": supported values: "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"',
    ],
    [
      '- {level: Request, nonResourceURLs: [healthz]}',
      'rules[0].nonResourceURLs[0]: Invalid value: "healthz": non-resource URLs must start with a "/"',
    ],
    [
      '- {level: Request, nonResourceURLs: ["/a*/b"]}',
      'rules[0].nonResourceURLs[0]: Invalid value: "/a*/b": non-resource URL wildcards "*" must be the final character',
    ],
    [
      '- {level: Request, nonResourceURLs: [/a], namespaces: [b]}',
      'rules[0].nonResourceURLs: Invalid value: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      '- {level: Request, resources: [{resourceNames: [a]}]}',
      'rules[0].resources[0].resourceNames: Invalid value: using resourceNames requires at least one resource',
    ],
    [
      '- {level: Request, resources: [{group: apps/v1}]}',
      'rules[0].resources[0].group: Invalid value: "apps/v1": must not contain a version',
    ],
    ['- {level: Request, verb: [get]}', 'rules[0].verb: Forbidden: unknown field'],
    ['- {level: Request, verbs: get}', 'rules[0].verbs: Invalid value: must be a list'],
    ['- {level: Request, users: [1]}', 'rules[0].users[0]: Invalid value: must be a string'],
    ['- 5', 'rules[0]: Invalid value: must be an object; rules[0].level: Required value'],
    ['', 'rules: Required value: a policy without rules records nothing'],
  ])('%s: %s', (rules, message) => {
    expect(() => parse(rules)).toThrow(new Error(message))
  })

  test('of another kind or version, or none at all', () => {
    const { kubernetes } = dialects
    expect(() =>
      parseAuditPolicy('apiVersion: v1\nkind: Pod\nrules: [{level: None}]', kubernetes),
    ).toThrow(
      'apiVersion: Unsupported value: "v1": supported values: "audit.k8s.io/v1"; kind: Unsupported value: "Pod": supported values: "Policy"',
    )
    expect(() => parseAuditPolicy('- a', kubernetes)).toThrow('must be an object')
    expect(() => parseAuditPolicy('a: [', kubernetes)).toThrow(/\(\d+:\d+\)|line/)
  })
})
