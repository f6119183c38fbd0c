/** fault-status: the errors that faults answer with, in upstream's words (apimachinery pkg/api/errors). */
import type { RequestAction } from '../../component-base/request-fault.ts'
import {
  conflict,
  expired,
  internalError,
  objectModified,
  StatusError,
  tooManyRequests,
} from '../../machinery/objects/status-error.ts'
import type { SeenRequest } from './request-matcher.ts'

type Injected = NonNullable<RequestAction['status']>

/** The details of a Status that may say when to come again. */
function detailsOf({ retryAfterSeconds }: Injected): { details: { retryAfterSeconds?: number } } {
  return { details: retryAfterSeconds === undefined ? {} : { retryAfterSeconds } }
}

export function faultStatus(injected: Injected, request: SeenRequest, id: string): StatusError {
  const { code, retryAfterSeconds } = injected
  switch (code) {
    case 409: {
      const { group, resource: plural, name } = request
      return conflict({ group, plural }, name, objectModified)
    }
    case 410:
      return expired('The resourceVersion for the provided list is too old.')
    case 429:
      return tooManyRequests(retryAfterSeconds)
    case 500:
      return internalError(`the fault ${JSON.stringify(id)} of the lab`)
    case 503: {
      const why = 'the server is currently unable to handle the request'
      return new StatusError('ServiceUnavailable', why, detailsOf(injected))
    }
    case 504: {
      const why = 'Timeout: request did not complete within the allotted timeout'
      return new StatusError('Timeout', why, detailsOf(injected))
    }
  }
}
