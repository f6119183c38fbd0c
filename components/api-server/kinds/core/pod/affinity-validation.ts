/** Rules of node selection: affinities, node selectors, tolerations, topology spread. */
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import type { LabelSelectorValue } from '../../../../machinery/validation/label-validation.ts'
import {
  validateLabelName,
  validateLabelSelector,
} from '../../../../machinery/validation/label-validation.ts'
import { label1123, labelValue, subdomain } from '../../../../machinery/validation/names.ts'
import { validateOneOf } from '../../rules/field-rules.ts'

const required = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution'

export function validateAffinity(affinity: Affinity, at: FieldPath): void {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity
  if (nodeAffinity) {
    const nodeAt = at.child('nodeAffinity')
    if (nodeAffinity[required]) validateNodeSelector(nodeAffinity[required], nodeAt.child(required))
    for (const [i, { weight, preference }] of (nodeAffinity[preferred] ?? []).entries()) {
      const termAt = nodeAt.child(preferred).index(i)
      validateWeight(weight, termAt)
      validateNodeSelectorTerm(preference, termAt.child('preference'))
    }
  }
  if (podAffinity) validatePodAffinity(podAffinity, at.child('podAffinity'))
  if (podAntiAffinity) validatePodAffinity(podAntiAffinity, at.child('podAntiAffinity'))
}

function validateWeight(weight: number, at: FieldPath): void {
  if (!(weight > 0 && weight <= 100)) {
    at.child('weight').invalid(weight ?? 0, 'must be in the range 1-100')
  }
}

export function validateNodeSelector(selector: NodeSelector, at: FieldPath): void {
  const termsAt = at.child('nodeSelectorTerms')
  const terms = selector.nodeSelectorTerms ?? []
  if (terms.length === 0) termsAt.required('must have at least one node selector term')
  for (const [i, term] of terms.entries()) validateNodeSelectorTerm(term, termsAt.index(i))
}

function validateNodeSelectorTerm(term: NodeSelectorTerm | undefined, at: FieldPath): void {
  for (const [i, requirement] of (term?.matchExpressions ?? []).entries()) {
    validateExpression(requirement, at.child('matchExpressions').index(i))
  }
  for (const [i, requirement] of (term?.matchFields ?? []).entries()) {
    validateFieldExpression(requirement, at.child('matchFields').index(i))
  }
}

function validateExpression(requirement: NodeSelectorRequirement, at: FieldPath): void {
  const { key, operator, values = [] } = requirement
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0) {
        at.child('values').required("must be specified when `operator` is 'In' or 'NotIn'")
      }
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        at.child('values').forbidden(
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )
      }
      break
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) {
        at.child('values').required(
          "must be specified single value when `operator` is 'Lt' or 'Gt'",
        )
      }
      break
    default:
      at.child('operator').invalid(operator ?? '', 'not a valid selector operator')
  }
  validateLabelName(key ?? '', at.child('key'))
}

function validateFieldExpression(requirement: NodeSelectorRequirement, at: FieldPath): void {
  const { key, operator, values = [] } = requirement
  if (operator !== 'In' && operator !== 'NotIn') {
    at.child('operator').invalid(operator ?? '', 'not a valid selector operator')
  } else if (values.length !== 1) {
    at.child('values').required(
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    )
  }
  if (key !== 'metadata.name') {
    at.child('key').invalid(key ?? '', 'not a valid field selector key')
    return
  }
  for (const [i, value] of values.entries()) {
    at.child('values').index(i).invalidEach(value, subdomain(value))
  }
}

function validatePodAffinity(affinity: PodAffinity, at: FieldPath): void {
  for (const [i, term] of (affinity[required] ?? []).entries()) {
    validatePodAffinityTerm(term, at.child(required).index(i))
  }
  for (const [i, { weight, podAffinityTerm }] of (affinity[preferred] ?? []).entries()) {
    const termAt = at.child(preferred).index(i)
    validateWeight(weight, termAt)
    validatePodAffinityTerm(podAffinityTerm, termAt.child('podAffinityTerm'))
  }
}

function validatePodAffinityTerm(term: PodAffinityTerm | undefined, at: FieldPath): void {
  const { labelSelector, namespaceSelector, namespaces = [], topologyKey = '' } = term ?? {}
  validateLabelSelector(labelSelector, at.child('labelSelector'))
  validateLabelSelector(namespaceSelector, at.child('namespaceSelector'))
  for (const name of namespaces) at.child('namespace').invalidEach(name, label1123(name))
  const { matchLabelKeys = [], mismatchLabelKeys = [] } = term ?? {}
  validateLabelKeys(matchLabelKeys, labelSelector, at.child('matchLabelKeys'))
  validateLabelKeys(mismatchLabelKeys, labelSelector, at.child('mismatchLabelKeys'))
  validateKeysAppearOnce(matchLabelKeys, labelSelector, at)
  const mismatching = new Set(mismatchLabelKeys)
  for (const [i, key] of matchLabelKeys.entries()) {
    if (!mismatching.has(key)) continue
    at.child('matchLabelKeys')
      .index(i)
      .invalid(key, 'exists in both matchLabelKeys and mismatchLabelKeys')
  }
  if (topologyKey === '') at.child('topologyKey').required('can not be empty')
  validateLabelName(topologyKey, at.child('topologyKey'))
}

const needsSelector = 'must not be specified when labelSelector is not set'

function validateLabelKeys(
  keys: readonly string[],
  selector: LabelSelectorValue | undefined,
  at: FieldPath,
): void {
  if (keys.length === 0) return
  if (selector === undefined) at.forbidden(needsSelector)
  else for (const [i, key] of keys.entries()) validateLabelName(key, at.index(i))
}

/** The server itself adds one expression per key on creation, so only a second one is a fault. */
function validateKeysAppearOnce(
  keys: readonly string[],
  selector: LabelSelectorValue | undefined,
  at: FieldPath,
): void {
  if (keys.length === 0) return
  const places = new Map(keys.map((key, i) => [key, i] as const).toReversed())
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}))
  for (const { key } of selector?.matchExpressions ?? []) {
    const i = places.get(key)
    if (i !== undefined && seen.has(key)) {
      at.index(i).invalid(key, 'exists in both matchLabelKeys and labelSelector')
    }
    seen.add(key)
  }
}

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

export function validateTaintEffect(effect: string, at: FieldPath): void {
  validateOneOf(effect, taintEffects, at)
}

export function validateTolerations(tolerations: readonly Toleration[], at: FieldPath): void {
  for (const [i, toleration] of tolerations.entries()) {
    const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration
    const tolerationAt = at.index(i)
    if (key !== '') validateLabelName(key, tolerationAt.child('key'))
    else if (operator !== 'Exists') {
      tolerationAt
        .child('operator')
        .invalid(
          operator,
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        )
    }
    if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
      tolerationAt
        .child('effect')
        .invalid(effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    }
    if (operator === 'Equal' || operator === '') {
      const messages = labelValue(value)
      if (messages.length > 0) tolerationAt.child('operator').invalid(value, messages.join(';'))
    } else if (operator !== 'Exists') {
      tolerationAt.child('operator').unsupported(operator, ['Equal', 'Exists'])
    } else if (value !== '') {
      tolerationAt
        .child('operator')
        .invalid(value, "value must be empty when `operator` is 'Exists'")
    }
    if (effect !== '') validateTaintEffect(effect, tolerationAt.child('effect'))
  }
}

const nodePolicies = ['Honor', 'Ignore']
const mustBePositive = 'must be greater than zero'

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[],
  at: FieldPath,
): void {
  const pairOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint): string =>
    `${whenUnsatisfiable} ${topologyKey}`
  const last = new Map(constraints.map((constraint, i) => [pairOf(constraint), i]))
  for (const [i, constraint] of constraints.entries()) {
    const { maxSkew, topologyKey, whenUnsatisfiable, minDomains, labelSelector } = constraint
    const itemAt = at.index(i)
    if (!(maxSkew > 0)) itemAt.child('maxSkew').invalid(maxSkew ?? 0, mustBePositive)
    if (!topologyKey) itemAt.child('topologyKey').required('can not be empty')
    validateOneOf(
      whenUnsatisfiable ?? '',
      ['DoNotSchedule', 'ScheduleAnyway'],
      itemAt.child('whenUnsatisfiable'),
    )
    if (last.get(pairOf(constraint)) !== i) {
      itemAt
        .child('{topologyKey, whenUnsatisfiable}')
        .duplicate(`{${topologyKey}, ${whenUnsatisfiable}}`)
    }
    if (minDomains !== undefined) {
      if (minDomains <= 0) itemAt.child('minDomains').invalid(minDomains, mustBePositive)
      if (whenUnsatisfiable !== 'DoNotSchedule') {
        itemAt
          .child('minDomains')
          .invalid(
            minDomains,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
          )
      }
    }
    validateOneOf(constraint.nodeAffinityPolicy, nodePolicies, itemAt.child('nodeAffinityPolicy'))
    validateOneOf(constraint.nodeTaintsPolicy, nodePolicies, itemAt.child('nodeTaintsPolicy'))
    validateSpreadKeys(constraint, itemAt.child('matchLabelKeys'))
    validateLabelSelector(labelSelector, itemAt.child('labelSelector'))
  }
}

function validateSpreadKeys(constraint: TopologySpreadConstraint, at: FieldPath): void {
  const { matchLabelKeys = [], labelSelector } = constraint
  if (matchLabelKeys.length === 0) return
  if (labelSelector === undefined) at.forbidden(needsSelector)
  const selected = new Set([
    ...Object.keys(labelSelector?.matchLabels ?? {}),
    ...(labelSelector?.matchExpressions ?? []).map(({ key }) => key),
  ])
  for (const [i, key] of matchLabelKeys.entries()) {
    validateLabelName(key, at.index(i))
    if (selected.has(key)) {
      at.index(i).invalid(key, 'exists in both matchLabelKeys and labelSelector')
    }
  }
}
