/** A user who may write roles and bindings, but neither `escalate` nor `bind`, writes at random: no right comes of it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { PolicyRule } from '../../components/api/generated/types.ts'
import type { AuthorizationAttributes } from '../../components/api-server/request/request.ts'
import { user, type TestApiServer } from '../support/api-server.ts'
import { describeDialects } from '../support/shared-server.ts'
import { ruleAllows } from './authorization/rbac-model.ts'
import { everyRequest, namespaces, rule } from './authorization/requests.ts'
import { parametersOf, runsIn } from './replay.ts'

const roleKinds = ['roles', 'clusterroles'] as const
const bindingKinds = ['rolebindings', 'clusterrolebindings'] as const
const kindOf = {
  roles: 'Role',
  clusterroles: 'ClusterRole',
  rolebindings: 'RoleBinding',
  clusterrolebindings: 'ClusterRoleBinding',
} as const
type Plural = keyof typeof kindOf

const names = ['r', 's', 'mine', 'boss']
const rules = fc.array(rule, { maxLength: 2 })
const namespace = fc.constantFrom(...namespaces)
const method = fc.constantFrom('POST', 'POST', 'PUT', 'MERGE', 'APPLY', 'DELETE')
/** Who gets something by a binding: mostly the writer. */
const receiver = fc.constantFrom('User', 'User', 'Group', 'other')

const roleWrite = fc.record({
  plural: fc.constantFrom(...roleKinds),
  method,
  namespace,
  name: fc.constantFrom(...names),
  /** A number: that one of the rules the writer has had. */
  rules: fc.oneof({ weight: 2, arbitrary: fc.nat(9) }, rules),
  isAggregated: fc.nat(9).map((roll) => roll === 0),
  isOwned: fc.nat(5).map((roll) => roll === 0),
})
const bindingWrite = fc.record({
  plural: fc.constantFrom(...bindingKinds),
  method,
  namespace,
  name: fc.constantFrom(...names),
  to: fc.oneof(fc.constantFrom(...names), fc.constantFrom('cluster-admin', 'edit', 'system:node')),
  isToLocal: fc.boolean(),
  receiver,
  isOwned: fc.nat(5).map((roll) => roll === 0),
})
const write = fc.oneof(roleWrite, bindingWrite)
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never

const story = fc.record({
  /** What the writer has from the start: everywhere, and in one namespace. */
  held: rules,
  heldLocally: rules,
  /** What others have, in roles the writer may name. */
  boss: fc.array(rule, { minLength: 1, maxLength: 3 }),
  writes: fc.array(write, { minLength: 6, maxLength: 16 }),
})
type Story = typeof story extends fc.Arbitrary<infer T> ? T : never

const isLocalKind = (plural: Plural): boolean => plural === 'roles' || plural === 'rolebindings'
/** Roles of a namespace have no paths. */
const local = (list: readonly PolicyRule[]): PolicyRule[] =>
  list.filter(({ nonResourceURLs }) => nonResourceURLs === undefined)

const probes = (name: string, group: string): AuthorizationAttributes[] => {
  const who = { name, groups: [] }
  const own = ['escalate', 'bind', 'create', 'update', 'deletecollection'].flatMap((verb) =>
    [...roleKinds, ...bindingKinds].flatMap((resource) =>
      ['', ...namespaces].map((within) => ({
        ...{ user: who, verb, group, resource, namespace: within, name: '' },
        ...{ version: 'v1', subresource: '', path: '', isResourceRequest: true },
      })),
    ),
  )
  return [...everyRequest(who), ...own]
}

describeDialects('writing roles and bindings without escalate and bind', (server) => {
  let serial = 0
  let accepted = 0
  let refused = 0
  const group = (): string => server().group('rbac.authorization')
  const base = (): string => `/apis/${group()}/v1`
  const pathOf = (plural: Plural, within: string): string =>
    isLocalKind(plural) ? `${base()}/namespaces/${within}/${plural}` : `${base()}/${plural}`

  /** Everything the user may do now, of what can be asked. */
  async function rightsOf(eve: ReturnType<typeof user>, name: string): Promise<Set<string>> {
    const held = new Map<string, PolicyRule[]>()
    // A namespace without bindings shows what holds everywhere.
    for (const within of [...namespaces, 'nowhere']) {
      const review = (await server().ok(
        'POST',
        `/apis/${server().group('authorization')}/v1/selfsubjectrulesreviews`,
        { as: eve, body: { spec: { namespace: within } } },
      )) as { status: { resourceRules: PolicyRule[]; nonResourceRules: PolicyRule[] } }
      const { resourceRules, nonResourceRules } = review.status
      held.set(within, [...resourceRules, ...nonResourceRules])
    }
    return new Set(
      probes(name, group())
        .filter(({ namespace: within, ...asked }) =>
          held
            .get(within === '' ? 'nowhere' : within)
            ?.some((one) => ruleAllows(one, { ...asked, namespace: within })),
        )
        .map((asked) => JSON.stringify(asked)),
    )
  }

  async function prepare({ held, heldLocally, boss }: Story, id: number): Promise<void> {
    const eve = { kind: 'User', apiGroup: group(), name: `eve-${id}` }
    const put = (plural: Plural, within: string, body: object): Promise<unknown> =>
      server().ok('POST', pathOf(plural, within), { body })
    const bound = (name: string, subject: object): object => ({
      metadata: { name },
      roleRef: { apiGroup: group(), kind: 'ClusterRole', name },
      subjects: [subject],
    })
    const writing: PolicyRule = {
      apiGroups: [group()],
      resources: [...roleKinds, ...bindingKinds],
      verbs: ['get', 'create', 'update', 'patch', 'delete'],
    }
    const mine = { metadata: { name: `mine-${id}` }, rules: [writing, ...held] }
    await put('clusterroles', '', mine)
    await put('clusterrolebindings', '', bound(`mine-${id}`, eve))
    await put('clusterroles', '', { metadata: { name: `boss-${id}` }, rules: boss })
    await put('roles', 'a', { metadata: { name: `boss-${id}` }, rules: local(boss) })
    const others = { kind: 'User', apiGroup: group(), name: 'boss' }
    await put('clusterrolebindings', '', bound(`boss-${id}`, others))
    const here = { metadata: { name: `here-${id}` }, rules: local(heldLocally) }
    await put('clusterroles', '', here)
    await put('rolebindings', 'a', bound(`here-${id}`, eve))
  }

  async function send(
    one: Write,
    told: { eve: ReturnType<typeof user>; known: PolicyRule[]; id: number },
  ): Promise<number> {
    const { eve, known, id } = told
    const name = `${one.name}-${id}`
    const isLocal = isLocalKind(one.plural)
    const rulesOf = (given: number | readonly PolicyRule[]): PolicyRule[] => {
      const list = typeof given === 'number' ? known.slice(given % (known.length + 1)) : [...given]
      return isLocal ? local(list) : list
    }
    const content =
      'rules' in one
        ? {
            rules: rulesOf(one.rules),
            ...(one.isAggregated && !isLocal
              ? { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }
              : {}),
          }
        : {
            roleRef: {
              apiGroup: group(),
              kind: one.isToLocal && isLocal ? 'Role' : 'ClusterRole',
              name: names.includes(one.to) ? `${one.to}-${id}` : one.to,
            },
            subjects: [
              {
                kind: one.receiver === 'Group' ? 'Group' : 'User',
                apiGroup: group(),
                name:
                  one.receiver === 'other'
                    ? 'other'
                    : `${one.receiver === 'User' ? 'eve' : 'eves'}-${id}`,
              },
            ],
          }
    const metadata = {
      name,
      ...(one.isOwned ? { finalizers: [], labels: { a: 'b', owned: 'yes' } } : {}),
    }
    const body = { apiVersion: `${group()}/v1`, kind: kindOf[one.plural], metadata, ...content }
    const collection = pathOf(one.plural, one.namespace)
    const patch = (type: string, path: string): Parameters<TestApiServer['request']> => [
      'PATCH',
      path,
      { as: eve, body, headers: { 'content-type': type } },
    ]
    const requests: Record<string, Parameters<TestApiServer['request']>> = {
      POST: ['POST', collection, { as: eve, body }],
      PUT: ['PUT', `${collection}/${name}`, { as: eve, body }],
      DELETE: ['DELETE', `${collection}/${name}`, { as: eve }],
      MERGE: patch('application/merge-patch+json', `${collection}/${name}`),
      APPLY: patch(
        'application/apply-patch+yaml',
        `${collection}/${name}?fieldManager=eve&force=true`,
      ),
    }
    const { status } = await server().request(...(requests[one.method] ?? ['GET', collection]))
    return status
  }

  it('never yields a right that was not there', async () => {
    for (const name of namespaces) {
      await server().ok('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
    }
    const property = fc.asyncProperty(story, async (told) => {
      serial += 1
      const id = serial
      const eve = user(`eve-${id}`, `eves-${id}`)
      await prepare(told, id)
      const before = await rightsOf(eve, `eve-${id}`)
      // Rules with stars may have given these after all.
      fc.pre(![...before].some((right) => /"verb":"(escalate|bind)"/.test(right)))
      const known = [...told.held, ...told.heldLocally]
      const log: unknown[] = []
      for (const one of told.writes) {
        const status = await send(one, { eve, known, id })
        log.push([status, one])
        if (status < 300) accepted += 1
        if (status === 403) refused += 1
        if (status >= 500) throw new Error(`answered ${status}: ${JSON.stringify(one)}`)
      }
      const gained = [...(await rightsOf(eve, `eve-${id}`))].filter((right) => !before.has(right))
      if (gained.length > 0) throw new Error(`gained ${gained[0] ?? ''} by ${JSON.stringify(log)}`)
    })
    const runs = runsIn(server().dialect, 76)
    await fc.assert(property, parametersOf(runs))
    if (process.env['MODEL_RUNS'] !== undefined) return
    expect(accepted).toBeGreaterThan(runs)
    expect(refused).toBeGreaterThan(2 * runs)
  }, 300_000)
})
