/** ImagePolicyWebhook: asks a service whether a pod's images may run, and caches its answers (upstream: plugin/pkg/admission/imagepolicy). */
import { apiGroup, apiKey, type Dialect } from '../../../api/dialect.ts'
import type { Pod } from '../../../api/generated/types.ts'
import { resourcesOf } from '../../../api/resources.ts'
import type { Clock } from '../../../component-base/clock.ts'
import { messageOf, type Log } from '../../../component-base/log.ts'
import { ExpiringCache } from '../../../component-base/expiring-cache.ts'
import type { WebhookEgress } from '../../egress/review-sender.ts'
import { createWebhookClient, type WebhookClient } from '../../egress/webhook-client.ts'
import type { AdmissionPlugin, AdmissionRequest } from '../admission.ts'
import { annotate } from '../annotate.ts'
import { admissionForbidden } from '../forbid.ts'
import type { PluginSettings } from '../plugin-settings.ts'
import type { ImagePolicySettings } from './image-policy-configuration.ts'

/** As upstream. */
const mostCached = 1024
const timeoutMs = 30_000
/** The audit record adds the domain. */
const auditPrefix = 'imagepolicywebhook.image-policy/'

interface ReviewSpec {
  readonly containers: readonly { readonly image: string }[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly namespace: string
}

interface ReviewStatus {
  readonly allowed?: boolean
  readonly reason?: string
  readonly auditAnnotations?: Readonly<Record<string, string>>
}

interface Options {
  readonly dialect: Dialect
  readonly clock: Clock
  readonly log: Log
  readonly egress: WebhookEgress
}

/** A new pod's images, or those of ephemeral containers that a running pod gets. */
function reviewSpec({ object, subresource, namespace }: AdmissionRequest, dialect: Dialect) {
  const { spec, metadata } = object as Pod
  const containers =
    subresource === ''
      ? [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
      : (spec?.ephemeralContainers ?? [])
  const own = Object.entries(metadata.annotations ?? {}).filter(([key]) =>
    key.includes(`.${apiKey(dialect, 'image-policy', '')}`),
  )
  const review: ReviewSpec = {
    containers: containers.map(({ image = '' }) => ({ image })),
    ...(own.length === 0 ? {} : { annotations: Object.fromEntries(own) }),
    namespace,
  }
  return review
}

class ImagePolicy {
  readonly #settings: ImagePolicySettings
  readonly #options: Options
  readonly #cache: ExpiringCache<ReviewStatus>
  readonly #client: WebhookClient

  constructor(settings: ImagePolicySettings, options: Options) {
    const { clock, egress } = options
    const { connection, retryMs } = settings
    this.#settings = settings
    this.#options = options
    this.#cache = new ExpiringCache({ most: mostCached, clock })
    const dial = egress.controlplane
    this.#client = createWebhookClient(connection, { clock, timeoutMs, dial, retryMs })
  }

  /** Rejects with a 403 if the images may not run. */
  async check(request: AdmissionRequest): Promise<void> {
    const spec = reviewSpec(request, this.#options.dialect)
    const key = JSON.stringify(spec)
    const status = this.#cache.get(key) ?? (await this.#ask(request, spec, key))
    if (status === undefined) return
    for (const [name, value] of Object.entries(status.auditAnnotations ?? {})) {
      annotate(request, `${auditPrefix}${name}`, value)
    }
    if (status.allowed === true) return
    const why =
      status.reason === undefined || status.reason === ''
        ? 'one or more images rejected by webhook backend'
        : `image policy webhook backend denied one or more images: ${status.reason}`
    throw admissionForbidden(request, why)
  }

  /** Undefined when the webhook gave no answer and the pod is admitted for that. */
  async #ask(
    request: AdmissionRequest,
    spec: ReviewSpec,
    key: string,
  ): Promise<ReviewStatus | undefined> {
    const { dialect, log } = this.#options
    const { allowMs, denyMs, allowsByDefault } = this.#settings
    const apiVersion = `${apiGroup(dialect, 'imagepolicy')}/v1alpha1`
    try {
      const answer = await this.#client.review({ apiVersion, kind: 'ImageReview', spec })
      const status = answer as ReviewStatus
      this.#cache.set(key, status, status.allowed === true ? allowMs : denyMs)
      return status
    } catch (error) {
      if (!allowsByDefault) throw admissionForbidden(request, messageOf(error))
      log.warn('error contacting the image policy webhook; the pod is allowed', {
        why: messageOf(error),
      })
      annotate(request, `${auditPrefix}failed-open`, 'true')
      const { metadata } = request.object as Pod
      const failedOpen = `alpha.${apiKey(dialect, 'image-policy', 'failed-open')}`
      metadata.annotations = { ...metadata.annotations, [failedOpen]: 'true' }
      return undefined
    }
  }
}

/** Throws an Error without a configuration. */
export function imagePolicyWebhook(
  options: Options & { readonly settings: Pick<PluginSettings, 'ImagePolicyWebhook'> },
): AdmissionPlugin {
  const settings = options.settings.ImagePolicyWebhook
  if (settings === undefined) throw new Error('no config specified')
  const { pods } = resourcesOf(options.dialect)
  const policy = new ImagePolicy(settings, options)
  return {
    name: 'ImagePolicyWebhook',
    validate(request) {
      const { operation, resource, subresource, object } = request
      if (resource !== pods || object === undefined) return
      if (operation !== 'CREATE' && operation !== 'UPDATE') return
      if (subresource !== '' && subresource !== 'ephemeralcontainers') return
      return policy.check(request)
    },
  }
}
