/** The functions of optional values (upstream: cel-go's OptionalTypes). At run time an optional is a map of one key. */
import { isCelList, isCelMap, isCelUint, type CelList, type CelMap } from '@bufbuild/cel'
import { typeKey } from './cel-construct-types.ts'
import { createLibrary, type Library } from './cel-library.ts'
import {
  optionalEntries,
  optionalIndex,
  optionalItems,
  optionalSelect,
} from './cel-optional-types.ts'
import { bool, dyn, listOf, optionalOf, string } from './cel-types.ts'

const valueKey = '@optional_type'
const noneKey = '@optional_type.none'
const optional = optionalOf(dyn)
type Optional = ReadonlyMap<string, unknown>

const none: Optional = new Map([[noneKey, true]])

/** An optional that has this value. */
export const optionalWith = (value: unknown): Optional => new Map([[valueKey, value]])

/** An optional without a value. */
export const optionalNone = none

function isOptional(value: unknown): value is CelMap {
  return isCelMap(value) && value.size === 1 && (value.has(valueKey) || value.has(noneKey))
}

/** The value of an optional, undefined where it has none; fails for what is no optional. */
function held(value: unknown): unknown {
  if (!isOptional(value)) throw new Error('no such overload')
  return value.get(valueKey)
}

/** What an optional holds, undefined where it holds nothing; any other value as it is. */
export function withoutOptional(value: unknown): unknown {
  return isOptional(value) ? value.get(valueKey) : value
}

/** What is at a key of a map or a place of a list, and in nothing else. */
function at(container: unknown, key: unknown): unknown {
  if (isCelMap(container)) return container.get(key as string)
  if (isCelList(container)) {
    const index = isCelUint(key) ? key.value : key
    return typeof index === 'bigint' && index >= 0n ? container.get(Number(index)) : undefined
  }
  return undefined
}

function looked(container: unknown, key: unknown): Optional {
  const inner = isOptional(container) ? held(container) : container
  const found = inner === undefined ? undefined : at(inner, key)
  return found === undefined ? none : optionalWith(found)
}

function isZero(value: unknown): boolean {
  if (isCelMap(value)) return value.size === (value.has(typeKey) ? 1 : 0)
  if (isCelList(value)) return value.size === 0
  if (isCelUint(value)) return value.value === 0n
  if (value instanceof Uint8Array) return value.length === 0
  return [false, 0, 0n, '', null].includes(value as string)
}

const { define, method, library } = createLibrary()

define('optional.none', [[], optional], () => none)
define('optional.of', [[dyn], optional], optionalWith)
define('optional.ofNonZeroValue', [[dyn], optional], (value: unknown) =>
  isZero(value) ? none : optionalWith(value))
method('hasValue', [optional, [], bool], (value: CelMap) => held(value) !== undefined)
method('value', [optional, [], dyn], (value: CelMap) => {
  const inner = held(value)
  if (inner === undefined) throw new Error('optional.none() dereference')
  return inner
})
// Those of what the checker knows to be optional are written out; these are for values that are known at run time.
method('or', [optional, [optional], optional], (value: CelMap, other: CelMap) =>
  held(value) === undefined ? other : value,
)
method('orValue', [optional, [dyn], dyn], (value: CelMap, other: unknown) => held(value) ?? other)

define(optionalSelect, [[dyn, string], optional], looked)
define(optionalIndex, [[dyn, dyn], optional], looked)

/** Which of the values are there: all that are not optional, and of those that are, what they hold. */
function present(values: CelList, marked: CelList): unknown[] {
  const optionals = new Set([...marked].map(Number))
  return [...values].map((value, i) => (optionals.has(i) ? held(value) : value))
}

define(
  optionalItems,
  [[listOf(dyn), listOf(dyn)], listOf(dyn)],
  (items: CelList, marked: CelList) =>
    present(items, marked).filter((value) => value !== undefined),
)
define(
  optionalEntries,
  [[listOf(dyn), listOf(dyn), listOf(dyn)], dyn],
  (keys: CelList, values: CelList, marked: CelList) => {
    const names = [...keys]
    const entries = new Map<unknown, unknown>()
    for (const [i, value] of present(values, marked).entries()) {
      if (value === undefined) continue
      if (entries.has(names[i])) throw new Error('map key conflict')
      entries.set(names[i], value)
    }
    return entries
  },
)

/** These functions. The checker knows the types of those that are generic by itself. */
export const optionalLibrary: Library = { functions: library.functions, overloads: [] }
