/**
 * Rights to parameters: the author of an admission policy or binding needs the right to read the parameters that it names, because
 * expressions can show them to others. No flag disables the check (upstream: pkg/registry/admissionregistration, authz.go of all four
 * kinds).
 */
import type { ParamKind, ParamRef } from '../../../api/generated/types.ts'
import type { Resources } from '../../../api/resources.ts'
import { deepEqual, type KubeObject } from '../../../machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../../machinery/objects/resource.ts'
import { invalid } from '../../../machinery/objects/status-error.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { AuthorizationAttributes, UserInfo } from '../../request/request.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'

interface Dependencies {
  readonly authorizer: Authorizer
  readonly reader: ObjectReader
  readonly resources: Resources
  readonly served: readonly Resource[]
  readonly customKinds: () => readonly Resource[]
}

interface Spec {
  readonly paramKind?: ParamKind
  readonly paramRef?: ParamRef
  readonly policyName?: string
}

const specOf = (object: KubeObject | undefined): Spec => (object?.['spec'] ?? {}) as Spec

/** What is read. An unknown kind counts as all resources of its group, and an unknown policy as everything. */
function targetOf(
  paramKind: ParamKind | undefined,
  { served, customKinds }: Dependencies,
): Pick<AuthorizationAttributes, 'group' | 'version' | 'resource'> {
  const { apiVersion = '', kind } = paramKind ?? {}
  const parts = apiVersion.split('/')
  if (paramKind === undefined || parts.length > 2) {
    return { group: '*', version: '*', resource: '*' }
  }
  const found = [...served, ...customKinds()].find(
    (one) => one.kind === kind && apiVersionOf(one) === apiVersion,
  )
  const [group, version] = parts.length === 2 ? parts : ['', apiVersion]
  return { group: group ?? '', version: version ?? '', resource: found?.plural ?? '*' }
}

/** As Go prints it. */
function shown({ name, uid = '', groups, extra = {} }: UserInfo): string {
  const fields = Object.keys(extra)
    .toSorted()
    .map((key) => `${key}:[${extra[key]?.join(' ') ?? ''}]`)
  return `&{${name} ${uid} [${groups.join(' ')}] map[${fields.join(' ')}]}`
}

async function mayRead(
  { authorizer }: Dependencies,
  asked: Pick<
    AuthorizationAttributes,
    'user' | 'verb' | 'namespace' | 'name' | 'group' | 'version' | 'resource'
  >,
): Promise<boolean> {
  const of = { isResourceRequest: true, subresource: '', path: '' }
  return (await authorizer.authorize({ ...asked, ...of })).decision === 'allow'
}

/** Throws a 422 that names the field. */
function refuse({ resource, name }: AdmissionRequest, field: string, why: string): never {
  const root = FieldPath.root()
  root.child('spec').child(field).forbidden(why)
  throw invalid(resource, name, root.errors)
}

async function checkPolicy(dependencies: Dependencies, request: AdmissionRequest): Promise<void> {
  const { object, old, user } = request
  const { paramKind } = specOf(object)
  if (paramKind === undefined || deepEqual(paramKind, specOf(old).paramKind)) return
  const everywhere = { user, verb: 'get', namespace: '*', name: '*' }
  if (await mayRead(dependencies, { ...everywhere, ...targetOf(paramKind, dependencies) })) return
  const { kind = '', apiVersion = '' } = paramKind
  const why = `user ${shown(user)} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`
  refuse(request, 'paramKind', why)
}

async function checkBinding(
  dependencies: Dependencies,
  { request, policies }: { request: AdmissionRequest; policies: Resource },
): Promise<void> {
  const { object, old, user } = request
  const { paramRef, policyName = '' } = specOf(object)
  const before = specOf(old)
  if (paramRef === undefined) return
  if (deepEqual(paramRef, before.paramRef) && policyName === before.policyName) return
  const policy = dependencies.reader.get(policies, '', policyName)
  const target = targetOf(specOf(policy).paramKind, dependencies)
  const { name = '', namespace = '' } = paramRef
  const verb = name === '' ? 'list' : 'get'
  if (await mayRead(dependencies, { user, verb, namespace, name, ...target })) return
  // Upstream says both in the wrong order.
  const why = `user ${verb} does not have "${shown(user)}" permission on the object referenced by paramRef`
  refuse(request, 'paramRef', why)
}

export function paramRights(dependencies: Dependencies): AdmissionPlugin {
  const { resources } = dependencies
  const policiesOfBindings = new Map([
    [resources.mutatingAdmissionPolicyBindings.storagePrefix, resources.mutatingAdmissionPolicies],
    [
      resources.validatingAdmissionPolicyBindings.storagePrefix,
      resources.validatingAdmissionPolicies,
    ],
  ])
  const policies = new Set([...policiesOfBindings.values()].map((one) => one.storagePrefix))
  return {
    name: 'ParamRights',
    validate(request) {
      const { resource, operation, subresource, user } = request
      const isWritten = operation === 'CREATE' || operation === 'UPDATE'
      if (!isWritten || subresource !== '' || user.groups.includes('system:masters')) {
        return undefined
      }
      if (policies.has(resource.storagePrefix)) return checkPolicy(dependencies, request)
      const of = policiesOfBindings.get(resource.storagePrefix)
      return of && checkBinding(dependencies, { request, policies: of })
    },
  }
}
