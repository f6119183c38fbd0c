/** MutatingWebhookConfiguration and ValidatingWebhookConfiguration (upstream: pkg/apis/admissionregistration). */
import type { MutatingWebhook } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { label1035 } from '../../../machinery/validation/names.ts'
import { deepEqual, type KubeObject } from '../../../machinery/objects/object.ts'
import type { reportConditionFaults } from '../../expressions/expression-faults.ts'
import type { Strategy } from '../strategy.ts'
import {
  defaultRules,
  failurePolicies,
  matchPolicies,
  validateMatchConditions,
  validateRule,
} from './admission-rules.ts'
import { validateFullyQualifiedName, validateOneOf } from '../rules/field-rules.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import { validateWebhookClient } from '../rules/webhook-client.ts'

const sideEffectClasses = ['None', 'NoneOnDryRun']
/** What earlier versions took too. A configuration that has one already may keep it. */
const allSideEffectClasses = ['None', 'NoneOnDryRun', 'Some', 'Unknown']
const reinvocationPolicies = ['IfNeeded', 'Never']
/** Versions of AdmissionReview that the server speaks. */
const reviewVersions = ['v1', 'v1beta1']
const maxTimeoutSeconds = 30

/** Both kinds' webhooks; those of validating configurations have no reinvocationPolicy. */
function webhooksOf(object: KubeObject): MutatingWebhook[] {
  return (object as { webhooks?: MutatingWebhook[] | null }).webhooks ?? []
}

function defaultWebhook(webhook: MutatingWebhook): void {
  webhook.failurePolicy ??= 'Fail'
  webhook.matchPolicy ??= 'Equivalent'
  webhook.namespaceSelector ??= {}
  webhook.objectSelector ??= {}
  webhook.timeoutSeconds ??= 10
  if (webhook.clientConfig?.service) webhook.clientConfig.service.port ??= 443
  defaultRules(webhook.rules)
}

/** Rules that came with v1: what an earlier release stored against them stays as it is. */
interface Rules {
  readonly sideEffects: readonly string[]
  readonly hasKnownReviewVersion: boolean
  readonly hasUniqueNames: boolean
}

const rulesOfV1: Rules = {
  sideEffects: sideEffectClasses,
  hasKnownReviewVersion: true,
  hasUniqueNames: true,
}

function isKnownReviewVersion(version: string): boolean {
  return reviewVersions.includes(version)
}

function rulesKeptBy(old: KubeObject): Rules {
  const webhooks = webhooksOf(old)
  const isFree = webhooks.every(({ sideEffects = '' }) => sideEffectClasses.includes(sideEffects))
  return {
    sideEffects: isFree ? sideEffectClasses : allSideEffectClasses,
    hasKnownReviewVersion: webhooks.every(({ admissionReviewVersions: versions }) =>
      (versions ?? []).some(isKnownReviewVersion),
    ),
    hasUniqueNames: new Set(webhooks.map(({ name }) => name)).size === webhooks.length,
  }
}

function validateReviewVersions(
  versions: readonly string[],
  at: FieldPath,
  mustBeKnown: boolean,
): void {
  const known = reviewVersions.join(', ')
  if (versions.length === 0) {
    at.required(`must specify one of ${known}`)
    return
  }
  for (const [i, version] of versions.entries()) {
    if (versions.indexOf(version) < i) at.index(i).invalid(version, 'duplicate version')
    else at.index(i).invalidEach(version, label1035(version))
  }
  if (mustBeKnown && !versions.some(isKnownReviewVersion)) {
    at.invalid(goList(versions), `must include at least one of ${known}`)
  }
}

function validateWebhook(webhook: MutatingWebhook, at: FieldPath, rules: Rules): void {
  validateFullyQualifiedName(webhook.name ?? '', at.child('name'))
  for (const [i, rule] of (webhook.rules ?? []).entries()) {
    validateRule(rule, at.child('rules').index(i))
  }
  validateOneOf(webhook.failurePolicy, failurePolicies, at.child('failurePolicy'))
  validateOneOf(webhook.matchPolicy, matchPolicies, at.child('matchPolicy'))
  // A missing class arrives as null.
  const sideEffects = (webhook.sideEffects as string | null | undefined) ?? undefined
  if (sideEffects === undefined) {
    at.child('sideEffects').required(`must specify one of ${rules.sideEffects.join(', ')}`)
  }
  validateOneOf(sideEffects, rules.sideEffects, at.child('sideEffects'))
  const { timeoutSeconds: timeout } = webhook
  if (timeout !== undefined && (timeout < 1 || timeout > maxTimeoutSeconds)) {
    at.child('timeoutSeconds').invalid(
      timeout,
      'the timeout value must be between 1 and 30 seconds',
    )
  }
  validateLabelSelector(webhook.namespaceSelector, at.child('namespaceSelector'))
  validateLabelSelector(webhook.objectSelector, at.child('objectSelector'))
  validateOneOf(webhook.reinvocationPolicy, reinvocationPolicies, at.child('reinvocationPolicy'))
  validateWebhookClient(webhook.clientConfig ?? {}, at.child('clientConfig'))
  validateMatchConditions(webhook.matchConditions ?? [], at.child('matchConditions'))
}

/** Conditions that stay as they are may stay (an earlier release took them). */
function hasNewConditions(webhooks: readonly MutatingWebhook[], old?: KubeObject): boolean {
  const conditionsOf = (list: readonly MutatingWebhook[]) =>
    list.map(({ matchConditions }) => matchConditions ?? [])
  const all = conditionsOf(webhooks)
  if (all.every(({ length }) => length === 0)) return false
  return old === undefined || !deepEqual(all, conditionsOf(webhooksOf(old)))
}

/** Reports conditions that do not compile; undefined for a configuration without any. */
type ReportFaults = typeof reportConditionFaults | undefined

function validateBy(
  { rules, reportFaults }: { rules: Rules; reportFaults: ReportFaults },
  { object, old }: { object: KubeObject; old?: KubeObject },
  at: FieldPath,
): void {
  const seen = new Set<string>()
  const isCompiled = hasNewConditions(webhooksOf(object), old)
  for (const [i, webhook] of webhooksOf(object).entries()) {
    validateWebhook(webhook, at.index(i), rules)
    if (isCompiled) {
      reportFaults?.(webhook.matchConditions ?? [], at.index(i).child('matchConditions'))
    }
    const versions = webhook.admissionReviewVersions ?? []
    const versionsAt = at.index(i).child('admissionReviewVersions')
    validateReviewVersions(versions, versionsAt, rules.hasKnownReviewVersion)
    const { name } = webhook
    if (rules.hasUniqueNames && name && seen.has(name)) at.index(i).child('name').duplicate(name)
    seen.add(name)
  }
}

function validationWith(reportFaults: ReportFaults): Pick<Strategy, 'validate' | 'validateUpdate'> {
  return {
    validate: createValidation((object: KubeObject, root) => {
      validateBy({ rules: rulesOfV1, reportFaults }, { object }, root.child('webhooks'))
    }),
    validateUpdate: updateValidation((change: Change<KubeObject>, root) => {
      const rules = rulesKeptBy(change.old)
      validateBy({ rules, reportFaults }, change, root.child('webhooks'))
    }),
  }
}

function configurationStrategy(setDefaults: (webhook: MutatingWebhook) => void): Strategy {
  const strategy: Strategy = {
    hasGeneration: true,
    allowUnconditionalUpdate: false,
    applyDefaults(object) {
      for (const webhook of webhooksOf(object)) setDefaults(webhook)
    },
    load(object) {
      if (!webhooksOf(object).some(({ matchConditions }) => matchConditions?.length)) {
        return undefined
      }
      return import('../../expressions/expression-faults.ts').then((faults) => ({
        ...strategy,
        ...validationWith(faults.reportConditionFaults),
      }))
    },
    ...validationWith(undefined),
  }
  return strategy
}

export const validatingWebhookConfigurationStrategy = configurationStrategy(defaultWebhook)

export const mutatingWebhookConfigurationStrategy = configurationStrategy((webhook) => {
  defaultWebhook(webhook)
  webhook.reinvocationPolicy ??= 'Never'
})
