/** Domain names as fields have them (upstream: apimachinery util/validation IsFullyQualifiedDomainName). */
import type { FieldPath } from './field-path.ts'
import { label1123, subdomain } from './names.ts'

/** A domain of at least two segments; a trailing dot is fine. */
export function validateFullyQualifiedDomain(given: string, at: FieldPath): void {
  if (given === '') {
    at.required()
    return
  }
  const name = given.endsWith('.') ? given.slice(0, -1) : given
  const messages = subdomain(name)
  if (messages.length > 0) {
    at.invalid(name, messages.join(','))
    return
  }
  const labels = name.split('.')
  if (labels.length < 2) {
    at.invalid(name, 'should be a domain with at least two segments separated by dots')
    return
  }
  for (const label of labels) {
    const faults = label1123(label)
    if (faults.length === 0) continue
    at.invalid(label, faults.join(','))
    return
  }
}
