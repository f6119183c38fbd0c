/**
 * Conversion by a service that a definition names: all objects of a call in one review (upstream: apiextensions-apiserver
 * pkg/apiserver/conversion/webhook_converter.go).
 */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import type { CustomResourceDefinition } from '../../api/generated/types.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import { WebhookFault } from '../request/webhook-fault.ts'
import {
  createReviewSender,
  WebhookCallError,
  type ReviewSender,
  type ReviewSenderOptions,
  type ReviewTarget,
} from '../egress/review-sender.ts'
import {
  answeredObjects,
  identityFault,
  kindText,
  reviewOf,
  withOriginalMetadata,
  type Asked,
} from './conversion-review.ts'

const timeoutMs = 30_000

/** Gives the objects in that version, in their order. Rejects with a ConversionFault. */
export type ConvertRemotely = (
  objects: readonly KubeObject[],
  apiVersion: string,
) => Promise<KubeObject[]>

/** A conversion that failed, as upstream answers it: an error without a reason. */
export class ConversionFault extends WebhookFault {
  constructor(message: string, cause?: unknown) {
    super('', message, { cause })
  }
}

export interface Converters {
  /** The conversion by the definition's service; undefined when it names none. */
  of(definition: CustomResourceDefinition): ConvertRemotely | undefined
  /** Closes connections to services that none of the definitions names. */
  keep(definitions: readonly CustomResourceDefinition[]): void
}

interface ConversionDependencies {
  readonly sender: ReviewSender
  readonly clock: Clock
  readonly dialect: Dialect
}

/** Of one answer, which holds all objects of a list. */
const maxAnswerBytes = 256 * 1024 * 1024

export function createConverters(
  options: Pick<ReviewSenderOptions, 'reader' | 'clock' | 'egress'> & {
    readonly resources: Resources
    readonly dialect: Dialect
  },
): Converters {
  const { resources, clock, dialect } = options
  const { services, endpoints } = resources
  const sender = createReviewSender({ ...options, services, endpoints, maxAnswerBytes })
  return {
    of: (definition) => conversionWebhook(definition, { sender, clock, dialect }),
    keep: (definitions) => sender.keep(definitions.flatMap((one) => targetOf(one) ?? [])),
  }
}

/** The service that a definition names; undefined when its versions are converted without one. */
function targetOf({ spec }: CustomResourceDefinition): ReviewTarget | undefined {
  const { strategy, webhook } = spec.conversion ?? {}
  const { clientConfig } = webhook ?? {}
  if (strategy !== 'Webhook' || !clientConfig) return undefined
  const { url, service, caBundle } = clientConfig
  const ca = caBundle ? Buffer.from(caBundle, 'base64').toString() : undefined
  return { url, service, ca, timeoutMs }
}

function conversionWebhook(
  definition: CustomResourceDefinition,
  { sender, clock, dialect }: ConversionDependencies,
): ConvertRemotely | undefined {
  const target = targetOf(definition)
  if (target === undefined) return undefined
  const versions = definition.spec.conversion?.webhook?.conversionReviewVersions ?? []
  const version = versions.find((one) => one === 'v1' || one === 'v1beta1')

  async function answered(asked: Asked): Promise<readonly unknown[]> {
    try {
      return answeredObjects(await sender.send(target as ReviewTarget, reviewOf(asked)), asked)
    } catch (error) {
      const [first] = asked.objects
      const what = first === undefined ? '' : kindText(first)
      const why = error instanceof WebhookCallError ? error.why : (error as Error).message
      throw new ConversionFault(`conversion webhook for ${what} failed: ${why}`, error)
    }
  }

  return async (objects, desiredApiVersion) => {
    if (version === undefined) {
      throw new ConversionFault('no supported conversion review versions')
    }
    const apiVersion = `${apiGroup(dialect, 'apiextensions')}/${version}`
    const asked = { apiVersion, uid: clock.uuid(), objects, desiredApiVersion }
    const converted = await answered(asked)
    if (converted.length !== objects.length) {
      const [first] = objects
      const what = first === undefined ? '' : kindText(first)
      throw new ConversionFault(
        `conversion webhook for ${what} returned ${converted.length} objects, expected ${objects.length}`,
      )
    }
    const isList = objects.length > 1
    return objects.map((original, index) =>
      taken(converted[index], original, { apiVersion: desiredApiVersion, index, isList }),
    )
  }
}

/** One object of an answer, as it counts. Throws a ConversionFault that tells what is wrong with it. */
function taken(
  object: unknown,
  original: KubeObject,
  at: { apiVersion: string; index: number; isList: boolean },
): KubeObject {
  const { apiVersion, index, isList } = at
  const by = `conversion webhook for ${kindText(original)} returned`
  const fault = identityFault(object, original, apiVersion)
  if (fault !== undefined) {
    const place = fault.field === 'version' || isList ? ` at index ${index}` : ''
    const what = isList ? 'invalid converted object' : 'invalid object'
    throw new ConversionFault(`${by} ${what}${place}: ${fault.why}`)
  }
  try {
    return withOriginalMetadata(object as Record<string, unknown>, original)
  } catch (error) {
    const place = isList ? ` in object at index ${index}` : ''
    throw new ConversionFault(`${by} invalid metadata${place}: ${(error as Error).message}`, error)
  }
}
