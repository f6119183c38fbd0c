/** PluginSettings: what the AdmissionConfiguration says of each plugin that can be configured. */
import type { Dialect } from '../../api/dialect.ts'
import type { EventRateLimits } from './event-rate-limit/event-rate-limit-configuration.ts'
import { parseEventRateLimits } from './event-rate-limit/event-rate-limit-configuration.ts'
import {
  parseImagePolicyConfiguration,
  type ImagePolicySettings,
} from './image-policy/image-policy-configuration.ts'
import {
  parsePodTolerationConfiguration,
  type PodTolerationSettings,
} from './pod-toleration-configuration.ts'
import { parsePodNodeSelectors } from './pod-node-selector-configuration.ts'
import { parsePodSecurityConfiguration } from './pod-security/pod-security-configuration.ts'
import type { PodSecurityRules } from './pod-security/policy.ts'
import { parseQuotaConfiguration } from './quota/quota-configuration.ts'
import type { LimitedResource } from './quota/quota-check.ts'
import type { CredentialsFor } from '../egress/review-sender.ts'
import { parseWebhookConfiguration } from './webhook/webhook-credentials.ts'

/** By plugin. A plugin that is not configured has no entry. */
export interface PluginSettings {
  /** Default: namespaces without labels are privileged, and there are no exemptions. */
  readonly PodSecurity?: PodSecurityRules
  /** Resources that cannot be used without a quota. */
  readonly ResourceQuota?: readonly LimitedResource[]
  readonly EventRateLimit?: EventRateLimits
  readonly ImagePolicyWebhook?: ImagePolicySettings
  /** Node selectors by namespace, as text. */
  readonly PodNodeSelector?: ReadonlyMap<string, string>
  readonly PodTolerationRestriction?: PodTolerationSettings
  readonly MutatingAdmissionWebhook?: CredentialsFor
  readonly ValidatingAdmissionWebhook?: CredentialsFor
}

/** Reads a plugin's document; `folder` is where the files that it names are. */
type Parse<Settings> = (
  source: string,
  from: { readonly dialect: Dialect; readonly folder: string },
) => Settings | Promise<Settings>

type Parsers = { readonly [Name in keyof PluginSettings]-?: Parse<PluginSettings[Name]> }

const parsers: Parsers = {
  PodSecurity: (source, { dialect }) => parsePodSecurityConfiguration(source, dialect),
  ResourceQuota: (source, { dialect }) => parseQuotaConfiguration(source, dialect),
  EventRateLimit: (source, { dialect }) => parseEventRateLimits(source, dialect),
  ImagePolicyWebhook: parseImagePolicyConfiguration,
  PodNodeSelector: (source) => parsePodNodeSelectors(source),
  PodTolerationRestriction: (source, { dialect }) =>
    parsePodTolerationConfiguration(source, dialect),
  MutatingAdmissionWebhook: parseWebhookConfiguration,
  ValidatingAdmissionWebhook: parseWebhookConfiguration,
}

export function isConfigurable(plugin: string): plugin is keyof PluginSettings {
  return Object.hasOwn(parsers, plugin)
}

/** Rejects with ConfigurationError. */
export async function readPluginSettings(
  plugin: keyof PluginSettings,
  source: string,
  from: { readonly dialect: Dialect; readonly folder: string },
): Promise<PluginSettings> {
  return { [plugin]: await parsers[plugin](source, from) }
}
