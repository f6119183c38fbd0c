/** ABAC decisions over random policy files against the rules of the file format, said plainly. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { abacAuthorizer, parsePolicies } from '../../components/api-server/authz/abac.ts'
import type { AuthorizationAttributes } from '../../components/api-server/request/request.ts'
import { dialects } from '../../components/api/dialect.ts'
import { request } from './authorization/requests.ts'
import { parametersOf } from './replay.ts'

interface Spec {
  readonly user?: string
  readonly group?: string
  readonly apiGroup?: string
  readonly namespace?: string
  readonly resource?: string
  readonly nonResourcePath?: string
  readonly readonly?: boolean
}

const optional = (...values: string[]) =>
  fc.option(fc.constantFrom(...values, '*'), { nil: undefined, freq: 3 })
const spec: fc.Arbitrary<Spec> = fc
  .record({
    user: optional('jane', 'joe', 'system:serviceaccount:a:robot', ''),
    group: optional('devs', 'ops', 'system:authenticated', ''),
    apiGroup: optional('', 'apps', 'batch'),
    namespace: optional('', 'a', 'b'),
    resource: optional('pods', 'secrets', 'deployments', 'nodes'),
    nonResourcePath: optional('/healthz', '/healthz/*', '/', '/api*', ''),
    readonly: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map((one) => JSON.parse(JSON.stringify(one)) as Spec)

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
const anyRequest = fc
  .record({ asked: request, verb: fc.constantFrom(...verbs) })
  .map(({ asked, verb }) => ({ ...asked, verb }))

/** What the file format says of one line. */
function lineAllows(line: Spec, asked: AuthorizationAttributes): boolean {
  const { user = '', group = '', readonly = false } = line
  if (user === '' && group === '') return false
  if (!['', '*', asked.user.name].includes(user)) return false
  if (!['', '*', ...asked.user.groups].includes(group)) return false
  if (readonly && !['get', 'list', 'watch'].includes(asked.verb)) return false
  if (!asked.isResourceRequest) {
    const { nonResourcePath: path = '' } = line
    return path.endsWith('*') ? asked.path.startsWith(path.slice(0, -1)) : path === asked.path
  }
  const fits = (own: string | undefined, value: string): boolean =>
    own === '*' || (own ?? '') === value
  return (
    fits(line.namespace, asked.namespace) &&
    fits(line.resource, asked.resource) &&
    fits(line.apiGroup, asked.group)
  )
}

it('ABAC decides line by line as its format says', () => {
  let decisions = 0
  let allowed = 0
  const property = fc.property(
    fc.constantFrom(dialects.kubernetes, dialects.svc),
    fc.array(spec, { maxLength: 8 }),
    fc.array(anyRequest, { minLength: 10, maxLength: 40 }),
    (dialect, specs, requests) => {
      const apiVersion = `abac.authorization.${dialect.labelDomain}/v1beta1`
      const lines = specs.map((one) => JSON.stringify({ apiVersion, kind: 'Policy', spec: one }))
      const authorizer = abacAuthorizer(parsePolicies(lines.join('\n'), dialect))
      for (const asked of requests) {
        const found = authorizer.authorize(asked)
        const expected = specs.some((line) => lineAllows(line, asked))
        decisions += 1
        if (expected) allowed += 1
        expect([found, asked]).toMatchObject([
          { decision: expected ? 'allow' : 'no-opinion' },
          asked,
        ])
      }
    },
  )
  fc.assert(property, parametersOf(1500))
  if (process.env['MODEL_RUNS'] !== undefined) return
  expect(decisions).toBeGreaterThan(25_000)
  expect(allowed).toBeGreaterThan(decisions / 25)
}, 300_000)
