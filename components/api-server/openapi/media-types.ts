/** The media types of requests and answers, and the definition of a patch body. */
import type { Dialect } from '../../api/dialect.ts'
import type { JsonObject } from './definitions.ts'
import { scalarDefinitionName } from './names.ts'
import type { Operation } from './operations.ts'

const patchTypes: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
]
/** Of kinds without a protobuf form. */
const plainTypes: readonly string[] = ['application/json', 'application/yaml']

/** Whose media types these are. */
export interface MediaTypes {
  readonly dialect: Dialect
  /** Whether CBOR is an encoding like the others. */
  readonly cbor: boolean
}

/** What the body of an operation may be. */
export function bodyTypes({ cbor }: MediaTypes, of: Operation): readonly string[] {
  if (of.body !== 'Patch') return of.hasProtobuf ? ['*/*'] : plainTypes
  const types = cbor ? [...patchTypes, 'application/apply-patch+cbor'] : patchTypes
  return of.patchSchema === undefined ? types.filter((type) => !type.includes('strategic')) : types
}

/** What an operation may answer with. */
export function answerTypes(
  { dialect: { protobufMediaType }, cbor }: MediaTypes,
  { answer, streams, action, hasProtobuf }: Operation,
): readonly string[] {
  if (action === 'connect') return ['*/*']
  if (!hasProtobuf) return plainTypes
  const types = ['application/json', 'application/yaml', protobufMediaType]
  if (cbor) types.push('application/cbor')
  if (answer === 'text') return ['text/plain', ...types]
  if (!streams) return types
  const framed = ['application/json;stream=watch', `${protobufMediaType};stream=watch`]
  return [...types, ...framed, ...(cbor ? ['application/cbor-seq'] : [])]
}

/** The text of a status code. */
export function descriptionOf(code: number): string {
  return { 200: 'OK', 201: 'Created', 202: 'Accepted' }[code] ?? String(code)
}

/** A patch document, whatever its kind. */
export function patchDefinition(dialect: Dialect): Record<string, JsonObject> {
  const definition = {
    description: 'Patch is provided to give a concrete name and type to the PATCH request body.',
    type: 'object',
  }
  return { [scalarDefinitionName(dialect, 'Patch')]: definition }
}
