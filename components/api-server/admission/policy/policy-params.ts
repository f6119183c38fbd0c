/** The parameters that a binding gives its policy (upstream: plugin/policy/generic CollectParams). */
import type { ParamKind, ParamRef } from '../../../api/generated/types.ts'
import { objectKindOf } from '../../../api/object-kind.ts'
import { labelSelectorFrom, matchesLabels } from '../../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../../machinery/objects/resource.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'

/**
 * The objects with which the policy is evaluated, one after the other: only null for a policy without parameters, an empty
 * list if the binding allows missing ones. Rejects with an Error that names the missing parameter.
 */
export async function policyParams(
  of: { paramKind: ParamKind | undefined; paramRef: ParamRef | undefined; namespace: string },
  at: { reader: ObjectReader; kinds: readonly Resource[] },
): Promise<readonly (KubeObject | null)[]> {
  const { paramKind, paramRef, namespace } = of
  if (!paramKind || !paramRef) return [null]
  const { apiVersion = '', kind = '' } = paramKind
  const resource = at.kinds.find((one) => apiVersionOf(one) === apiVersion && one.kind === kind)
  if (resource === undefined) {
    throw new Error(
      `failed to find resource referenced by paramKind: '${apiVersion}, Kind=${kind}'`,
    )
  }
  const { name, selector, parameterNotFoundAction } = paramRef
  let from = ''
  if (resource.namespaced) {
    from = paramRef.namespace || namespace
    if (from === '') {
      throw new Error(
        'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
      )
    }
  } else if (paramRef.namespace) {
    throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
  }
  const stored = name
    ? [at.reader.get(resource, from, name)].filter((one) => one !== undefined)
    : selectedFrom(at.reader.list(resource, from), selector)
  const objects = objectKindOf(resource)
  await objects.prepare(stored)
  const found = stored.map((one) => objects.working(one))
  if (found.length > 0 || parameterNotFoundAction === 'Allow') return found
  throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction')
}

function selectedFrom(
  objects: readonly KubeObject[],
  selector: ParamRef['selector'],
): readonly KubeObject[] {
  const wanted = labelSelectorFrom(selector ?? {})
  return objects.filter(({ metadata }) => matchesLabels(wanted, metadata.labels))
}
