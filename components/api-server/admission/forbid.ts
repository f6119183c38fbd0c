/** The 403 of an admission plugin, naming the object as upstream does before its name has been generated. */
import type { StatusError } from '../../machinery/objects/status-error.ts'
import { forbidden } from '../../machinery/objects/status-error.ts'
import type { AdmissionRequest } from './admission.ts'

export function admissionForbidden(request: AdmissionRequest, why: string): StatusError {
  const metadata = request.object?.metadata
  const name = request.name || metadata?.name || metadata?.generateName || 'Unknown'
  return forbidden(request.resource, name, why)
}
