/** Webhook: one entry of a webhook configuration, compiled for matching and calls. */
import type {
  MatchCondition,
  MutatingWebhook,
  RuleWithOperations,
  ServiceReference,
} from '../../../api/generated/types.ts'
import {
  labelSelectorFrom,
  type LabelSelector,
} from '../../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'

export interface Webhook {
  /** Unique: configuration, name and, among webhooks of the same name, a number. */
  readonly id: string
  readonly name: string
  readonly configuration: string
  readonly rules: readonly RuleWithOperations[]
  readonly ignoresFailure: boolean
  readonly matchesEquivalent: boolean
  readonly namespaceSelector: LabelSelector
  readonly objectSelector: LabelSelector
  readonly matchConditions: readonly MatchCondition[]
  /** Whether a dry run has no side effects. */
  readonly isFitForDryRun: boolean
  readonly timeoutMs: number
  /** The version of its reviews: the first of its list that the server supports. */
  readonly reviewVersion: 'v1' | 'v1beta1' | undefined
  readonly isReinvocable: boolean
  readonly url: string | undefined
  readonly service: ServiceReference | undefined
  /** PEM; undefined: the host's own authorities. */
  readonly ca: string | undefined
}

function isKnownVersion(version: string): version is 'v1' | 'v1beta1' {
  return version === 'v1' || version === 'v1beta1'
}

function webhookOf(webhook: MutatingWebhook, configuration: string, id: string): Webhook {
  const { clientConfig, timeoutSeconds = 10, sideEffects } = webhook
  return {
    id,
    name: webhook.name,
    configuration,
    rules: webhook.rules ?? [],
    ignoresFailure: webhook.failurePolicy === 'Ignore',
    matchesEquivalent: webhook.matchPolicy !== 'Exact',
    namespaceSelector: labelSelectorFrom(webhook.namespaceSelector ?? {}),
    objectSelector: labelSelectorFrom(webhook.objectSelector ?? {}),
    matchConditions: webhook.matchConditions ?? [],
    isFitForDryRun: sideEffects === 'None' || sideEffects === 'NoneOnDryRun',
    timeoutMs: timeoutSeconds * 1000,
    reviewVersion: webhook.admissionReviewVersions.find(isKnownVersion),
    isReinvocable: webhook.reinvocationPolicy === 'IfNeeded',
    url: clientConfig.url,
    service: clientConfig.service,
    ca: clientConfig.caBundle ? Buffer.from(clientConfig.caBundle, 'base64').toString() : undefined,
  }
}

/** The webhooks of all configurations of a kind, in the order they are called: by configuration name, then as listed. */
export function webhooksOf(configurations: readonly KubeObject[]): Webhook[] {
  return configurations
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
    .flatMap((configuration) => {
      const name = configuration.metadata.name ?? ''
      const webhooks = (configuration['webhooks'] ?? []) as readonly MutatingWebhook[]
      const seen = new Map<string, number>()
      return webhooks.map((webhook) => {
        const count = seen.get(webhook.name) ?? 0
        seen.set(webhook.name, count + 1)
        return webhookOf(webhook, name, `${name}/${webhook.name}/${count}`)
      })
    })
}
