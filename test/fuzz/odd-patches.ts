/** Patches of all types that fit nothing: pointers into nowhere, huge indexes, directives in the wrong places. */
import type { Schema } from '../../components/machinery/schema/schema.ts'
import { oddOf } from './odd-objects.ts'
import { oddJson, oddNames, oddText } from './odd-values.ts'
import type { Random } from './random.ts'

/** Pointers into an object: mostly to what is there. */
function pointer(random: Random, object: unknown): string {
  let path = ''
  let at: unknown = object
  while (typeof at === 'object' && at !== null && random.chance(0.85)) {
    const keys = Object.keys(at)
    const key = random.chance(0.85) && keys.length > 0 ? random.pick(keys) : random.pick(oddParts)
    path += `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    at = (at as Record<string, unknown>)[key]
  }
  return random.chance(0.05) ? oddText(random) : path
}

const oddParts = [...oddNames, '99999999999', '-1', '00', '1e3', '~2', ' ']

export function jsonPatch(random: Random, object: object): unknown {
  return random.many(6, () => {
    const operation: Record<string, unknown> = {
      op: random.pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'test', 'conjure', 1]),
      path: random.chance(0.02) ? oddJson(random) : pointer(random, object),
    }
    if (random.chance(0.8)) operation['value'] = oddJson(random)
    if (random.chance(0.8)) operation['from'] = pointer(random, object)
    return random.chance(0.02) ? oddJson(random) : operation
  })
}

export function mergePatch(random: Random, schema: Schema): unknown {
  return random.chance(0.1) ? oddJson(random) : sparse(random, schema, 5)
}

const directives: readonly (readonly [string, unknown])[] = [
  ['$patch', 'delete'],
  ['$patch', 'replace'],
  ['$patch', 'merge'],
  ['$patch', 'conjure'],
  ['$patch', {}],
  ['$retainKeys', ['name', 'image', 'type']],
  ['$retainKeys', 5],
  ['$setElementOrder/containers', [{ name: 'c' }, { name: 'x' }]],
  ['$setElementOrder/ports', [{ port: 80 }, 5]],
  ['$setElementOrder/finalizers', ['a', 'b']],
  ['$deleteFromPrimitiveList/finalizers', ['a', {}]],
  ['$deleteFromPrimitiveList/containers', [{}]],
]

export function strategicPatch(random: Random, schema: Schema): unknown {
  const patch = sparse(random, schema, 5)
  const times = random.int(4)
  for (let count = 0; count < times; count += 1) plant(random, patch)
  return patch
}

function plant(random: Random, value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const children = Object.values(value).filter((child) => typeof child === 'object')
  if (children.length > 0 && random.chance(0.7)) {
    plant(random, random.pick(children))
    return
  }
  const [name, content] = random.pick(directives)
  const own = structuredClone(content)
  if (Array.isArray(value)) value.push({ [name]: own })
  else (value as Record<string, unknown>)[name] = own
}

/** A few fields, some of them null. */
function sparse(random: Random, schema: Schema, depth: number): unknown {
  if (schema.kind !== 'struct' || depth <= 0) {
    return random.chance(0.15) ? null : oddOf(random, schema, depth)
  }
  const fields = [...schema.fields.values()]
  const result: Record<string, unknown> = {}
  for (const field of fields) {
    if (random.chance(Math.min(0.5, 2 / fields.length))) {
      result[field.name] = sparse(random, field.schema, depth - 1)
    }
  }
  if (random.chance(0.05)) result[random.pick(oddNames)] = oddJson(random)
  return result
}
