import { expect, it } from 'vitest'
import { inTurns } from '../../../components/component-base/next-turn.ts'
import { AccessChecks } from '../../../components/api-server/admission/expressions/access-checks.ts'
import { admissionVariables } from '../../../components/api-server/expressions/admission-variables.ts'
import { compileCel } from '../../../components/cel/cel.ts'
import type { Authorizer, Decision } from '../../../components/api-server/authz/authorizer.ts'
import type { AuthorizationAttributes } from '../../../components/api-server/request/request.ts'

const subject = {
  user: { name: 'jane', groups: ['g'] },
  group: 'apps',
  resource: 'deployments',
  subresource: '',
  namespace: 'a',
  name: 'web',
}

async function run(
  expression: string,
  answer: (asked: AuthorizationAttributes) => Decision | Promise<Decision>,
) {
  const asked: AuthorizationAttributes[] = []
  const authorizer: Authorizer = {
    name: 'test',
    authorize(attributes) {
      asked.push(attributes)
      return answer(attributes)
    },
  }
  const checks = new AccessChecks(authorizer, subject)
  const variables = admissionVariables({ params: false, authorizer: true })
  const program = compileCel(expression, { variables })
  const values = { ...(await checks.values()), object: 0 }
  const result = await inTurns(program.evaluateAsking(values, checks.answer))
  return { result, asked }
}

const allow: Decision = { decision: 'allow', reason: 'because' }
const pass: Decision = { decision: 'no-opinion', reason: 'nothing' }

it('an authorizer that has to wait is waited for, and asked each thing once', async () => {
  const { result, asked } = await run(
    'authorizer.requestResource.check("get").allowed() && authorizer.requestResource.check("list").allowed() ? authorizer.requestResource.check("get").reason() : "denied"',
    async () => {
      await Promise.resolve()
      return allow
    },
  ).catch((error: unknown) => ({ result: (error as Error).message, asked: [] }))
  // Three checks are one too many, even of what is known.
  expect([result, asked.length]).toEqual(['operation cancelled: actual cost limit exceeded', 0])
  const two = await run(
    'authorizer.requestResource.check("get").allowed() && authorizer.requestResource.check("list").allowed()',
    async ({ verb }) => {
      await Promise.resolve()
      return verb === 'get' ? allow : pass
    },
  )
  expect(two.result).toBe(false)
  expect(two.asked.map(({ verb }) => verb)).toEqual(['get', 'list'])
})

it('what is asked is the request’s own resource by default, of any version', async () => {
  const { asked } = await run('authorizer.requestResource.check("patch").allowed()', () => allow)
  expect(asked).toEqual([
    {
      user: subject.user,
      verb: 'patch',
      path: '',
      isResourceRequest: true,
      group: 'apps',
      version: '*',
      resource: 'deployments',
      subresource: '',
      namespace: 'a',
      name: 'web',
    },
  ])
})

it('an authorizer that fails is an error of the decision, not of the expression', async () => {
  const expression =
    'authorizer.path("/x").check("get").errored() ? authorizer.path("/x").check("get").error() : "fine"'
  const rejected = await run(expression, () => Promise.reject(new Error('it is down')))
  expect(rejected.result).toBe('it is down')
  const thrown = await run(expression, () => {
    throw new Error('it broke')
  })
  expect(thrown.result).toBe('it broke')
  const partial = await run(expression, () => ({ ...pass, evaluationError: 'no such role' }))
  expect(partial.result).toBe('no such role')
  expect(partial.asked).toMatchObject([{ isResourceRequest: false, path: '/x', verb: 'get' }])
})

it('selectors that do not parse are left out, so that nothing is widened or hidden', async () => {
  const { asked } = await run(
    'authorizer.group("").resource("pods").labelSelector("a in (b").fieldSelector("spec.nodeName=n").check("list").allowed()',
    () => allow,
  )
  expect(asked[0]?.fieldSelector).toMatchObject([{ key: 'spec.nodeName' }])
  expect(asked[0]?.labelSelector ?? []).toEqual([])
})

it('an expression goes on where it waited: what decides before a check asks nothing', async () => {
  const later = async () => {
    await Promise.resolve()
    return allow
  }
  const pods = 'authorizer.group("").resource("pods")'
  const cases: readonly (readonly [expression: string, result: unknown, verbs: string])[] = [
    [`false && ${pods}.check("get").allowed()`, false, ''],
    [`${pods}.check("get").allowed() || ${pods}.check("list").allowed()`, true, 'get'],
    [`1 / int(object) > 0 || ${pods}.check("get").allowed()`, true, 'get'],
    [`${pods}.check("get").allowed() ? "yes" : ${pods}.check("list").reason()`, 'yes', 'get'],
    [`["get", "list"].all(verb, ${pods}.check(verb).allowed())`, true, 'get list'],
    [`["get", "list", "watch"].exists(verb, ${pods}.check(verb).allowed())`, true, 'get'],
    [`["get", "list"].map(verb, ${pods}.check(verb).reason())`, ['because', 'because'], 'get list'],
    [`{"a": [${pods}.check("get")]}.a[0].allowed()`, true, 'get'],
    [`size(${pods}.check("get").reason()) + 1`, 8, 'get'],
    [`[authorizer].all(one, one.path("/x").check("get").allowed() == true)`, true, 'get'],
  ]
  for (const [expression, result, verbs] of cases) {
    const ran = await run(expression, later)
    expect([expression, ran.result]).toEqual([expression, result])
    expect(ran.asked.map(({ verb }) => verb).join(' ')).toBe(verbs)
  }
})

it('a fault of what is asked fails the expression, and nothing is asked', async () => {
  const asked = run('authorizer.path("").check("get").allowed()', () => allow)
  await expect(asked).rejects.toThrow('path must not be empty')
  const many = run(
    '["a", "b", "c"].exists(verb, !authorizer.path("/x").check(verb).allowed()) || true',
    () => allow,
  )
  await expect(many).rejects.toThrow('operation cancelled: actual cost limit exceeded')
})
