/** Rules of a Job's spec, for Jobs and for the templates of CronJobs. */
import type { Dialect } from '../../../api/dialect.ts'
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
  SuccessPolicyRule,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList, goQuote } from '../../../machinery/values/go-syntax.ts'
import { qualifiedName } from '../../../machinery/validation/names.ts'
import {
  goJson,
  validateDomainPrefixedPath,
  validateNonNegative,
  validateNonNegativeFields,
  validateOneOf,
} from '../rules/field-rules.ts'
import { countIndexes } from './job-indexes.ts'
import { validatePodTemplate } from '../core/pod/pod-template-validation.ts'

const maxIndexedParallelism = 100_000
const manyCompletions = 100_000
const maxWithManyCompletions = 10_000
const maxManagedByBytes = 63
const maxRules = 20
const maxExitCodes = 255
const maxConditionPatterns = 20
const maxIndexesBytes = 64 * 1024

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const

export function validateJobSpec(
  spec: JobSpec,
  at: FieldPath,
  context: { readonly dialect: Dialect },
): void {
  validateNonNegativeFields(spec, counts, at)
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    at.child('backoffLimitPerIndex').required('when maxFailedIndexes is specified')
  }
  if (spec.managedBy !== undefined) {
    validateDomainPrefixedPath(spec.managedBy, at.child('managedBy'))
    if (spec.managedBy.length > maxManagedByBytes) at.child('managedBy').tooLong(maxManagedByBytes)
  }
  const isIndexed = spec.completionMode === 'Indexed'
  validateOneOf(spec.completionMode, ['NonIndexed', 'Indexed'], at.child('completionMode'))
  if (isIndexed) validateIndexed(spec, at)
  else {
    for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const) {
      const value = spec[field]
      if (value !== undefined) at.child(field).invalid(value, 'requires indexed completion mode')
    }
  }
  const failureAt = at.child('podFailurePolicy').child('rules')
  const failureRules = spec.podFailurePolicy?.rules ?? []
  if (failureRules.length > maxRules) failureAt.tooMany(failureRules.length, maxRules)
  for (const [i, rule] of failureRules.entries()) {
    validateFailureRule(rule, spec, failureAt.index(i))
  }
  if (spec.successPolicy) validateSuccessPolicy(spec, at.child('successPolicy'))
  validateOneOf(
    spec.podReplacementPolicy,
    spec.podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed'],
    at.child('podReplacementPolicy'),
  )
  validatePodTemplate(spec.template, at.child('template'), context)
  validateRestartPolicy(spec, at.child('template').child('spec').child('restartPolicy'))
}

function validateIndexed(spec: JobSpec, at: FieldPath): void {
  const { completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec
  const refuse = (field: 'parallelism' | 'maxFailedIndexes', why: string) => {
    at.child(field).invalid(spec[field], `must be less than or equal to ${why}`)
  }
  if (completions === undefined) {
    at.child('completions').required('when completion mode is Indexed')
  }
  if ((parallelism ?? 0) > maxIndexedParallelism) {
    refuse('parallelism', `${maxIndexedParallelism} when completion mode is Indexed`)
  }
  if (completions !== undefined && (maxFailedIndexes ?? 0) > completions) {
    refuse('maxFailedIndexes', 'completions')
  }
  if ((maxFailedIndexes ?? 0) > maxIndexedParallelism) {
    refuse('maxFailedIndexes', String(maxIndexedParallelism))
  }
  if ((completions ?? 0) <= manyCompletions || backoffLimitPerIndex === undefined) return
  if (maxFailedIndexes === undefined) {
    at.child('maxFailedIndexes').required(
      `must be specified when completions is above ${manyCompletions}`,
    )
  }
  const why = `${maxWithManyCompletions} when completions are above ${manyCompletions} and used with backoff limit per index`
  if ((parallelism ?? 0) > maxWithManyCompletions) refuse('parallelism', why)
  if ((maxFailedIndexes ?? 0) > maxWithManyCompletions) refuse('maxFailedIndexes', why)
}

function validateRestartPolicy(spec: JobSpec, at: FieldPath): void {
  const policy = spec.template?.spec?.restartPolicy ?? ''
  const valid = ['OnFailure', 'Never']
  if (policy === '' || policy === 'Always') {
    at.required(`valid values: ${valid.map(goQuote).join(', ')}`)
  } else if (!valid.includes(policy)) at.unsupported(policy, valid)
  else if (spec.podFailurePolicy && policy !== 'Never') {
    at.invalid(policy, 'only "Never" is supported when podFailurePolicy is specified')
  }
}

const failureActions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const conditionStatuses = ['False', 'True', 'Unknown']
const exitCodeOperators = ['In', 'NotIn']

function requireOneOf(value: string | undefined, supported: readonly string[], at: FieldPath) {
  if (!value) at.required(`valid values: [${supported.map(goQuote).join(' ')}]`)
  else validateOneOf(value, supported, at)
}

function validateFailureRule(rule: PodFailurePolicyRule, spec: JobSpec, at: FieldPath): void {
  const { action, onExitCodes, onPodConditions = [] } = rule
  requireOneOf(action, failureActions, at.child('action'))
  if (action === 'FailIndex' && spec.backoffLimitPerIndex === undefined) {
    at.child('action').invalid(action, 'requires the backoffLimitPerIndex to be set')
  }
  if (onExitCodes) validateExitCodes(onExitCodes, spec, at.child('onExitCodes'))
  const conditionsAt = at.child('onPodConditions')
  if (onPodConditions.length > maxConditionPatterns) {
    conditionsAt.tooMany(onPodConditions.length, maxConditionPatterns)
  }
  for (const [i, { type, status }] of onPodConditions.entries()) {
    conditionsAt
      .index(i)
      .child('type')
      .invalidEach(type, qualifiedName(type ?? ''))
    requireOneOf(status, conditionStatuses, conditionsAt.index(i).child('status'))
  }
  if (onExitCodes && onPodConditions.length > 0) {
    at.invalidWithoutValue('specifying both OnExitCodes and OnPodConditions is not supported')
  }
  if (!onExitCodes && onPodConditions.length === 0) {
    at.invalidWithoutValue('specifying one of OnExitCodes and OnPodConditions is required')
  }
}

function validateExitCodes(
  requirement: PodFailurePolicyOnExitCodesRequirement,
  { template }: JobSpec,
  at: FieldPath,
): void {
  const { operator, containerName } = requirement
  const values = requirement.values ?? []
  requireOneOf(operator, exitCodeOperators, at.child('operator'))
  if (containerName !== undefined) {
    const { containers, initContainers } = template?.spec ?? {}
    const isKnown = [...(containers ?? []), ...(initContainers ?? [])].some(
      ({ name }) => name === containerName,
    )
    if (!isKnown) {
      at.child('containerName').invalid(
        containerName,
        'must be one of the container or initContainer names in the pod template',
      )
    }
  }
  const valuesAt = at.child('values')
  if (values.length === 0) {
    valuesAt.invalid(goList(requirement.values, 'int32'), 'at least one value is required')
  } else if (values.length > maxExitCodes) valuesAt.tooMany(values.length, maxExitCodes)
  const seen = new Set<number>()
  for (const [i, code] of values.entries()) {
    if (operator === 'In' && code === 0) {
      valuesAt.index(i).invalid(code, 'must not be 0 for the In operator')
    }
    if (seen.has(code)) valuesAt.index(i).duplicate(code)
    seen.add(code)
  }
  if (values.some((code, i) => i > 0 && (values[i - 1] ?? 0) > code)) {
    valuesAt.invalid(goList(values, 'int32'), 'must be ordered')
  }
}

function validateSuccessPolicy(spec: JobSpec, at: FieldPath): void {
  if (spec.completionMode !== 'Indexed') {
    at.invalid(goJson(spec.successPolicy), 'requires indexed completion mode')
    return
  }
  const rules = spec.successPolicy?.rules ?? []
  const rulesAt = at.child('rules')
  if (rules.length === 0) {
    rulesAt.required('at least one rules must be specified when the successPolicy is specified')
  }
  if (rules.length > maxRules) rulesAt.tooMany(rules.length, maxRules)
  for (const [i, rule] of rules.entries()) {
    validateSuccessRule(rule, spec.completions ?? 0, rulesAt.index(i))
  }
}

function validateSuccessRule(rule: SuccessPolicyRule, completions: number, at: FieldPath): void {
  const { succeededCount, succeededIndexes } = rule
  if (succeededCount === undefined && succeededIndexes === undefined) {
    at.required('at least one of succeededCount or succeededIndexes must be specified')
  }
  let indexes = 0
  if (succeededIndexes !== undefined) {
    const indexesAt = at.child('succeededIndexes')
    if (succeededIndexes.length > maxIndexesBytes) indexesAt.tooLong(maxIndexesBytes)
    const counted = countIndexes(succeededIndexes, completions)
    if (counted.fault === undefined) indexes = counted.count
    else {
      indexesAt.invalid(succeededIndexes, `error parsing succeededIndexes: ${counted.fault}`)
    }
  }
  if (succeededCount === undefined) return
  const countAt = at.child('succeededCount')
  validateNonNegative(succeededCount, countAt)
  if (succeededCount > completions) {
    countAt.invalid(
      succeededCount,
      `must be less than or equal to ${completions} (the number of specified completions)`,
    )
  }
  if (succeededIndexes !== undefined && succeededCount > indexes) {
    countAt.invalid(
      succeededCount,
      `must be less than or equal to ${indexes} (the number of indexes in the specified succeededIndexes field)`,
    )
  }
}
