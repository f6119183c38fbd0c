/** may-create: authorization of an update or an apply that creates its object. */
import { attributesOf } from '../request/attributes.ts'
import { forbiddenError } from '../request/forbidden.ts'
import type { RequestContext } from '../request/request.ts'
import type { Parts } from './parts.ts'

/** Throws the 403 of a create. The right to update an object does not include the right to create it. */
export async function ensureMayCreate(context: RequestContext, parts: Parts): Promise<void> {
  const attributes = { ...attributesOf(context), verb: 'create' }
  const { decision, reason } = await parts.authorizer.authorize(attributes)
  if (decision !== 'allow') throw forbiddenError(attributes, reason)
}
