/** accepted-types: the Accept header for an extension API server, without protobuf, which only built-in kinds serve. */
import type { Dialect } from '../../api/dialect.ts'
import { StatusError } from '../../machinery/objects/status-error.ts'

/** The Accept header without protobuf; undefined without one. Throws 406 when it accepts nothing else. */
export function acceptedTypes(
  accept: string | string[] | undefined,
  { protobufMediaType }: Dialect,
): string | undefined {
  if (accept === undefined) return undefined
  const clauses = [accept].flat().join(',').split(',')
  const others = clauses.filter(
    (clause) => clause.split(';', 1)[0]?.trim().toLowerCase() !== protobufMediaType,
  )
  if (others.length === clauses.length) return clauses.join(',')
  if (others.some((clause) => clause.trim() !== '')) return others.join(',').trim()
  throw new StatusError(
    'NotAcceptable',
    'only the following media types are accepted: application/json, application/yaml',
  )
}
