import { expect, it } from 'vitest'
import { AccessChecks } from '../../../components/api-server/admission/expressions/access-checks.ts'
import { admissionVariables } from '../../../components/api-server/expressions/admission-variables.ts'
import { compileCel } from '../../../components/api-server/cel/cel.ts'
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
  const values = await checks.values()
  const result = await checks.settled(() => program.evaluate(values, checks.answer))
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
