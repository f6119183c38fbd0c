/** Whatever a decoder lets through, a strategy answers with a list of faults, never with an exception of its own. */
import { describe, expect, test } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { schemaOf } from '../../../components/api/schemas.ts'
import type { ScalarSchema, Schema } from '../../../components/machinery/schema/schema.ts'
import { isStatusError } from '../../../components/machinery/objects/status-error.ts'
import { loadedStrategyRuns } from '../../support/strategy-runs.ts'

const rounds = 90
const deepest = 9

/** A small generator of repeatable numbers in [0, 1). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

const texts = ['', 'a', 'A b', '-1', '50%', 'None', '10.0.0.1', 'a/b/c', '*', 'x'.repeat(300)]

type Random = () => number

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T
}

function scalar(schema: ScalarSchema, random: Random): unknown {
  const known = schema.values?.known ?? []
  switch (schema.kind) {
    case 'string':
      return known.length > 0 && random() < 0.7 ? pick(random, known) : pick(random, texts)
    case 'bool':
      return random() < 0.5
    case 'int32':
    case 'int64':
      return pick(random, [-1, 0, 1, 80, 70_000])
    case 'double':
      return pick(random, [-0.5, 0, 1])
    case 'IntOrString':
      return pick(random, [-1, 0, 3, '10%', 'http', ''])
    case 'Quantity':
      return pick(random, ['0', '-1', '1', '500m', '1Gi'])
    case 'Time':
      return pick(random, ['2026-01-01T00:00:00Z', null])
    case 'MicroTime':
      return pick(random, ['2026-01-01T00:00:00.000000Z', null])
    case 'bytes':
      return pick(random, ['', 'AAAA'])
    case 'RawExtension':
    case 'FieldsV1':
      return {}
    default:
      return pick(random, [{}, 1, 'x'])
  }
}

/** A value of the schema in which each field is there with the given chance. */
function valueOf(schema: Schema, random: Random, chance: number, depth = 0): unknown {
  if (schema.kind === 'list') {
    const length = depth > deepest ? 0 : Math.floor(random() * 3)
    return Array.from({ length }, () => valueOf(schema.items, random, chance, depth + 1))
  }
  if (schema.kind === 'map') {
    return random() < 0.5
      ? {}
      : { [pick(random, texts)]: valueOf(schema.values, random, chance, depth + 1) }
  }
  if (schema.kind !== 'struct') return scalar(schema, random)
  const value: Record<string, unknown> = {}
  if (depth > deepest || schema.union !== undefined) return value
  for (const [name, field] of schema.fields) {
    const isMeta = depth === 0 && ['kind', 'apiVersion', 'metadata'].includes(name)
    if (isMeta || random() > chance) continue
    value[name] = valueOf(field.schema, random, chance, depth + 1)
  }
  return value
}

const all = resourcesOf(dialects.kubernetes)
const names = Object.keys(all).filter(
  (name) => name !== 'all' && name !== 'groups' && !all[name as 'pods'].virtual,
) as Exclude<keyof typeof all, 'all' | 'groups'>[]

/** The faults, or nothing when the object cannot be decoded or was refused at once. */
function faultsOf(run: () => string[]): string[] {
  try {
    return run()
  } catch (error) {
    if (isStatusError(error)) return []
    if (error instanceof Error && error.message.startsWith('not decodable')) return []
    throw error
  }
}

describe('odd objects are answered with faults', () => {
  test.each(names)('%s', async (name) => {
    const resource = all[name]
    const runs = await loadedStrategyRuns(name)
    const schema = schemaOf(`${resource.package}.${resource.kind}`)
    const random = randomFrom(name.length)
    let checked = 0
    for (let round = 0; round < rounds; round += 1) {
      const chance = [0.15, 0.5, 0.9][round % 3] ?? 1
      const [object, other] = [0, 1].map(() => valueOf(schema, random, chance) as object)
      const faults = faultsOf(() => runs.createFaults(object))
      for (const fault of faults) expect(fault).toMatch(/^[^\s].*: \S/s)
      faultsOf(() => runs.warnings(object))
      faultsOf(() => {
        const old = runs.created(object)
        checked += 1
        const subresources = ['', ...resource.subresources.map((part) => part.name)]
        return subresources.flatMap((part) => runs.updateFaults(old, other, part))
      })
    }
    expect(checked).toBeGreaterThan(rounds / 4)
  })
})
