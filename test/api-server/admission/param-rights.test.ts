/** The author of an admission policy or binding needs the right to read the parameters that it names. */
import { describe, expect, it } from 'vitest'
import type { AuthorizationAttributes } from '../../../components/api-server/request/request.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeReader } from '../../support/fake-reader.ts'
import { admissionWorld } from './world.ts'

const resources = resourcesOf(dialects.kubernetes)
const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
const jane = '&{jane  [devs] map[]}'

function world(isAllowed: boolean) {
  const asked: string[] = []
  const reader = new FakeReader()
  const authorizer = {
    name: 'x',
    authorize: ({ verb, group, version, resource, namespace, name }: AuthorizationAttributes) => {
      asked.push([verb, `${group}/${version}`, resource, namespace, name].join(' '))
      return { decision: isAllowed ? ('allow' as const) : ('deny' as const), reason: '' }
    },
  }
  const { outcome } = admissionWorld([], { reader, authorizer })
  return { reader, asked, outcome }
}

describe.each([
  ['mutating', resources.mutatingAdmissionPolicies, resources.mutatingAdmissionPolicyBindings],
  [
    'validating',
    resources.validatingAdmissionPolicies,
    resources.validatingAdmissionPolicyBindings,
  ],
])('%s admission policies', (_, policies, bindings) => {
  const written = (resource: typeof policies, spec: object, more: object = {}) => ({
    resource,
    object: { metadata: { name: 'p' }, spec },
    user: { name: 'jane', groups: ['devs'] },
    ...more,
  })

  it('need the right to get all objects of their parameters', async () => {
    for (const [kind, question] of [
      [paramKind, 'get /v1 configmaps * *'],
      [{ apiVersion: 'apps/v1', kind: 'Deployment' }, 'get apps/v1 deployments * *'],
      [{ apiVersion: 'x.example.com/v1', kind: 'Rule' }, 'get x.example.com/v1 * * *'],
    ] as const) {
      const { asked, outcome } = world(false)
      const { kind: name, apiVersion } = kind
      expect(await outcome(written(policies, { paramKind: kind }))).toContain(
        `422 ${policies.kind}.admissionregistration.k8s.io "p" is invalid: spec.paramKind: Forbidden: user ${jane} must have "get" permission on all objects of the referenced paramKind (kind=${name}, apiVersion=${apiVersion})`,
      )
      expect(asked).toEqual([question])
    }
    expect(await world(true).outcome(written(policies, { paramKind }))).toBe('admitted')
  })

  it('with bindings need the right to get or list what those refer to', async () => {
    for (const [paramRef, question] of [
      [{ name: 'a', namespace: 'n' }, 'get /v1 configmaps n a'],
      [{ selector: {} }, 'list /v1 configmaps  '],
    ] as const) {
      const { reader, asked, outcome } = world(false)
      reader.put(policies, { metadata: { name: 'p' }, spec: { paramKind } })
      expect(await outcome(written(bindings, { policyName: 'p', paramRef }))).toMatch(
        /^422 .* spec\.paramRef: Forbidden: user (get|list) does not have "&\{jane {2}\[devs\] map\[\]\}" permission on the object referenced by paramRef$/,
      )
      expect(asked).toEqual([question])
    }
    const { asked, outcome } = world(false)
    await outcome(written(bindings, { policyName: 'unknown', paramRef: { name: 'a' } }))
    expect(asked).toEqual(['get */* *  a'])
  })

  it('are not asked about what stays, or has no parameters, or of an administrator', async () => {
    const { asked, outcome } = world(false)
    const old = (spec: object) => ({ old: { metadata: { name: 'p' }, spec }, operation: 'UPDATE' })
    const paramRef = { name: 'a', selector: { matchLabels: { a: 'b' } } }
    const bound = { policyName: 'p', paramRef }
    for (const request of [
      written(policies, {}),
      written(policies, { paramKind }, old({ paramKind })),
      written(policies, { paramKind }, { user: { name: 'root', groups: ['system:masters'] } }),
      written(bindings, { policyName: 'p' }),
      written(bindings, bound, old(structuredClone(bound))),
      written(resources.configMaps, { paramKind }),
    ]) {
      expect(await outcome(request)).toBe('admitted')
    }
    expect(asked).toEqual([])
    const other = { ...bound, policyName: 'q' }
    expect(await outcome(written(bindings, other, old(bound)))).toMatch(/^422 /)
    expect(
      await outcome(
        written(policies, { paramKind }, old({ paramKind: { ...paramKind, kind: 'Secret' } })),
      ),
    ).toMatch(/^422 /)
  })
})
