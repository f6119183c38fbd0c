/** Decisions over random roles and bindings, written and taken away in any order, against a model that looks at all of them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { uncoveredRules } from '../../components/api-server/authz/rule-covers.ts'
import { apiGroup, dialects } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { authorizationOf } from '../support/authorization.ts'
import { FakeReader } from '../support/fake-reader.ts'
import {
  modelAllows,
  modelRules,
  ruleAllows,
  type ModelBinding,
  type ModelPolicy,
  type ModelRole,
} from './authorization/rbac-model.ts'
import { everyRequest, namespaces, request, rule, subject } from './authorization/requests.ts'
import { parametersOf } from './replay.ts'

const dialect = dialects.kubernetes
const group = apiGroup(dialect, 'rbac.authorization')
const resources = resourcesOf(dialect)
const byKind = {
  Role: resources.roles,
  ClusterRole: resources.clusterRoles,
  RoleBinding: resources.roleBindings,
  ClusterRoleBinding: resources.clusterRoleBindings,
}

const name = fc.constantFrom('r', 's')
const namespace = fc.constantFrom(...namespaces)
const rules = fc.array(rule, { minLength: 1, maxLength: 4 })
const subjects = fc.array(subject, { minLength: 1, maxLength: 3 })
const refTo = (kind: string) =>
  name.map((to) => ({ apiGroup: group, kind, name: to }) satisfies ModelBinding['roleRef'])

const role: fc.Arbitrary<ModelRole> = fc.oneof(
  fc.record({ kind: fc.constant('Role' as const), namespace, name, rules }),
  fc.record({ kind: fc.constant('ClusterRole' as const), namespace: fc.constant(''), name, rules }),
)
const binding: fc.Arbitrary<ModelBinding> = fc.oneof(
  fc.record({
    kind: fc.constant('RoleBinding' as const),
    namespace,
    name,
    roleRef: fc.oneof(refTo('Role'), refTo('ClusterRole')),
    subjects,
  }),
  fc.record({
    kind: fc.constant('ClusterRoleBinding' as const),
    namespace: fc.constant(''),
    name,
    roleRef: refTo('ClusterRole'),
    subjects,
  }),
)
/** One change: what is there already goes instead when `isGone`. */
const change = fc.record({
  object: fc.oneof(role, binding),
  isGone: fc.nat(4).map((roll) => roll === 0),
})

function apply(
  { object, isGone }: { object: ModelRole | ModelBinding; isGone: boolean },
  policy: ModelPolicy,
  reader: FakeReader,
): void {
  const { kind, namespace: within, name: own, ...rest } = object
  const key = `${kind} ${within} ${own}`
  const known: Map<string, ModelRole | ModelBinding> =
    'rules' in object ? policy.roles : policy.bindings
  if (!isGone) {
    known.set(key, object)
    const metadata = { name: own, ...(within === '' ? {} : { namespace: within }) }
    reader.put(byKind[kind], { metadata, ...rest })
  } else if (known.delete(key)) reader.remove(byKind[kind], within, own)
}

describe('RBAC', () => {
  it('decides as a search through all bindings does, after any changes in any order', () => {
    let decisions = 0
    let allowed = 0
    const property = fc.property(
      fc.array(fc.tuple(change, fc.array(request, { minLength: 5, maxLength: 12 })), {
        minLength: 6,
        maxLength: 20,
      }),
      fc.nat(20),
      (steps, readFrom) => {
        const reader = new FakeReader()
        const policy: ModelPolicy = { roles: new Map(), bindings: new Map() }
        const open = () => authorizationOf(['RBAC'], { reader, dialect })
        // Some of it is there when the index is made; the rest is told to it.
        let subject_ = readFrom === 0 ? open() : undefined
        for (const [at, [one, requests]] of steps.entries()) {
          apply(one, policy, reader)
          if (at >= readFrom || at === steps.length - 1) subject_ ??= open()
          if (subject_ === undefined) continue
          for (const asked of requests) {
            const found = subject_.authorizer.authorize(asked)
            const expected = modelAllows(policy, asked)
            decisions += 1
            if (expected) allowed += 1
            if ('then' in found) throw new Error('RBAC needs nobody to decide')
            expect([found.decision, asked]).toEqual([expected ? 'allow' : 'no-opinion', asked])
          }
        }
        const [asked] = steps.at(-1)?.[1] ?? []
        if (asked === undefined) return
        const listed = subject_?.authorizer.rulesFor?.(asked.user, asked.namespace)
        const all = modelRules(policy, asked.user, asked.namespace)
        expect(new Set(listed?.resourceRules.map((one) => JSON.stringify(one.resources)))).toEqual(
          new Set(all.flatMap((one) => (one.resources ? [JSON.stringify(one.resources)] : []))),
        )
      },
    )
    fc.assert(property, parametersOf(2100))
    if (process.env['MODEL_RUNS'] !== undefined) return
    expect(decisions).toBeGreaterThan(55_000)
    // Neither answer is rare, or nothing was compared.
    expect(allowed).toBeGreaterThan(decisions / 25)
  }, 300_000)

  it('rules that are covered allow nothing that those that cover them do not', () => {
    const who = { name: 'jane', groups: [] }
    const requests = everyRequest(who)
    let covered = 0
    const property = fc.property(
      fc.array(rule, { minLength: 1, maxLength: 4 }),
      fc.array(rule, { minLength: 1, maxLength: 2 }),
      (owned, wanted) => {
        const uncovered = uncoveredRules(owned, wanted)
        const left = requests.filter(
          (asked) =>
            wanted.some((one) => ruleAllows(one, asked)) &&
            !owned.some((one) => ruleAllows(one, asked)),
        )
        if (uncovered.length === 0) covered += 1
        // What is left over is named by what was found to be missing.
        const unnamed = left.filter((asked) => !uncovered.some((one) => ruleAllows(one, asked)))
        expect(unnamed).toEqual([])
      },
    )
    fc.assert(property, parametersOf(1500))
    if (process.env['MODEL_RUNS'] === undefined) expect(covered).toBeGreaterThan(30)
  }, 300_000)
})
