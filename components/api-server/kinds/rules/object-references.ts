/** References to objects of any kind by group, kind and name. */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { pathSegment, subdomain } from '../../../machinery/validation/names.ts'

/** A required name that is one segment of a URL path. */
export function validateRequiredSegment(name: string | undefined, at: FieldPath): void {
  if (!name) at.required()
  else at.invalidEach(name, pathSegment(name))
}

export interface TypedReference {
  readonly apiGroup?: string
  readonly kind?: string
  readonly name?: string
}

export function validateTypedReference(reference: TypedReference, at: FieldPath): void {
  const { apiGroup } = reference
  if (typeof apiGroup === 'string') at.child('apiGroup').invalidEach(apiGroup, subdomain(apiGroup))
  for (const part of ['kind', 'name'] as const) {
    const value = reference[part]
    if (!value) at.child(part).required(`${part} is required`)
    else at.child(part).invalidEach(value, pathSegment(value))
  }
}
