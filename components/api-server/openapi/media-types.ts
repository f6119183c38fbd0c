/** The media types of requests and answers, and the definition of a patch body. */
import type { Dialect } from '../../api/dialect.ts'
import type { JsonObject } from './definitions.ts'
import { scalarDefinitionName } from './names.ts'
import type { Operation } from './operations.ts'

export const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
] as const

/** What an operation may answer with. */
export function answerTypes(
  { protobufMediaType }: Dialect,
  { answer, streams, action }: Operation,
): string[] {
  if (action === 'connect') return ['*/*']
  const types = ['application/json', 'application/yaml', protobufMediaType]
  if (answer === 'text') return ['text/plain', ...types]
  return streams
    ? [...types, 'application/json;stream=watch', `${protobufMediaType};stream=watch`]
    : types
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
