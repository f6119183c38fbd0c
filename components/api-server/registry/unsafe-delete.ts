/**
 * unsafe-delete: removes an object that cannot be read (upstream: registry/corrupt_obj_deleter.go). Admission is asked;
 * finalizers, preconditions and what else hangs on the object are not known and not looked at.
 */
import { invalidValue } from '../../machinery/validation/field-errors.ts'
import { forbidden, invalid } from '../../machinery/objects/status-error.ts'
import { ignoreReadErrorsField } from '../codec/write-options.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { AuthorizationAttributes } from '../request/request.ts'
import { objectKey } from './object-key.ts'
import type { Registry } from './registry.ts'
import type { WriteTarget } from '../request/write.ts'

const verb = 'unsafe-delete-ignore-read-errors'

/** Throws a 403 unless the user may delete so; that he may delete was asked before. `attributes` are the request's. */
export async function authorizeUnsafeDelete(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
): Promise<void> {
  const { decision, reason } = await authorizer.authorize({ ...attributes, verb })
  if (decision === 'allow') return
  const { group, resource: plural, name } = attributes
  throw forbidden({ group, plural }, name, `not permitted to do "${verb}", reason: ${reason}`)
}

/** Removes what cannot be read. Throws 422 for everything else, be it readable or not there. */
export async function deleteUnreadable(
  registry: Registry,
  target: WriteTarget & { readonly name: string },
): Promise<void> {
  const { resource, namespace, name, user, warnings } = target
  const key = objectKey(resource, namespace, name)
  await registry.cache.refresh()
  for (;;) {
    // Looks into it: what was never read may turn out to be unreadable just now.
    registry.cache.find(resource, key)
    const unreadable = registry.stored.unreadable(resource, key)
    if (unreadable === undefined) {
      throw invalid({ group: resource.group, kind: resource.plural }, name, [
        invalidValue(ignoreReadErrorsField, {
          value: true,
          detail:
            'is exclusively used to delete corrupt object(s), try again by removing this option',
        }),
      ])
    }
    await registry.admit({
      operation: 'DELETE',
      resource,
      subresource: '',
      namespace,
      name,
      object: undefined,
      old: undefined,
      user,
      dryRun: false,
      warnings,
    })
    if (await registry.stored.remove(resource, unreadable)) return
  }
}
