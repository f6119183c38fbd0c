/** Library: functions that expressions have beyond the language's own, each as the evaluator and as the checker knows it. */
import {
  CelScalar,
  celFunc,
  celMethod,
  listType,
  mapType,
  type CelFunc,
  type CelMap,
} from '@bufbuild/cel'
import type { CelType } from './cel-types.ts'

const { BOOL, DOUBLE, DYN, INT, STRING } = CelScalar
const LIST = listType(DYN)
const BOX = mapType(STRING, DYN)

/** How the checker sees an overload; `target` is what stands before the dot. */
export interface Overload {
  readonly name: string
  readonly target: CelType | undefined
  readonly arguments: readonly CelType[]
  readonly result: CelType
}

export interface Library {
  readonly functions: readonly CelFunc[]
  readonly overloads: readonly Overload[]
}

type RuntimeType =
  typeof BOOL | typeof DOUBLE | typeof DYN | typeof INT | typeof STRING | typeof LIST | typeof BOX

function runtimeType(type: CelType): RuntimeType {
  switch (type.kind) {
    case 'bool':
      return BOOL
    case 'double':
      return DOUBLE
    case 'int':
      return INT
    case 'string':
      return STRING
    case 'list':
      return LIST
    case 'opaque':
    case 'optional':
    case 'map':
      return BOX
    default:
      return DYN
  }
}

type Run = (...args: never[]) => unknown

export interface LibraryMaker {
  readonly library: Library
  /** A global function. Its arguments come as the evaluator has them; what it throws fails the evaluation. */
  define(
    name: string,
    signature: readonly [args: readonly CelType[], result: CelType],
    run: Run,
  ): void
  /** A function after a dot; the first argument of `run` is what stands before it. */
  method(
    name: string,
    signature: readonly [target: CelType, args: readonly CelType[], result: CelType],
    run: Run,
  ): void
  /** One more signature of a function that tells its arguments apart itself. */
  overload(overload: Overload): void
}

export function createLibrary(): LibraryMaker {
  const functions: CelFunc[] = []
  const overloads: Overload[] = []
  return {
    library: { functions, overloads },
    define(name, [args, result], run) {
      overloads.push({ name, target: undefined, arguments: args, result })
      functions.push(celFunc(name, args.map(runtimeType), runtimeType(result), run as () => never))
    },
    method(name, [target, args, result], run) {
      overloads.push({ name, target, arguments: args, result })
      functions.push(
        celMethod(name, runtimeType(target), args.map(runtimeType), runtimeType(result), function (
          this: unknown,
          ...rest: unknown[]
        ) {
          return (run as (...all: unknown[]) => unknown)(this, ...rest) as never
        } as () => never),
      )
    },
    overload(overload) {
      overloads.push(overload)
    },
  }
}

const boxKey = (type: CelType): string => `@${'name' in type ? type.name : type.kind}`

/** A value that only functions look into: a map of one key at run time, and an opaque type to the checker. */
export const box = (type: CelType, value: string): Record<string, string> => ({
  [boxKey(type)]: value,
})

/** Whether the map is a box of this type. */
export const isBoxOf = (type: CelType, value: CelMap): boolean => value.has(boxKey(type))

/** The text in a box of this type; a map that is no such box fails the evaluation. */
export function unbox(type: CelType, value: CelMap): string {
  const text = value.get(boxKey(type))
  if (typeof text !== 'string') throw new Error('no such overload')
  return text
}
