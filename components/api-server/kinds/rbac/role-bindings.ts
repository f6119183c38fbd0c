/** RoleBinding and ClusterRoleBinding (upstream: pkg/apis/rbac/validation). */
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import type { RoleBinding, Subject, RoleRef } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goStruct } from '../../../machinery/values/go-syntax.ts'
import { pathSegment } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { StrategyContext, Strategy } from '../strategy.ts'
import { validateSubdomain } from '../rules/field-rules.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'

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
      if (given !== group) at.child('apiGroup').unsupported(given, [group])
      break
    default:
      at.child('kind').unsupported(kind, ['ServiceAccount', 'User', 'Group'])
  }
}

const noRole: RoleRef = { apiGroup: '', kind: '', name: '' }

function validateRoleRef({ object, old }: Change<RoleBinding>, root: FieldPath): void {
  const { apiGroup: APIGroup, kind: Kind, name: Name } = object.roleRef
  const before = old.roleRef
  if (APIGroup === before.apiGroup && Kind === before.kind && Name === before.name) return
  const shown = goStruct('rbac.RoleRef', { APIGroup, Kind, Name })
  root.child('roleRef').invalid(shown, 'cannot change roleRef')
}

function bindingStrategy(isNamespaced: boolean, roleKinds: readonly string[]): Strategy {
  function validateBinding(
    { roleRef = noRole, subjects }: RoleBinding,
    root: FieldPath,
    { dialect }: StrategyContext,
  ): void {
    const at = root.child('roleRef')
    const group = rbac(dialect)
    if (roleRef.apiGroup !== group) at.child('apiGroup').unsupported(roleRef.apiGroup, [group])
    if (!roleKinds.includes(roleRef.kind)) at.child('kind').unsupported(roleRef.kind, roleKinds)
    if (!roleRef.name) at.child('name').required()
    else at.child('name').invalidEach(roleRef.name, pathSegment(roleRef.name))
    for (const [i, subject] of (subjects ?? []).entries()) {
      validateSubject(subject, root.child('subjects').index(i), { isNamespaced, group })
    }
  }

  return {
    nameForm: 'path',
    applyDefaults: defaultBinding,
    ...validation(validateBinding, validateRoleRef),
  }
}

export const roleBindingStrategy = bindingStrategy(true, ['Role', 'ClusterRole'])

export const clusterRoleBindingStrategy = bindingStrategy(false, ['ClusterRole'])
