/** The state of one decode: its place in the value, and the faults so far, in the words of Go's decoder. */
import { converterFault } from './converter-fault.ts'
import type { Schema, StructSchema } from './schema.ts'

const maxUnknown = 100

/** The state of a decode; one per call. */
export interface DecodeContext {
  /** Errors of types that decode themselves (quantities, times): upstream stops at the first. */
  hard: string | undefined
  /** The first type mismatch: upstream goes on, then fails with it. */
  saved: string | undefined
  /** The first of all in the words of the converter, where it has its own. */
  unconverted: string | undefined
  /** Paths of unknown fields; undefined when the caller needs none. */
  readonly unknown: Set<string> | undefined
  /** Parts of the value may become parts of the result. */
  readonly mayReuse: boolean
  /** Field names, list indices, and map keys behind a NUL, down to the value at hand. */
  readonly path: (string | number)[]
  /** How much of `path` counts. */
  depth: number
  owner: StructSchema | undefined
}

/** Gives the canonical value; undefined for an empty list or map. */
export type Walk = (value: unknown, context: DecodeContext) => unknown

/** A JSON value's kind as Go's decoder names it. */
export function jsonKind(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

/** Notes a type mismatch as Go words it; only the first counts. */
export function mismatch(
  context: DecodeContext,
  value: unknown,
  { kind, goType }: Pick<Schema, 'kind' | 'goType'>,
  hard = false,
): void {
  const isShown = typeof value === 'number' && /^u?int/.test(goType)
  const what = isShown ? `number ${value}` : jsonKind(value)
  const fields = context.path
    .slice(0, context.depth)
    .filter((segment) => typeof segment === 'string' && !segment.startsWith('\0'))
  const where =
    context.owner === undefined
      ? 'Go value'
      : `Go struct field ${context.owner.goName}.${fields.join('.')}`
  const message = `json: cannot unmarshal ${what} into ${where} of type ${goType}`
  context.unconverted ??= hard
    ? `json: cannot unmarshal ${what} into Go value of type ${goType}`
    : converterFault(value, { kind, goType })
  if (hard) context.hard ??= message
  else context.saved ??= message
}

/** Notes an unknown field of the object at hand. */
export function reportUnknown(context: DecodeContext, key: string): void {
  if (context.unknown === undefined || context.unknown.size >= maxUnknown) return
  let path = ''
  for (const segment of [...context.path.slice(0, context.depth - 1), key]) {
    if (typeof segment === 'number') path += `[${segment}]`
    else {
      const name = segment.startsWith('\0') ? segment.slice(1) : segment
      path += path === '' ? name : `.${name}`
    }
  }
  context.unknown.add(path)
}
