/** leastRole: the least Roles and ClusterRoles, with bindings, that allow the requests of a user that were seen. */
import { clusterRoles } from '../../components/api/bootstrap-policy/cluster-roles.ts'
import { apiGroup, type Dialect } from '../../components/api/dialect.ts'
import type { PolicyRule } from '../../components/api/generated/types.ts'
import { subjectOf } from '../../components/api/rbac-subject.ts'
import type { RequestRecord } from '../../components/api/request-record.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'

export interface LeastRoleOptions {
  readonly user: string
  readonly dialect: Dialect
  /** Of the roles and bindings. */
  readonly name: string
  /** Names objects where only a few were asked for. Default false: any name. */
  readonly restrictsNames?: boolean
  /** Also what requests would have needed that were denied. Default false. */
  readonly includesDenied?: boolean
}

export interface LeastRole {
  /** Each role before its binding; empty when nothing was needed beyond the default roles. */
  readonly objects: readonly KubeObject[]
  /** How many requests the roles are for. */
  readonly requests: number
  /** Requests that were denied, each kind once: `list pods in shop`. */
  readonly denied: readonly string[]
}

/** What one request needs. */
interface Need {
  /** '': the whole cluster. */
  readonly namespace: string
  readonly verb: string
  readonly group: string
  /** With its sub-resource; a path for requests without a resource. */
  readonly resource: string
  readonly isPath: boolean
  /** '': any. */
  readonly name: string
}

const mostNames = 5
/** Creates and collections have no name that a rule could ask for. */
const namedVerbs = new Set(['get', 'update', 'patch', 'delete', 'impersonate'])

/** What `system:discovery` allows everybody who has authenticated. */
const openPaths = (clusterRoles['system:discovery'] ?? []).flatMap((rule) =>
  (rule.split(' ')[1] ?? '').split(','),
)

function isOpen({ verb, path }: RequestRecord): boolean {
  return (
    verb === 'get' &&
    openPaths.some((one) => (one.endsWith('*') ? path.startsWith(one.slice(0, -1)) : path === one))
  )
}

/** What `system:basic-user` allows. */
const isSelfReview = ({ resource }: RequestRecord): boolean => resource.startsWith('selfsubject')

function needOf(record: RequestRecord, user: string): Need | undefined {
  const { verb, group, resource, subresource, namespace, name, path } = record
  if (record.impersonator === user && record.user !== user) return impersonation(record)
  if (resource === '') {
    if (isOpen(record)) return undefined
    return { namespace: '', verb, group: '', resource: path, isPath: true, name: '' }
  }
  if (isSelfReview(record)) return undefined
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  const hasName = namedVerbs.has(verb) || subresource !== ''
  return { namespace, verb, group, resource: whole, isPath: false, name: hasName ? name : '' }
}

function impersonation({ user }: RequestRecord): Need {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? []
  const verb = 'impersonate'
  const [resource, name] = account === undefined ? ['users', user] : ['serviceaccounts', account]
  return { namespace: namespace ?? '', verb, group: '', resource, isPath: false, name }
}

const by = <T>(items: Iterable<T>, key: (item: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>()
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item])
  return groups
}
const sorted = (texts: Iterable<string>): string[] => [...new Set(texts)].toSorted()

/** Where a rule goes: a right that is needed in one namespace alone is for that one. */
function placed(needs: readonly Need[]): Need[] {
  const rights = by(needs, ({ verb, group, resource }) => JSON.stringify([verb, group, resource]))
  return [...rights.values()].flatMap((same) => {
    const places = new Set(same.map(({ namespace }) => namespace))
    return places.size === 1 ? same : same.map((one) => ({ ...one, namespace: '' }))
  })
}

/** Names that a rule asks for; none: any. */
function namesOf(needs: readonly Need[], restrictsNames: boolean): string[] {
  const names = sorted(needs.map(({ name }) => name))
  return !restrictsNames || names.includes('') || names.length > mostNames ? [] : names
}

function rulesOf(needs: readonly Need[], restrictsNames: boolean): PolicyRule[] {
  const rights = by(needs, ({ group, resource, verb, isPath }) =>
    JSON.stringify([isPath, group, resource, verb]),
  )
  const named = [...rights.values()].flatMap((same) => {
    const [first] = same
    return first === undefined ? [] : [{ ...first, names: namesOf(same, restrictsNames) }]
  })
  // First the verbs of each resource, then the resources with the same verbs.
  const resources = by(named, ({ isPath, group, resource, names }) =>
    JSON.stringify([isPath, group, resource, names]),
  )
  const lines = [...resources.values()].flatMap((same) => {
    const [first] = same
    return first === undefined ? [] : [{ ...first, verbs: sorted(same.map(({ verb }) => verb)) }]
  })
  const rules = by(lines, ({ isPath, group, verbs, names }) =>
    JSON.stringify([isPath, group, verbs, names]),
  )
  return [...rules.entries()]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, same]): PolicyRule[] => {
      const [first] = same
      if (first === undefined) return []
      const { verbs, names, isPath, group } = first
      const whats = sorted(same.map(({ resource }) => resource))
      if (isPath) return [{ nonResourceURLs: whats, verbs }]
      const only = names.length === 0 ? {} : { resourceNames: names }
      return [{ apiGroups: [group], resources: whats, verbs, ...only }]
    })
}

function objectsFor(
  namespace: string,
  needs: readonly Need[],
  { user, dialect, name, restrictsNames = false }: LeastRoleOptions,
): KubeObject[] {
  const { roles, roleBindings, clusterRoles: cluster, clusterRoleBindings } = resourcesOf(dialect)
  const [role, binding] = namespace === '' ? [cluster, clusterRoleBindings] : [roles, roleBindings]
  const metadata = namespace === '' ? { name } : { name, namespace }
  const group = apiGroup(dialect, 'rbac.authorization')
  return [
    {
      apiVersion: apiVersionOf(role),
      kind: role.kind,
      metadata,
      rules: rulesOf(needs, restrictsNames),
    },
    {
      apiVersion: apiVersionOf(binding),
      kind: binding.kind,
      metadata,
      roleRef: { apiGroup: group, kind: role.kind, name },
      subjects: [subjectOf({ name: user, groups: [] }, dialect)],
    },
  ]
}

const isDenied = ({ decision, status }: RequestRecord): boolean =>
  decision === 'deny' || status === 401

function deniedText({
  verb,
  group,
  resource,
  subresource,
  namespace,
  path,
}: RequestRecord): string {
  if (resource === '') return `${verb} ${path}`
  const what = [group === '' ? resource : `${resource}.${group}`, subresource]
    .filter(Boolean)
    .join('/')
  return `${verb} ${what}${namespace === '' ? '' : ` in ${namespace}`}`
}

/** `records`: of this user, or impersonated by it. */
export function leastRole(records: readonly RequestRecord[], options: LeastRoleOptions): LeastRole {
  const { user, includesDenied = false } = options
  const denied = records.filter((record) => isDenied(record) && record.user === user)
  const used = records.filter(
    (record) => record.status !== 401 && (includesDenied || !isDenied(record)),
  )
  const needs = placed(used.flatMap((record) => needOf(record, user) ?? []))
  const places = [...by(needs, ({ namespace }) => namespace)].toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  )
  return {
    objects: places.flatMap(([namespace, its]) => objectsFor(namespace, its, options)),
    requests: used.length,
    denied: sorted(denied.map(deniedText)),
  }
}
