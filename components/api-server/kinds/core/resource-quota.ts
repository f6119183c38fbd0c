/** ResourceQuota (upstream: core/validation ValidateResourceQuota). */
import type { ResourceQuota, ResourceQuotaSpec } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { fieldIsImmutable } from '../../../machinery/validation/object-meta-validation.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { roundUpAmounts } from '../rules/quantities.ts'
import {
  isStandardQuotaResource,
  validateQuotaResourceName,
  validateResourceAmount,
} from '../rules/resource-list.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'

const scopes = new Set([
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
])
const computeResources = new Set([
  'cpu',
  'memory',
  'limits.cpu',
  'limits.memory',
  'requests.cpu',
  'requests.memory',
])
const conflicts = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const

function isScopeOf(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods'
  return !scopes.has(scope) || resource === 'pods' || computeResources.has(resource)
}

/** Rules that hold for scopes in either of the two places. `report` says what is wrong with them. */
function checkScopes(
  names: readonly string[],
  hard: ResourceQuotaSpec['hard'],
  report: (detail: string) => void,
): void {
  for (const name of names) {
    if (!scopes.has(name)) report('unsupported scope')
    for (const resource in hard) {
      if (isStandardQuotaResource(resource) && !isScopeOf(name, resource)) {
        report('unsupported scope applied to resource')
      }
    }
  }
  for (const pair of conflicts) {
    if (pair.every((name) => names.includes(name))) report('conflicting scopes')
  }
}

function validateAmounts(
  amounts: Readonly<Record<string, string>> | undefined,
  at: FieldPath,
  { dialect }: StrategyContext,
): void {
  for (const name in amounts) {
    validateQuotaResourceName(name, at.key(name))
    validateResourceAmount({ name, amount: amounts[name] ?? '', dialect }, at.key(name))
  }
}

function validateQuota(quota: ResourceQuota, root: FieldPath, context: StrategyContext): void {
  const spec = quota.spec ?? {}
  const at = root.child('spec')
  validateAmounts(spec.hard, at.child('hard'), context)
  const names = spec.scopes ?? []
  checkScopes(names, spec.hard, (detail) => {
    at.child('scopes').invalid(goList(names, 'core.ResourceQuotaScope'), detail)
  })
  if (spec.scopeSelector) validateScopeSelector(spec, at.child('scopeSelector'))
}

function validateScopeSelector({ scopeSelector, hard }: ResourceQuotaSpec, parent: FieldPath) {
  const at = parent.child('matchExpressions')
  const expressions = scopeSelector?.matchExpressions ?? []
  for (const { scopeName, operator, values = [] } of expressions) {
    const needsExists = scopeName !== 'PriorityClass' && scopes.has(scopeName)
    if (needsExists && operator !== 'Exists') {
      at.child('operator').invalid(
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      )
    }
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) {
        at.child('values').required(
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        )
      }
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0) {
        at.child('values').invalid(
          goList(values),
          "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
        )
      }
    } else at.child('operator').invalid(operator, 'not a valid selector operator')
  }
  const names = expressions.map(({ scopeName }) => scopeName)
  checkScopes(names, hard, (detail) => at.child('scopeName').invalid(names.join(','), detail))
}

function validateChange({ object, old }: Change<ResourceQuota>, root: FieldPath): void {
  const sorted = ({ spec }: ResourceQuota) => [...new Set(spec?.scopes)].toSorted().join(' ')
  if (sorted(object) === sorted(old)) return
  const shown = goList(object.spec?.scopes, 'core.ResourceQuotaScope')
  root.child('spec').child('scopes').invalid(shown, fieldIsImmutable)
}

export const resourceQuotaStrategy: Strategy = {
  applyDefaults(object) {
    const { spec, status } = object as ResourceQuota
    for (const amounts of [spec?.hard, status?.hard, status?.used]) roundUpAmounts(amounts)
  },
  prepareForCreate(object) {
    object['status'] = {}
  },
  ...validation<ResourceQuota>(validateQuota, validateChange),
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation<ResourceQuota>(({ object }, root, context) => {
        validateAmounts(object.status?.hard, root.child('status').child('hard'), context)
        validateAmounts(object.status?.used, root.child('status').child('used'), context)
      }),
    },
  },
}
