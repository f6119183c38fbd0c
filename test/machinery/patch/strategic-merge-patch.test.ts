import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { schemaOf } from '../../../components/api/schemas.ts'
import { decode } from '../../../components/machinery/schema/decode.ts'
import { deepFreeze } from '../../../components/machinery/objects/object.ts'
import { applyStrategicMergePatch } from '../../../components/machinery/patch/strategic-merge-patch.ts'

interface Case {
  title: string
  schema: string
  object: unknown
  patch: unknown
  result?: unknown
  error?: string
}

const cases = JSON.parse(
  readFileSync(new URL('../../cases/patch/strategic-merge.json', import.meta.url), 'utf8'),
) as Case[]

const podSchema = schemaOf('core/v1.Pod')

/** Upstream leaves some directives and nulls in new elements; decoding drops them. */
function withoutLeftovers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutLeftovers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, child]) => !key.startsWith('$') && child !== null)
      .map(([key, child]) => [key, withoutLeftovers(child)]),
  )
}

describe('upstream agrees', () => {
  test.each(cases)('$title', ({ schema, object, patch, result, error }) => {
    const run = () =>
      applyStrategicMergePatch(deepFreeze(object), deepFreeze(patch), schemaOf(schema))
    if (error === undefined) expect(run()).toEqual(withoutLeftovers(result))
    else expect(run).toThrow(error)
  })
})

test('an error of the patch has the code that upstream answers with', () => {
  const object = { spec: { containers: [{ name: 'a' }] } }
  const run = (patch: unknown) => () => applyStrategicMergePatch(object, patch, podSchema)
  expect(run([])).toThrow(expect.objectContaining({ code: 400, message: 'invalid JSON document' }))
  expect(run({ spec: { $retainKeys: 1 } })).toThrow(expect.objectContaining({ code: 400 }))
  expect(run({ spec: { containers: [{}] } })).toThrow(expect.objectContaining({ code: 500 }))
})

test('keys named like prototype members are only data', () => {
  const patch = JSON.parse(
    '{"metadata":{"labels":{"__proto__":{"polluted":1}}},"__proto__":{"polluted":1}}',
  ) as unknown
  const result = applyStrategicMergePatch({ metadata: { labels: { a: 'b' } } }, patch, podSchema)
  expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'))
const containers = names.chain((list) =>
  fc.tuple(...list.map((name) => fc.record({ name: fc.constant(name), image: fc.string() }))),
)
const pods = fc.record({
  metadata: fc.record({ finalizers: names, labels: fc.dictionary(fc.string(), fc.string()) }),
  spec: fc.record({ containers }),
})

test('a pod patched with itself is itself', () => {
  fc.assert(
    fc.property(pods, (pod) => {
      expect(applyStrategicMergePatch(pod, pod, podSchema)).toEqual(pod)
    }),
  )
})

test('every element of a patch is in the result, once, and elements of others stay', () => {
  fc.assert(
    fc.property(pods, pods, (object, patch) => {
      const result = applyStrategicMergePatch(object, patch, podSchema)
      const { spec } = decode(result, podSchema).object
      const merged = ((spec.containers ?? []) as { name: string; image?: string }[]).map(
        ({ name }) => name,
      )
      const sent: string[] = patch.spec.containers.map(({ name }) => name)
      const all = new Set([...object.spec.containers.map(({ name }) => name), ...sent])
      expect(merged.toSorted()).toEqual([...all].toSorted())
      expect(merged.filter((name) => sent.includes(name))).toEqual(sent)
    }),
  )
})

test('the work of a patch grows with its lists, not with their product', () => {
  const count = 60_000
  const env = Array.from({ length: count }, (_, index) => ({ name: `v${index}`, value: 'x' }))
  const half = env.slice(0, count / 2).map(({ name }) => ({ name, $patch: 'delete' }))
  const added = env.map(({ value }, index) => ({ name: `w${index}`, value }))
  const pod = { spec: { containers: [{ name: 'a', env }] } }
  const patch = { spec: { containers: [{ name: 'a', env: [...half, ...env, ...added] }] } }
  const result = applyStrategicMergePatch(pod, patch, podSchema) as unknown as typeof pod
  expect(result.spec.containers[0]?.env).toHaveLength(2 * count)
})
