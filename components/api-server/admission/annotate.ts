/** Annotations of the audit record that admission adds. */
import type { AdmissionRequest } from './admission.ts'

/** Adds to the audit record unless it has an annotation of that name. */
export function annotate(request: AdmissionRequest, name: string, value: string): void {
  const annotations = request.context?.annotations
  if (annotations !== undefined) annotations[name] ??= value
}
