/** Leaves of decode.ts: one reader per scalar kind. */
import { canonicalBase64 } from '../values/base64.ts'
import { mismatch, type DecodeContext, type Walk } from './decode-context.ts'
import { copyJson } from '../values/json-copy.ts'
import { canonicalQuantity, QuantityError, quantityErrors } from '../values/quantity.ts'
import type { ScalarKind, ScalarSchema } from './schema.ts'
import { canonicalTime } from '../values/time-text.ts'

/** Go's output for an unset scalar that is not left out. */
export function zeroScalar(kind: ScalarKind): unknown {
  switch (kind) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'double':
    case 'IntOrString':
      return 0
    case 'Quantity':
      return '0'
    default:
      return null
  }
}

/** The reader of a scalar kind. */
export function readScalar(schema: ScalarSchema): Walk {
  switch (schema.kind) {
    case 'string':
    case 'Duration':
      return (value, context) =>
        typeof value === 'string' ? value : wrong(context, value, schema, '')
    case 'bool':
      return (value, context) =>
        typeof value === 'boolean' ? value : wrong(context, value, schema, false)
    case 'int32':
      return (value, context) =>
        typeof value === 'number' && (value | 0) === value
          ? value
          : wrong(context, value, schema, 0)
    case 'int64':
      return (value, context) =>
        typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 2 ** 63
          ? value
          : wrong(context, value, schema, 0)
    case 'double':
      return (value, context) =>
        typeof value === 'number' ? value : wrong(context, value, schema, 0)
    case 'bytes':
      return readBytes(schema)
    case 'Time':
    case 'MicroTime':
      return readTime(schema.kind)
    case 'Quantity':
      return readQuantity
    case 'IntOrString':
      return readIntOrString
    case 'RawExtension':
    case 'JSON':
    case 'FieldsV1':
    case 'any':
      return (value, context) => (context.mayReuse ? value : copyJson(value))
  }
}

function wrong(
  context: DecodeContext,
  value: unknown,
  schema: ScalarSchema,
  zero: unknown,
): unknown {
  mismatch(context, value, schema)
  return zero
}

function readBytes(schema: ScalarSchema): Walk {
  return (value, context) => {
    if (typeof value !== 'string') return wrong(context, value, schema, '')
    const result = canonicalBase64(value)
    if (typeof result === 'string') return result
    const fault = `illegal base64 data at input byte ${result.illegalAt}`
    context.unconverted ??= `error decoding from json: ${fault}`
    context.saved ??= fault
    return ''
  }
}

function readTime(kind: 'Time' | 'MicroTime'): Walk {
  return (value, context) => {
    if (typeof value !== 'string') {
      mismatch(context, value, { kind: 'string', goType: 'string' }, true)
      return null
    }
    const result = canonicalTime(value, kind)
    if ('text' in result) return result.text
    failHard(context, result.error)
    return null
  }
}

/** Types that decode themselves say the same to the decoder and to the converter. */
function failHard(context: DecodeContext, fault: string): void {
  context.unconverted ??= fault
  context.hard ??= fault
}

function readQuantity(value: unknown, context: DecodeContext): unknown {
  const isText = typeof value === 'string' || typeof value === 'number'
  try {
    if (isText) return canonicalQuantity(String(value).trim())
    failHard(context, quantityErrors.format)
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error
    failHard(context, error.message)
  }
  return '0'
}

function readIntOrString(value: unknown, context: DecodeContext): unknown {
  if (typeof value === 'string') return value
  if (typeof value === 'number' && (value | 0) === value) return value
  mismatch(context, value, { kind: 'int32', goType: 'int32' }, true)
  return 0
}
