/** wanted-form: the form in which a client wants its answer. */
import { badRequest } from '../../machinery/objects/status-error.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { formFor } from '../codec/form-for.ts'
import type { Form } from '../encoding/form.ts'
import type { RequestContext } from '../request/request.ts'
import type { Parts } from './parts.ts'

/** Throws 406 when the client accepts no form of the resource, and 400 for an unknown `includeObject`. */
export function wantedForm(
  context: RequestContext,
  resource: Resource,
  parts: Parts,
  subresource = '',
): Form {
  const include = context.info.query.get('includeObject') ?? ''
  if (include !== 'None' && include !== 'Metadata' && include !== 'Object' && include !== '') {
    throw badRequest(
      `unrecognized includeObject value: "${include}"; supported: "None", "Metadata", "Object"`,
    )
  }
  return formFor(context, resource, {
    include: include === '' ? 'Metadata' : include,
    now: () => parts.clock.now(),
    subresource,
  })
}
