/** Names of certificate signers: `example.com/signer-name` (upstream: ValidateSignerName). */
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../machinery/values/go-syntax.ts'
import { label1123, subdomain, type NameRule } from '../../../machinery/validation/names.ts'

const maxDomainLength = 253
/** Domain, slash, and a path that holds a subdomain, a dot and a label. */
const maxLength = maxDomainLength + 1 + 253 + 1 + 63

export function validateSignerName(name: string, at: FieldPath): void {
  if (name === '') {
    at.required()
    return
  }
  const [domain = '', path, ...more] = name.split('/')
  if (path === undefined || more.length > 0) {
    at.invalid(
      name,
      "must be a fully qualified domain and path of the form 'example.com/signer-name'",
    )
    return
  }
  if (domain.length > maxDomainLength) at.tooLong(maxDomainLength)
  validateParts(domain, label1123, at)
  if (!domain.includes('.')) {
    at.invalid(domain, 'should be a domain with at least two segments separated by dots')
  }
  validateParts(path, subdomain, at)
  if (name.length > maxLength) at.tooLong(maxLength)
}

/** Reports the first part that breaks the rule. */
function validateParts(text: string, rule: NameRule, at: FieldPath): void {
  for (const part of text.split('.')) {
    const faults = rule(part)
    if (faults.length === 0) continue
    for (const fault of faults) at.invalid(text, `validating label ${goQuote(part)}: ${fault}`)
    return
  }
}
