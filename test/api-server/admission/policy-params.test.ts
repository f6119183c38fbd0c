/** Parameters of policies by themselves: which objects a policy is evaluated with, and what refuses the request. */
import { describe, expect, test } from 'vitest'
import { policyParams } from '../../../components/api-server/admission/policy/policy-params.ts'
import { dialects } from '../../../components/api/dialect.ts'
import type { ParamKind, ParamRef } from '../../../components/api/generated/types.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { FakeReader } from '../../support/fake-reader.ts'

const resources = resourcesOf(dialects.kubernetes)
const { configMaps, namespaces } = resources
const reader = new FakeReader()
for (const [namespace, name, labels] of [
  ['a', 'one', { tier: 'x' }],
  ['a', 'two', { tier: 'y' }],
  ['b', 'one', { tier: 'x' }],
] as const) {
  reader.put(configMaps, { metadata: { namespace, name, labels } })
}
reader.put(namespaces, { metadata: { name: 'a' } })

const ofMaps: ParamKind = { apiVersion: 'v1', kind: 'ConfigMap' }
const ofNamespaces: ParamKind = { apiVersion: 'v1', kind: 'Namespace' }

/** `namespace/name` of what is found, or why the request is refused. */
async function found(
  paramKind: ParamKind | undefined,
  paramRef: Partial<ParamRef> | undefined,
  namespace = 'a',
): Promise<readonly string[] | string> {
  const kinds = [configMaps, namespaces, resources.leases]
  const of = { paramKind, paramRef: paramRef as ParamRef | undefined, namespace }
  return await policyParams(of, { reader, kinds }).then(
    (objects) =>
      objects.map((object) =>
        object === null
          ? 'null'
          : [object.metadata.namespace, object.metadata.name].filter(Boolean).join('/'),
      ),
    (error: unknown) => (error as Error).message,
  )
}
const denied = 'no params found for policy binding with `Deny` parameterNotFoundAction'

describe('parameters of a policy', () => {
  test('are none where the policy or the binding wants none', async () => {
    expect(await found(undefined, { name: 'one' })).toEqual(['null'])
    expect(await found(ofMaps, undefined)).toEqual(['null'])
  })

  test('are of the kind in its very group and version', async () => {
    expect(await found(ofMaps, { name: 'one' })).toEqual(['a/one'])
    for (const paramKind of [
      { apiVersion: 'v2', kind: 'ConfigMap' },
      { apiVersion: 'example.com/v1', kind: 'ConfigMap' },
      { apiVersion: 'v1', kind: 'Secret' },
      { kind: 'ConfigMap' },
      {},
    ]) {
      const { apiVersion = '', kind = '' } = paramKind as ParamKind
      expect(await found(paramKind as ParamKind, { name: 'one' })).toBe(
        `failed to find resource referenced by paramKind: '${apiVersion}, Kind=${kind}'`,
      )
    }
  })

  test('are in the namespace of the binding, or of the request', async () => {
    expect(await found(ofMaps, { name: 'one' }, 'b')).toEqual(['b/one'])
    expect(await found(ofMaps, { name: 'one', namespace: 'b' }, 'a')).toEqual(['b/one'])
    expect(await found(ofMaps, { name: 'two', parameterNotFoundAction: 'Deny' }, 'b')).toBe(denied)
    expect(await found(ofMaps, { name: 'one' }, '')).toBe(
      'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    )
    expect(await found(ofMaps, { name: 'one', namespace: 'a' }, '')).toEqual(['a/one'])
  })

  test('are in no namespace where their kind is in none', async () => {
    expect(await found(ofNamespaces, { name: 'a' }, 'b')).toEqual(['a'])
    expect(await found(ofNamespaces, { name: 'a' }, '')).toEqual(['a'])
    expect(await found(ofNamespaces, { name: 'a', namespace: 'b' })).toBe(
      'paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
    )
  })

  test('are all that a selector matches', async () => {
    const selecting = (selector?: NonNullable<ParamRef['selector']>) =>
      found(ofMaps, selector === undefined ? {} : { selector })
    expect(await selecting({ matchLabels: { tier: 'x' } })).toEqual(['a/one'])
    expect(await selecting({})).toEqual(['a/one', 'a/two'])
    expect(await selecting()).toEqual(['a/one', 'a/two'])
    expect(await selecting({ matchLabels: { tier: 'z' } })).toBe(denied)
  })

  test('that are missing refuse the request, unless the binding allows it', async () => {
    const missing = (action?: 'Allow' | 'Deny') =>
      found(ofMaps, { name: 'none', ...(action && { parameterNotFoundAction: action }) })
    expect(await missing('Deny')).toBe(denied)
    expect(await missing()).toBe(denied)
    expect(await missing('Allow')).toEqual([])
  })
})
