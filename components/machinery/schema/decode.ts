/**
 * Decoding: JSON values to objects as upstream's typed decoder leaves them. Checks types with Go's messages, drops and
 * reports unknown fields, and writes the canonical form: fields in upstream's order, zero values dropped or filled in.
 */
import type { KubeObject } from '../objects/object.ts'
import type { StructSchema } from './schema.ts'
import type { DecodeContext } from './decode-context.ts'
import { compileStruct } from './decode-walkers.ts'

export interface DecodeProblems {
  /** The first error that makes the value unusable, in upstream's words, without the caller's prefix. */
  readonly fatal: string | undefined
  /** The first error in the words of upstream's converter from maps, which strategic merge patches go through. */
  readonly unconverted: string | undefined
  /** Paths of unknown fields (`spec.containers[0].x`) in document order, at most 100. Empty in mode `ignore`. */
  readonly unknown: readonly string[]
}

export interface Decoded<T> {
  /** Fresh and mutable; shares nothing with the value unless that may be reused. Not to be used when there is a fatal problem. */
  readonly object: T
  readonly problems: DecodeProblems
}

export interface DecodeOptions {
  /** `report` (the default) collects unknown fields, for fieldValidation Warn and Strict; `ignore` only drops them. */
  readonly mode?: 'ignore' | 'report'
  /** The value is given away: what is canonical in it becomes part of the object. It must have come from a JSON parser. */
  readonly mayReuse?: boolean
}

/**
 * Decodes a parsed JSON value. Never throws, whatever the value: nesting past upstream's bound is a fatal problem too.
 * An object that came out once comes out the same again.
 */
export function decode<T = KubeObject>(
  value: unknown,
  schema: StructSchema,
  options: DecodeOptions = {},
): Decoded<T> {
  const context: DecodeContext = {
    hard: undefined,
    saved: undefined,
    unconverted: undefined,
    unknown: options.mode === 'ignore' ? undefined : new Set(),
    mayReuse: options.mayReuse === true,
    path: [],
    depth: 0,
    owner: undefined,
  }
  let object: unknown = {}
  try {
    object = compileStruct(schema)(value ?? {}, context)
  } catch (error) {
    // Nesting past the bound, or past the stack.
    if (!(error instanceof RangeError)) throw error
    context.hard = 'exceeded max depth'
    context.unconverted = context.hard
  }
  return {
    object: object as T,
    problems: {
      fatal: context.hard ?? context.saved,
      unconverted: context.unconverted,
      unknown: context.unknown === undefined ? [] : [...context.unknown],
    },
  }
}
