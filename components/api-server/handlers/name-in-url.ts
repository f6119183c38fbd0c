/** name-in-url: the name of an object against the name in the URL that it was sent to. */
import { badRequest } from '../../machinery/objects/status-error.ts'

/** Throws 400 unless the two are the same. */
export function checkNameInUrl(name: string, inUrl: string): void {
  if (name === '') {
    throw badRequest(
      `the name of the object (${inUrl} based on URL) was undeterminable: name must be provided`,
    )
  }
  if (name !== inUrl) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${inUrl})`,
    )
  }
}
