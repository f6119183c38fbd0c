/** RbacIndex: roles and bindings by subject and namespace, kept up to date with every commit. */
import type { Dialect } from '../../api/dialect.ts'
import { apiGroup } from '../../api/dialect.ts'
import type { AllowingGrant } from '../../api/explanations.ts'
import type { PolicyRule, RoleRef, Subject } from '../../api/generated/types.ts'
import { resourcesOf } from '../../api/resources.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { joinedErrors } from '../../machinery/objects/status-error.ts'
import type { ObjectChange, ObjectReader } from '../watch-cache/object-reader.ts'
import type { UserInfo } from '../request/request.ts'
import { serviceAccountUserName } from '../authn/service-account-claims.ts'
import type { Decision } from './authorizer.ts'
import type { CompiledRules, RequestKey } from './rule-matching.ts'
import { compileRules } from './rule-matching.ts'

/** A role that bindings point to, whether it exists or not; shared by all of them. */
interface RoleSlot {
  readonly key: string
  readonly roleRef: RoleRef
  users: number
  compiled: CompiledRules | undefined
}

interface BindingName {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** One subject's part in one binding. */
interface Grant {
  readonly slot: RoleSlot
  readonly binding: BindingName
  readonly subject: Subject
  /** Built when it first allows a request. */
  decision: Decision | undefined
}

/** The grants of one user or group: cluster-wide, and by namespace. */
interface Grants {
  cluster: Grant[]
  readonly byNamespace: Map<string, Grant[]>
}

interface IndexedBinding {
  readonly namespace: string
  readonly slot: RoleSlot
  readonly grants: readonly {
    readonly holder: Map<string, Grants>
    readonly name: string
    readonly grant: Grant
  }[]
}

const noGrants: readonly Grant[] = []

function isRole(ref: RoleRef): boolean {
  return ref.kind === 'Role'
}

/** `role:<namespace>/<name>` or `clusterrole:<name>`. */
function slotKey(ref: RoleRef, namespace: string): string {
  return isRole(ref) ? `role:${namespace}/${ref.name}` : `clusterrole:${ref.name}`
}

function describeBinding({ kind, namespace, name }: BindingName): string {
  return namespace === '' ? `${kind} "${name}"` : `${kind} "${name}/${namespace}"`
}

function describeSubject(subject: Subject): string {
  const name =
    subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace ?? ''}` : subject.name
  return `${subject.kind} "${name}"`
}

export class RbacIndex {
  readonly #users = new Map<string, Grants>()
  readonly #groups = new Map<string, Grants>()
  readonly #slots = new Map<string, RoleSlot>()
  readonly #bindings = new Map<string, IndexedBinding>()
  readonly #group: string
  readonly #stops: (() => void)[]

  /** Reads the stored objects and follows every change until `stop`. */
  constructor(reader: ObjectReader, dialect: Dialect) {
    const { roles, clusterRoles, roleBindings, clusterRoleBindings } = resourcesOf(dialect)
    this.#group = apiGroup(dialect, 'rbac.authorization')
    const onRole = (kind: 'Role' | 'ClusterRole') => (change: ObjectChange) => {
      this.#setRole(kind, change.key, change.type === 'DELETED' ? undefined : change.object())
    }
    const onBinding = (kind: string) => (change: ObjectChange) => {
      this.#setBinding(kind, change.key, change.type === 'DELETED' ? undefined : change.object())
    }
    this.#stops = [
      reader.onChange(roles, onRole('Role')),
      reader.onChange(clusterRoles, onRole('ClusterRole')),
      reader.onChange(roleBindings, onBinding('RoleBinding')),
      reader.onChange(clusterRoleBindings, onBinding('ClusterRoleBinding')),
    ]
    const key = ({ metadata }: KubeObject): string =>
      metadata.namespace ? `${metadata.namespace}/${metadata.name ?? ''}` : (metadata.name ?? '')
    for (const role of reader.list(roles)) this.#setRole('Role', key(role), role)
    for (const role of reader.list(clusterRoles)) this.#setRole('ClusterRole', key(role), role)
    for (const one of reader.list(clusterRoleBindings)) {
      this.#setBinding('ClusterRoleBinding', key(one), one)
    }
    for (const one of reader.list(roleBindings)) this.#setBinding('RoleBinding', key(one), one)
  }

  stop(): void {
    for (const stop of this.#stops) stop()
  }

  /**
   * The first grant that allows the request. An empty namespace considers cluster-wide bindings only, as upstream does
   * for cluster-scoped and non-resource requests.
   */
  decide(user: UserInfo, namespace: string, key: RequestKey): Decision {
    const own = this.#users.get(user.name)
    const found = own && this.#allowing(own.cluster, key)
    if (found) return found
    for (const group of user.groups) {
      const grants = this.#groups.get(group)
      const decision = grants && this.#allowing(grants.cluster, key)
      if (decision) return decision
    }
    if (namespace !== '') {
      const local = own?.byNamespace.get(namespace)
      const decision = local && this.#allowing(local, key)
      if (decision) return decision
      for (const group of user.groups) {
        const grants = this.#groups.get(group)?.byNamespace.get(namespace)
        const granted = grants && this.#allowing(grants, key)
        if (granted) return granted
      }
    }
    return this.#noOpinion(user, namespace)
  }

  /** All rules the user holds in the namespace (cluster-wide ones included), a role bound twice once. */
  rulesFor(user: UserInfo, namespace: string): PolicyRule[] {
    const roles = new Set<CompiledRules>()
    for (const { slot } of this.#grantsOf(user, namespace)) {
      if (slot.compiled !== undefined) roles.add(slot.compiled)
    }
    return [...roles].flatMap(({ rules }) => rules)
  }

  /** Every grant that allows the request, in the order of `decide`: cluster-wide ones first. */
  allowing(user: UserInfo, namespace: string, key: RequestKey): AllowingGrant[] {
    const inNamespace = (of: string): { namespace?: string } => (of === '' ? {} : { namespace: of })
    return this.#grantsOf(user, namespace).flatMap(({ slot, binding, subject }) => {
      const rules = slot.compiled?.rules.filter((rule) => compileRules([rule]).allows(key)) ?? []
      if (rules.length === 0) return []
      const { kind, name } = slot.roleRef
      const role = { kind, ...inNamespace(isRole(slot.roleRef) ? binding.namespace : ''), name }
      const shown = { kind: binding.kind, ...inNamespace(binding.namespace), name: binding.name }
      return [{ binding: shown, role, subject, rules }]
    })
  }

  #allowing(grants: readonly Grant[], key: RequestKey): Decision | undefined {
    for (const grant of grants) {
      if (grant.slot.compiled?.allows(key) !== true) continue
      grant.decision ??= {
        decision: 'allow',
        reason: `RBAC: allowed by ${describeBinding(grant.binding)} of ${grant.slot.roleRef.kind} "${grant.slot.roleRef.name}" to ${describeSubject(grant.subject)}`,
      }
      return grant.decision
    }
    return undefined
  }

  #grantsOf(user: UserInfo, namespace: string): Grant[] {
    const holders = [
      this.#users.get(user.name),
      ...user.groups.map((name) => this.#groups.get(name)),
    ]
    return [
      ...holders.flatMap((grants) => grants?.cluster ?? noGrants),
      ...holders.flatMap((grants) => grants?.byNamespace.get(namespace) ?? noGrants),
    ]
  }

  /** The bound roles that do not exist, each once: a missing role may explain a denial. */
  missingRoles(user: UserInfo, namespace: string): string[] {
    const missing = new Set<string>()
    for (const { slot } of this.#grantsOf(user, namespace)) {
      if (slot.compiled !== undefined) continue
      missing.add(
        `${slot.roleRef.kind.toLowerCase()}.${this.#group} "${slot.roleRef.name}" not found`,
      )
    }
    return [...missing]
  }

  #noOpinion(user: UserInfo, namespace: string): Decision {
    const missing = this.missingRoles(user, namespace)
    const reason = missing.length === 0 ? '' : `RBAC: ${joinedErrors(missing)}`
    return { decision: 'no-opinion', reason }
  }

  #setRole(kind: 'Role' | 'ClusterRole', key: string, role: KubeObject | undefined): void {
    const id = `${kind.toLowerCase()}:${key}`
    const rules = (role?.['rules'] ?? []) as PolicyRule[]
    const compiled = role === undefined ? undefined : compileRules(rules)
    const slot = this.#slots.get(id)
    if (slot !== undefined) {
      slot.compiled = compiled
      this.#dropUnused(slot)
    } else if (compiled !== undefined) {
      const name = key.slice(key.indexOf('/') + 1)
      const roleRef = { apiGroup: this.#group, kind, name }
      this.#slots.set(id, { key: id, roleRef, users: 0, compiled })
    }
  }

  #dropUnused(slot: RoleSlot): void {
    if (slot.users === 0 && slot.compiled === undefined) this.#slots.delete(slot.key)
  }

  #setBinding(kind: string, key: string, binding: KubeObject | undefined): void {
    const id = `${kind}:${key}`
    const old = this.#bindings.get(id)
    if (old !== undefined) this.#unlink(id, old)
    if (binding === undefined) return
    const { namespace = '', name = '' } = binding.metadata
    const roleRef = binding['roleRef'] as RoleRef
    const slot = this.#slotFor(roleRef, namespace)
    slot.users += 1
    const shown: BindingName = { kind, namespace, name }
    const grants = ((binding['subjects'] ?? []) as Subject[]).flatMap((subject) => {
      const target = this.#holderOf(subject, namespace)
      if (target === undefined) return []
      const grant: Grant = { slot, binding: shown, subject, decision: undefined }
      return [{ ...target, grant }]
    })
    for (const { holder, name: subject, grant } of grants) {
      let held = holder.get(subject)
      if (held === undefined) {
        held = { cluster: [], byNamespace: new Map() }
        holder.set(subject, held)
      }
      if (namespace === '') held.cluster.push(grant)
      else {
        const local = held.byNamespace.get(namespace)
        if (local === undefined) held.byNamespace.set(namespace, [grant])
        else local.push(grant)
      }
    }
    this.#bindings.set(id, { namespace, slot, grants })
  }

  #slotFor(roleRef: RoleRef, namespace: string): RoleSlot {
    const key = slotKey(roleRef, namespace)
    let slot = this.#slots.get(key)
    if (slot === undefined) {
      slot = { key, roleRef, users: 0, compiled: undefined }
      this.#slots.set(key, slot)
    }
    return slot
  }

  /** The grants of a subject; undefined for a subject that matches no user. */
  #holderOf(
    subject: Subject,
    bindingNamespace: string,
  ): { holder: Map<string, Grants>; name: string } | undefined {
    switch (subject.kind) {
      case 'User':
        return { holder: this.#users, name: subject.name }
      case 'Group':
        return { holder: this.#groups, name: subject.name }
      case 'ServiceAccount': {
        const namespace = subject.namespace || bindingNamespace
        if (namespace === '') return undefined
        return { holder: this.#users, name: serviceAccountUserName(namespace, subject.name) }
      }
      default:
        return undefined
    }
  }

  #unlink(id: string, { namespace, slot, grants }: IndexedBinding): void {
    this.#bindings.delete(id)
    slot.users -= 1
    this.#dropUnused(slot)
    for (const { holder, name, grant } of grants) {
      const held = holder.get(name)
      if (held === undefined) continue
      if (namespace === '') held.cluster = held.cluster.filter((one) => one !== grant)
      else {
        const rest = held.byNamespace.get(namespace)?.filter((one) => one !== grant) ?? []
        if (rest.length === 0) held.byNamespace.delete(namespace)
        else held.byNamespace.set(namespace, rest)
      }
      if (held.cluster.length === 0 && held.byNamespace.size === 0) holder.delete(name)
    }
  }
}
