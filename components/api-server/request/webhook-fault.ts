/** WebhookFault: an error that a webhook causes, so that it is not logged as a bug of this server. */
import { StatusError } from '../../machinery/objects/status-error.ts'

export class WebhookFault extends StatusError {}

/** No answer, or an invalid one: upstream's internal error. */
export function webhookFault(why: string, cause?: unknown): WebhookFault {
  return new WebhookFault('InternalError', `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
    cause,
  })
}
