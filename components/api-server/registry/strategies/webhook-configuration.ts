/** MutatingWebhookConfiguration and ValidatingWebhookConfiguration (upstream: pkg/apis/admissionregistration). */
import type { MutatingWebhook } from '../../../api/generated/types.ts'
import { FieldPath } from '../../../machinery/field-path.ts'
import { goList } from '../../../machinery/go-syntax.ts'
import { validateLabelSelector } from '../../../machinery/label-validation.ts'
import { label1035 } from '../../../machinery/names.ts'
import type { KubeObject } from '../../../machinery/object.ts'
import type { FieldError } from '../../../machinery/status-error.ts'
import type { Strategy } from '../strategy.ts'
import {
  defaultRules,
  failurePolicies,
  matchPolicies,
  validateMatchConditions,
  validateRule,
} from './admission-rules.ts'
import { validateFullyQualifiedName, validateOneOf } from './field-rules.ts'
import { validateWebhookClient } from './webhook-client.ts'

const sideEffectClasses = ['None', 'NoneOnDryRun']
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

function validateReviewVersions(versions: readonly string[], at: FieldPath): void {
  const known = reviewVersions.join(', ')
  if (versions.length === 0) {
    at.required(`must specify one of ${known}`)
    return
  }
  for (const [i, version] of versions.entries()) {
    if (versions.indexOf(version) < i) at.index(i).invalid(version, 'duplicate version')
    else at.index(i).invalidEach(version, label1035(version))
  }
  if (!versions.some((version) => reviewVersions.includes(version))) {
    at.invalid(goList(versions), `must include at least one of ${known}`)
  }
}

function validateWebhook(webhook: MutatingWebhook, at: FieldPath): void {
  validateFullyQualifiedName(webhook.name ?? '', at.child('name'))
  for (const [i, rule] of (webhook.rules ?? []).entries()) {
    validateRule(rule, at.child('rules').index(i))
  }
  validateOneOf(webhook.failurePolicy, failurePolicies, at.child('failurePolicy'))
  validateOneOf(webhook.matchPolicy, matchPolicies, at.child('matchPolicy'))
  // A missing class arrives as null.
  const sideEffects = (webhook.sideEffects as string | null | undefined) ?? undefined
  if (sideEffects === undefined) {
    at.child('sideEffects').required(`must specify one of ${sideEffectClasses.join(', ')}`)
  }
  validateOneOf(sideEffects, sideEffectClasses, at.child('sideEffects'))
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

function validate(object: KubeObject): FieldError[] {
  const at = FieldPath.root('webhooks')
  const seen = new Set<string>()
  for (const [i, webhook] of webhooksOf(object).entries()) {
    validateWebhook(webhook, at.index(i))
    const versions = webhook.admissionReviewVersions ?? []
    validateReviewVersions(versions, at.index(i).child('admissionReviewVersions'))
    const { name } = webhook
    if (name && seen.has(name)) at.index(i).child('name').duplicate(name)
    seen.add(name)
  }
  return at.errors
}

export const validatingWebhookConfigurationStrategy: Strategy = {
  hasGeneration: true,
  allowUnconditionalUpdate: false,
  applyDefaults(object) {
    for (const webhook of webhooksOf(object)) defaultWebhook(webhook)
  },
  validate,
  validateUpdate: validate,
}

export const mutatingWebhookConfigurationStrategy: Strategy = {
  ...validatingWebhookConfigurationStrategy,
  applyDefaults(object) {
    for (const webhook of webhooksOf(object)) {
      defaultWebhook(webhook)
      webhook.reinvocationPolicy ??= 'Never'
    }
  },
}
