/** The configuration of ImagePolicyWebhook (upstream: plugin/pkg/admission/imagepolicy/config.go). */
import { resolve } from 'node:path'
import { formatDuration } from '../../../component-base/flags.ts'
import { flag, int32, struct, text } from '../../../machinery/configuration/config-schema.ts'
import {
  ConfigurationError,
  readUnversioned,
} from '../../../machinery/configuration/read-configuration.ts'
import { webhookConnectionOf, type WebhookConnection } from '../../egress/webhook-client.ts'

export interface ImagePolicySettings {
  readonly connection: WebhookConnection
  /** How long the webhook's answers are cached; 0 caches none. */
  readonly allowMs: number
  readonly denyMs: number
  /** Before the second attempt of a call. */
  readonly retryMs: number
  /** Whether pods are admitted when the webhook gives no answer. */
  readonly allowsByDefault: boolean
}

const schema = struct('AdmissionConfig', {
  imagePolicy: struct('imagePolicyWebhookConfig', {
    kubeConfigFile: text,
    allowTTL: int32,
    denyTTL: int32,
    retryBackoff: int32,
    defaultAllow: flag,
  }),
})

interface RawConfiguration {
  readonly imagePolicy?: {
    readonly kubeConfigFile?: string
    readonly allowTTL?: number
    readonly denyTTL?: number
    readonly retryBackoff?: number
    readonly defaultAllow?: boolean
  }
}

interface Span {
  readonly unitMs: number
  readonly defaultMs: number
  readonly mostMs: number
  /** The bounds as messages show them; a value must be above the first. */
  readonly shown: readonly [least: string, most: string]
  readonly leastMs: number
}

const second = 1000
const minute = 60_000
const ttl = {
  unitMs: second,
  leastMs: second,
  mostMs: 30 * minute,
  shown: ['1s', '30m0s'],
} as const
const retryBackoff: Span = {
  unitMs: 1,
  leastMs: 0,
  defaultMs: 500,
  mostMs: 5 * minute,
  shown: ['1ns', '5m0s'],
}

/** -1 disables, 0 is the default. */
function spanMs(value: number, span: Span): number {
  if (value === -1) return 0
  if (value === 0) return span.defaultMs
  const ms = value * span.unitMs
  if (ms > span.leastMs && ms <= span.mostMs) return ms
  const [least, most] = span.shown
  throw new ConfigurationError(
    `valid value is between ${least} and ${most}, got ${formatDuration(ms)}`,
  )
}

/** Reads the kubeconfig that it names, too. Rejects with an Error that names the fault. */
export async function parseImagePolicyConfiguration(
  source: string,
  { folder }: { readonly folder: string },
): Promise<ImagePolicySettings> {
  const { imagePolicy = {} } = readUnversioned<RawConfiguration>(source, schema)
  const { kubeConfigFile = '', defaultAllow = false } = imagePolicy
  const retryMs = spanMs(imagePolicy.retryBackoff ?? 0, retryBackoff)
  const allowMs = spanMs(imagePolicy.allowTTL ?? 0, { ...ttl, defaultMs: 5 * minute })
  const denyMs = spanMs(imagePolicy.denyTTL ?? 0, { ...ttl, defaultMs: 30 * second })
  if (kubeConfigFile === '') {
    throw new ConfigurationError('imagePolicy.kubeConfigFile: Required value')
  }
  const connection = await webhookConnectionOf(resolve(folder, kubeConfigFile))
  return { connection, allowMs, denyMs, retryMs, allowsByDefault: defaultAllow }
}
