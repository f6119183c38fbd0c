/** What calls of functions can cost, and how large their results can be, by the sizes of what they are given. */
import type { Estimated } from './cel-estimate.ts'
import {
  atLeastUnknown,
  byFactor,
  fixed,
  nothing,
  plus,
  times,
  union,
  type Range,
} from './cel-estimate-ranges.ts'
import type { CelType } from './cel-types.ts'

interface Call {
  readonly target: Estimated | undefined
  readonly args: readonly Estimated[]
  readonly type: CelType
}

/** The cost of the function itself. */
interface OwnCost {
  readonly cost: Range
  readonly size?: Range | undefined
  readonly itemSize?: Range | undefined
}

/** Looking at one character (upstream: StringTraversalCostFactor). */
const perCharacter = 0.1
/** What a character of a regular expression multiplies by (upstream: RegexStringLengthCostFactor). */
const perPatternCharacter = 0.25

const one = fixed(1)
const authorization = fixed(350_000)
const sizeOf = (part: Estimated | undefined): Range => part?.size ?? atLeastUnknown
const isText = ({ kind }: CelType): boolean => kind === 'string' || kind === 'bytes'

function traversed(part: Estimated | undefined, factor = perCharacter): OwnCost {
  return { cost: byFactor(sizeOf(part), factor) }
}

function searched(text: Estimated | undefined, pattern: Estimated | undefined): Range {
  const strings = byFactor(plus(sizeOf(text), one), perCharacter)
  return times(strings, byFactor(sizeOf(pattern), perPatternCharacter))
}

/** Each item is looked at, and of texts each character. */
function compared(list: Estimated | undefined): OwnCost {
  const element = list?.type.kind === 'list' ? list.type.element : undefined
  if (element === undefined) return traversed(list)
  if (!isText(element)) return { cost: sizeOf(list) }
  const { items } = list?.sized ?? {}
  const size =
    items === undefined ? (list?.itemSize ?? atLeastUnknown) : { min: 0, max: items.most }
  return { cost: times(sizeOf(list), plus(one, byFactor(size, perCharacter))) }
}

function joined(list: Estimated | undefined, separator: Estimated | undefined): OwnCost {
  const count = sizeOf(list)
  const { items } = list?.sized ?? {}
  const itemSize =
    items === undefined ? (list?.itemSize ?? atLeastUnknown) : { min: 0, max: items.most }
  let size = times(count, itemSize)
  if (separator !== undefined) {
    const between = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) }
    size = plus(size, times(sizeOf(separator), between))
  }
  return { cost: byFactor(size, perCharacter), size }
}

function replaced(text: Range, from: Range, to: Range): Range {
  const longest =
    from.min === 0
      ? (text.max + 1) * to.max + text.max
      : to.max <= from.min
        ? text.max
        : Math.ceil(text.max / from.min) * to.max
  return { min: 0, max: Math.min(longest, atLeastUnknown.max) }
}

function added([left, right]: readonly Estimated[]): OwnCost {
  const size = plus(sizeOf(left), sizeOf(right))
  const kinds = [left?.type.kind, right?.type.kind]
  const itemSize =
    left?.itemSize && right?.itemSize ? union(left.itemSize, right.itemSize) : undefined
  if (kinds.includes('string') || kinds.includes('bytes')) {
    return { cost: byFactor(size, perCharacter), size }
  }
  if (kinds.includes('list')) return { cost: one, size, itemSize }
  if (kinds.includes('dyn'))
    return { cost: { min: 1, max: byFactor(size, perCharacter).max }, size }
  return { cost: one }
}

function ordered([left, right]: readonly Estimated[], isAny: boolean): OwnCost {
  const kinds = [left, right].map((part) => part?.type ?? ({ kind: 'dyn' } as const))
  if (!isAny && !kinds.some((type) => isText(type) || type.kind === 'dyn')) return { cost: one }
  const most = Math.min(sizeOf(left).max, sizeOf(right).max)
  const cost = byFactor({ min: most > 0 ? 1 : 0, max: most }, perCharacter)
  return { cost: isAny || kinds.every(isText) ? cost : union(cost, one) }
}

const oneStep: ReadonlySet<string> = new Set([
  'masked',
  'prefixLength',
  'family',
  'isUnspecified',
  'isLoopback',
  'isLinkLocalMulticast',
  'isLinkLocalUnicast',
  'isGlobalUnicast',
])

/** The bytes of addresses. */
const addressSize: Range = { min: 4, max: 16 }

function contained(args: readonly Estimated[], isRange: boolean): OwnCost {
  const base = byFactor(plus(addressSize, addressSize), perCharacter)
  const more = isRange ? plus(byFactor(addressSize, perCharacter), one) : nothing
  const text = args[0]?.type.kind === 'string' ? byFactor(sizeOf(args[0]), perCharacter) : nothing
  return { cost: plus(plus(base, more), text) }
}

/** What functions cost that users call by name; undefined for those that cost one step. */
function namedCost(name: string, { target, args }: Call): OwnCost | undefined {
  const [first, second] = args
  switch (name) {
    case 'check':
      return { cost: authorization }
    case 'isSorted':
    case 'sum':
    case 'max':
    case 'min':
    case 'indexOf':
    case 'lastIndexOf':
      return compared(target)
    case 'url':
      return traversed(first)
    case 'lowerAscii':
    case 'upperAscii':
    case 'substring':
    case 'trim':
      return { ...traversed(target), size: target?.size }
    case 'replace':
      return {
        ...traversed(target, 2 * perCharacter),
        size: replaced(sizeOf(target), sizeOf(first), sizeOf(second)),
      }
    case 'split':
      return {
        ...traversed(target, 2 * perCharacter),
        size: {
          min: 0,
          max: typeof second?.literal === 'bigint' ? Number(second.literal) : sizeOf(target).max,
        },
      }
    case 'join':
      return joined(target, first)
    case 'find':
    case 'findAll':
      return { cost: searched(target, first), size: { min: 0, max: sizeOf(target).max } }
    case 'matches':
      return { cost: searched(target ?? first, target === undefined ? second : first) }
    case 'contains': {
      if (target === undefined || !isText(target.type)) return undefined
      const cost = times(
        byFactor(sizeOf(target), perCharacter),
        byFactor(sizeOf(first), perCharacter),
      )
      return { cost }
    }
    case 'startsWith':
    case 'endsWith':
      return traversed(first)
    case 'format':
      return traversed(target)
    case 'containsIP':
      return contained(args, false)
    case 'containsCIDR':
      return contained(args, true)
    default:
      return oneStep.has(name) ? { cost: one } : undefined
  }
}

/** Of conversions between texts and bytes. */
function converted(name: string, [from]: readonly Estimated[]): OwnCost | undefined {
  if (name === 'bytes' && from?.type.kind === 'string') {
    return { ...traversed(from), size: { min: sizeOf(from).min, max: sizeOf(from).max * 4 } }
  }
  if (name === 'string' && from?.type.kind === 'bytes') {
    return { ...traversed(from), size: { min: sizeOf(from).min / 4, max: sizeOf(from).max } }
  }
  return undefined
}

/** What an index leads to, by the schema or by what the expression writes down. */
function indexed(container: Estimated | undefined): Partial<Estimated> {
  const sized = container?.sized?.items
  const size = sized === undefined ? container?.itemSize : { min: 0, max: sized.most }
  return { sized, ...(size !== undefined && { size }) }
}

const scalars: ReadonlySet<string> = new Set([
  'bool',
  'double',
  'duration',
  'int',
  'timestamp',
  'uint',
])

/** The whole call, with what it is given. */
export function estimateCall(name: string, call: Call): Partial<Estimated> {
  const { target, args, type } = call
  const given = args.reduce((sum, arg) => plus(sum, arg.cost), target?.cost ?? nothing)
  const [first, second, third] = args
  const bySize = scalars.has(type.kind) ? one : undefined
  const result = (own: OwnCost): Partial<Estimated> => ({
    cost: plus(own.cost, given),
    size: own.size ?? bySize,
    itemSize: own.itemSize,
  })
  switch (name) {
    case '_&&_':
    case '_||_':
      return { cost: { min: first?.cost.min ?? 0, max: given.max }, size: one }
    case '_?_:_': {
      const either = union(second?.cost ?? nothing, third?.cost ?? nothing)
      const size = union(sizeOf(second), sizeOf(third))
      return { cost: plus(first?.cost ?? nothing, either), size }
    }
    case '_[_]':
      return { cost: plus(one, given), size: bySize, ...indexed(first) }
    case '_+_':
      return result(added(args))
    case '_==_':
    case '_!=_':
      return result(ordered(args, true))
    case '_<_':
    case '_<=_':
    case '_>_':
    case '_>=_':
      return result(ordered(args, false))
    case '@in':
      return result({ cost: second?.type.kind === 'map' ? one : sizeOf(second) })
    case 'dyn':
      return { ...first, cost: plus(one, given), type }
    default:
      return result(converted(name, args) ?? namedCost(name, call) ?? { cost: one })
  }
}
