/** What texts of expressions can be read as. */
import {
  CelScalar,
  celEnv,
  isCelError,
  parse,
  plan,
  type CelInput,
  type CelResult,
} from '@bufbuild/cel'
import { linearPattern } from './linear-pattern.ts'

type Reader = (text: string) => CelResult

const readers: Record<string, Reader> = {}

function readerOf(type: string): Reader {
  const run = plan(celEnv({ variables: { text: CelScalar.DYN } }), parse(`${type}(text)`))
  return (text) => run({ text })
}

/** The value of a text as the language's own conversion to the type reads it; an error of the evaluator otherwise. */
export function readAs(type: 'timestamp' | 'duration', text: string): CelResult {
  return (readers[type] ??= readerOf(type))(text)
}

let asText: ((value: unknown) => CelResult) | undefined

/** The text of a time or a duration, as the language's own conversion writes it; an error of the evaluator for what has none. */
export function textOf(value: unknown): CelResult {
  if (asText === undefined) {
    const run = plan(celEnv({ variables: { value: CelScalar.DYN } }), parse('string(value)'))
    asText = (given) => run({ value: given as CelInput })
  }
  return asText(value)
}

export function isReadable(type: 'timestamp' | 'duration', text: string): boolean {
  return !isCelError(readAs(type, text))
}

export function isRegularExpression(text: string): boolean {
  return typeof linearPattern(text) !== 'string'
}
