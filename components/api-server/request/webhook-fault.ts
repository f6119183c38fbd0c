/** WebhookFault: an answer to a request that a webhook, not this server, is to blame for; so it is not logged as a bug. */
import { StatusError } from '../../machinery/objects/status-error.ts'

export class WebhookFault extends StatusError {}

/** A webhook that did not answer, or not as it should: upstream's internal error. */
export function webhookFault(why: string, cause?: unknown): WebhookFault {
  return new WebhookFault('InternalError', `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
    cause,
  })
}
