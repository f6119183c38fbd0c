/** OwnerReferencesPermissionEnforcement: owners are set by those who may delete the object, and block deletion for those who may finalize the owner (upstream: plugin/pkg/admission/gc). */
import type { Dialect } from '../../api/dialect.ts'
import { resourcesOf } from '../../api/resources.ts'
import { deepEqual, type KubeObject, type OwnerReference } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { admissionForbidden } from './forbid.ts'

interface Options {
  readonly authorizer: Authorizer
  readonly dialect: Dialect
  /** All kinds that are served now. */
  readonly kinds: () => readonly Resource[]
}

function ownersOf(object: KubeObject | undefined): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? []
}

/** Those that block the deletion of their owner from now on. */
function newBlocking({ object, old }: AdmissionRequest): OwnerReference[] {
  const before = new Map(ownersOf(old).map((owner) => [owner.uid, owner]))
  return ownersOf(object).filter(
    ({ uid, blockOwnerDeletion }) =>
      blockOwnerDeletion === true && before.get(uid)?.blockOwnerDeletion !== true,
  )
}

interface Ask {
  readonly verb: 'delete' | 'update'
  readonly resource: Resource
  readonly subresource: string
  readonly name: string
}

/** Why the user may not; undefined if the user may. */
async function refusalOf(
  authorizer: Authorizer,
  { user, namespace }: AdmissionRequest,
  { verb, resource, subresource, name }: Ask,
): Promise<string | undefined> {
  const { decision, reason, evaluationError } = await authorizer.authorize({
    user,
    verb,
    isResourceRequest: true,
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource,
    namespace: resource.namespaced ? namespace : '',
    name,
    path: '',
  })
  return decision === 'allow' ? undefined : `${reason}, ${evaluationError ?? '<nil>'}`
}

async function checkOwners(options: Options, request: AdmissionRequest): Promise<void> {
  const { authorizer, kinds } = options
  const { resource, subresource, name } = request
  const ask = { verb: 'delete', resource, subresource, name } as const
  const refusal = await refusalOf(authorizer, request, ask)
  if (refusal !== undefined) {
    const why = `cannot set an ownerRef on a resource you can't delete: ${refusal}`
    throw admissionForbidden(request, why)
  }
  for (const { apiVersion, kind, name: owner } of newBlocking(request)) {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion]
    const found = kinds().find(
      (one) => one.group === group && one.version === version && one.kind === kind,
    )
    if (found === undefined) {
      const why = `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind "${kind}" in version "${apiVersion}"`
      throw admissionForbidden(request, why)
    }
    const finalize = { verb: 'update', resource: found, subresource: 'finalizers', name: owner }
    const refused = await refusalOf(authorizer, request, finalize as Ask)
    if (refused === undefined) continue
    const why = `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${refused}`
    throw admissionForbidden(request, why)
  }
}

export function ownerReferencesPermissionEnforcement(options: Options): AdmissionPlugin {
  const { pods } = resourcesOf(options.dialect)
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    validate(request) {
      const { operation, resource, subresource, object, old } = request
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      if (object === undefined || (resource === pods && subresource === 'status')) return
      if (deepEqual(ownersOf(object), ownersOf(old))) return
      return checkOwners(options, request)
    },
  }
}
