/** The syntax of label keys and label values, with upstream's messages (apimachinery pkg/util/validation). */

const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

const nameRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const qualifiedRule =
  "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
const subdomainRule =
  "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const valueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/** What is wrong with a qualified name (a label or annotation key); empty when it is valid. */
export function qualifiedNameFaults(name: string): string[] {
  const parts = name.split('/')
  const faults: string[] = []
  let local = name
  if (parts.length === 2) {
    const [prefix = '', rest = ''] = parts
    local = rest
    if (prefix === '') faults.push('prefix part must be non-empty')
    else {
      if (prefix.length > 253) faults.push('prefix part must be no more than 253 characters')
      if (!subdomain.test(prefix)) faults.push(subdomainRule)
    }
  } else if (parts.length > 2) {
    return [qualifiedRule]
  }
  if (local === '') faults.push('name part must be non-empty')
  else if (local.length > 63) faults.push('name part must be no more than 63 characters')
  if (!namePart.test(local)) faults.push(nameRule)
  return faults
}

/** What is wrong with a label value; empty when it is valid. */
export function labelValueFaults(value: string): string[] {
  const faults: string[] = []
  if (value.length > 63) faults.push('must be no more than 63 characters')
  if (!labelValue.test(value)) faults.push(valueRule)
  return faults
}
