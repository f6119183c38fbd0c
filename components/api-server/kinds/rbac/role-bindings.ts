/** RoleBinding and ClusterRoleBinding (upstream: pkg/apis/rbac/validation). */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import type { RoleBinding, Subject, RoleRef } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goStruct } from '../../../machinery/values/go-syntax.ts'
import { pathSegment } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { validateSubdomain } from '../rules/field-rules.ts'

const rbac = (dialect: Dialect) => apiGroup(dialect, 'rbac.authorization')

function defaultBinding(object: KubeObject, { dialect }: StrategyContext): void {
  const { roleRef, subjects } = object as RoleBinding
  if (roleRef) roleRef.apiGroup ||= rbac(dialect)
  for (const subject of subjects ?? []) {
    if (subject.kind === 'User' || subject.kind === 'Group') subject.apiGroup ||= rbac(dialect)
  }
}

function validateSubject(
  subject: Subject,
  at: FieldPath,
  { isNamespaced, group }: { isNamespaced: boolean; group: string },
): void {
  const { kind, name = '', apiGroup: given = '', namespace = '' } = subject
  if (name === '') at.child('name').required()
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') validateSubdomain(name, at.child('name'))
      if (given !== '') at.child('apiGroup').unsupported(given, [''])
      if (!isNamespaced && namespace === '') at.child('namespace').required()
      break
    case 'User':
    case 'Group':
      if (name === '') at.child('name').invalid(name, `${kind.toLowerCase()} name cannot be empty`)
      if (given !== group) at.child('apiGroup').unsupported(given, [group])
      break
    default:
      at.child('kind').unsupported(kind, ['ServiceAccount', 'User', 'Group'])
  }
}

const noRole: RoleRef = { apiGroup: '', kind: '', name: '' }

function bindingStrategy(isNamespaced: boolean, roleKinds: readonly string[]): Strategy {
  function validate(object: KubeObject, { dialect }: StrategyContext): FieldError[] {
    const root = FieldPath.root()
    const at = root.child('roleRef')
    const { roleRef = noRole, subjects } = object as RoleBinding
    const group = rbac(dialect)
    if (roleRef.apiGroup !== group) at.child('apiGroup').unsupported(roleRef.apiGroup, [group])
    if (!roleKinds.includes(roleRef.kind)) at.child('kind').unsupported(roleRef.kind, roleKinds)
    if (!roleRef.name) at.child('name').required()
    else at.child('name').invalidEach(roleRef.name, pathSegment(roleRef.name))
    for (const [i, subject] of (subjects ?? []).entries()) {
      validateSubject(subject, root.child('subjects').index(i), { isNamespaced, group })
    }
    return root.errors
  }

  function validateRoleRef(object: KubeObject, old: KubeObject): FieldError[] {
    const at = FieldPath.root('roleRef')
    const { apiGroup: APIGroup, kind: Kind, name: Name } = (object as RoleBinding).roleRef
    const before = (old as RoleBinding).roleRef
    if (APIGroup !== before.apiGroup || Kind !== before.kind || Name !== before.name) {
      at.invalid(goStruct('rbac.RoleRef', { APIGroup, Kind, Name }), 'cannot change roleRef')
    }
    return at.errors
  }

  return {
    nameForm: 'path',
    applyDefaults: defaultBinding,
    validate,
    validateUpdate: (object, old, context) => [
      ...validate(object, context),
      ...validateRoleRef(object, old),
    ],
  }
}

export const roleBindingStrategy = bindingStrategy(true, ['Role', 'ClusterRole'])

export const clusterRoleBindingStrategy = bindingStrategy(false, ['ClusterRole'])
