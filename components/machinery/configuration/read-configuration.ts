/** Reads a configuration file's text: YAML or JSON, strict, of one kind in one of its versions. */
import { decode } from '../schema/decode.ts'
import { strictProblems } from '../values/duplicate-fields.ts'
import { joinedErrors, type FieldError } from '../objects/status-error.ts'
import type { StructSchema } from '../schema/schema.ts'
import { load } from '../values/yaml.ts'

/** A file that cannot be used; the message is one line, names the place, and holds no secret. */
export class ConfigurationError extends Error {}

export interface ConfigurationKind {
  readonly kind: string
  /** `apiserver.config.k8s.io`. */
  readonly group: string
  readonly versions: readonly string[]
  readonly schema: StructSchema
}

/** The file's content. Throws ConfigurationError. */
export function readConfiguration<T>(source: string, wanted: ConfigurationKind): T {
  const value = parsed(source)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigurationError('the file holds no object')
  }
  const { kind, apiVersion } = value as { kind?: unknown; apiVersion?: unknown }
  const versions = wanted.versions.map((version) => `${wanted.group}/${version}`)
  if (typeof kind !== 'string' || kind === '')
    throw new ConfigurationError("Object 'Kind' is missing")
  if (typeof apiVersion !== 'string' || apiVersion === '') {
    throw new ConfigurationError("Object 'apiVersion' is missing")
  }
  if (kind !== wanted.kind || !versions.includes(apiVersion)) {
    throw new ConfigurationError(
      `no kind "${kind}" is registered for version "${apiVersion}"; expected kind ${wanted.kind} in ${versions.join(' or ')}`,
    )
  }
  return decoded<T>(value, wanted.schema)
}

/** The content of a file without kind and version. Throws ConfigurationError. */
export function readUnversioned<T>(source: string, schema: StructSchema): T {
  const value = parsed(source)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigurationError('the file holds no object')
  }
  return decoded<T>(value, schema)
}

function decoded<T>(value: object, schema: StructSchema): T {
  const { object, problems } = decode<T & object>(value, schema)
  if (problems.fatal !== undefined) throw new ConfigurationError(problems.fatal)
  if (problems.unknown.length > 0) {
    const faults = problems.unknown.map((path) => `unknown field "${path}"`)
    throw new ConfigurationError(`strict decoding error: ${faults.join(', ')}`)
  }
  return object
}

function parsed(source: string): unknown {
  try {
    const value = parsedJson(source)
    if (value === undefined) return load(source)
    const repeated = strictProblems(Buffer.from(source), [])
    if (repeated.length === 0) return value
    throw new Error(`strict decoding error: ${repeated.join(', ')}`)
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    throw new ConfigurationError(why, { cause: error })
  }
}

/** Undefined for text that is not a JSON object: YAML may start with a brace, too. */
function parsedJson(source: string): unknown {
  if (!source.trimStart().startsWith('{')) return undefined
  try {
    return JSON.parse(source) as unknown
  } catch {
    // The YAML parser reads it, or reports the error.
    return undefined
  }
}

/** Upstream's text of many field errors: one alone, or all in brackets. */
export function refuseFieldErrors(errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  const texts = errors.map(({ field, message }) => `${field}: ${message}`)
  throw new ConfigurationError(joinedErrors(texts))
}
