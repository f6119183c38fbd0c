/** Rules of valid names. Each rule returns upstream's messages for a text, an empty list when it is fine. */

type Messages = readonly string[]
export type NameRule = (text: string) => Messages

const fine: Messages = []

function oneIf(wrong: boolean, message: string): Messages {
  return wrong ? [message] : fine
}

/** `<what> (e.g. 'a',  or 'b', regex used for validation is '<pattern>')`. */
export function regexMessage(what: string, pattern: string, examples: readonly string[]): string {
  if (examples.length === 0) return `${what} (regex used for validation is '${pattern}')`
  const shown = examples.map((example) => `'${example}', `).join(' or ')
  return `${what} (e.g. ${shown}regex used for validation is '${pattern}')`
}

export function rangeMessage(min: number, max: number): string {
  return `must be between ${min} and ${max}, inclusive`
}

const mustNotBeEmpty = 'must be non-empty'

function maxLengthMessage(bytes: number): string {
  return `must be no more than ${bytes} characters`
}

function byteLength(text: string): number {
  return Buffer.byteLength(text)
}

// A text of n UTF-16 units has at least n bytes, so only long ones need counting.
function isLongerThan(text: string, maxBytes: number): boolean {
  return text.length > maxBytes || (text.length * 3 > maxBytes && byteLength(text) > maxBytes)
}

/** A text matched as a whole, with a limit in bytes. */
interface TextForm {
  readonly pattern: string
  readonly what: string
  readonly examples: readonly string[]
  readonly maxBytes?: number
}

function formRule({ pattern, what, examples, maxBytes = Infinity }: TextForm): NameRule {
  const matcher = new RegExp(`^(?:${pattern})$`)
  const mismatch = regexMessage(what, pattern, examples)
  return (text) => {
    if (matcher.test(text) && text.length <= maxBytes) return fine
    const messages: string[] = []
    if (isLongerThan(text, maxBytes)) messages.push(maxLengthMessage(maxBytes))
    if (!matcher.test(text)) messages.push(mismatch)
    return messages
  }
}

const labelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomainPattern = `${labelPattern}(\\.${labelPattern})*`

/** RFC 1123 subdomain: the usual form of object names. */
export const subdomain = formRule({
  pattern: subdomainPattern,
  what: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  examples: ['example.com'],
  maxBytes: 253,
})

export const wildcardSubdomain = formRule({
  pattern: `\\*\\.${subdomainPattern}`,
  what: "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  examples: ['*.example.com'],
  maxBytes: 253,
})

const label1123Form = formRule({
  pattern: labelPattern,
  what: "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  examples: ['my-name', '123-abc'],
  maxBytes: 63,
})
const subdomainMatcher = new RegExp(`^${subdomainPattern}$`)

/** RFC 1123 label: namespaces, containers, volumes. */
export function label1123(text: string): Messages {
  const messages = label1123Form(text)
  if (messages.length === 0 || !text.includes('.') || !subdomainMatcher.test(text)) return messages
  return [...messages.slice(0, -1), 'must not contain dots']
}

/** RFC 1035 label: services. */
export const label1035 = formRule({
  pattern: '[a-z]([-a-z0-9]*[a-z0-9])?',
  what: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  examples: ['my-name', 'abc-123'],
  maxBytes: 63,
})

const qualifiedPart: TextForm = {
  pattern: '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]',
  what: "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ['MyName', 'my.name', '123-abc'],
  maxBytes: 63,
}
const qualifiedPartMismatch = regexMessage(
  qualifiedPart.what,
  qualifiedPart.pattern,
  qualifiedPart.examples,
)
const qualifiedPartRule = formRule(qualifiedPart)

/** Label keys, annotation keys (in lower case), finalizers, condition types: `[prefix/]name`. */
export function qualifiedName(text: string): Messages {
  const slash = text.indexOf('/')
  const prefix = slash < 0 ? undefined : text.slice(0, slash)
  const name = slash < 0 ? text : text.slice(slash + 1)
  if (name.includes('/')) {
    return [
      `a qualified name ${qualifiedPartMismatch} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const messages: string[] = []
  if (prefix === '') messages.push(`prefix part ${mustNotBeEmpty}`)
  else if (prefix !== undefined) {
    for (const message of subdomain(prefix)) messages.push(`prefix part ${message}`)
  }
  if (name === '') messages.push(`name part ${mustNotBeEmpty}`)
  for (const message of qualifiedPartRule(name)) messages.push(`name part ${message}`)
  return messages.length === 0 ? fine : messages
}

export const labelValue = formRule({
  pattern: `(${qualifiedPart.pattern})?`,
  what: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  examples: ['MyValue', 'my_value', '12345'],
  maxBytes: 63,
})

/** Container port names and numbers in names of services (RFC 6335). */
export function portName(text: string): Messages {
  const messages: string[] = []
  if (isLongerThan(text, 15)) messages.push(maxLengthMessage(15))
  if (!/^[-a-z0-9]+$/.test(text)) {
    messages.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  }
  if (!/[a-z]/.test(text)) messages.push('must contain at least one letter (a-z)')
  if (text.includes('--')) messages.push('must not contain consecutive hyphens')
  if (text.startsWith('-') || text.endsWith('-')) {
    messages.push('must not begin or end with a hyphen')
  }
  return messages
}

export function portNumber(port: number): Messages {
  return oneIf(port < 1 || port > 65_535, rangeMessage(1, 65_535))
}

/** Users and groups of Unix, as far as upstream takes them (apimachinery util/validation: maxUserID). */
export function userOrGroupId(id: number): Messages {
  return oneIf(id < 0 || id > 0x7f_ff_ff_ff, rangeMessage(0, 0x7f_ff_ff_ff))
}

/** Names of environment variables as release 1.32 takes them: any printable ASCII but `=`. */
export function environmentName(text: string): Messages {
  if (text === '') return [`environment variable name ${mustNotBeEmpty}`]
  return oneIf(
    !/^[ -<>-~]+$/.test(text),
    "a valid environment variable name must consist only of printable ASCII characters other than '='",
  )
}

export const cIdentifier = formRule({
  pattern: '[A-Za-z_][A-Za-z0-9_]*',
  what: "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  examples: ['my_name', 'MY_NAME', 'MyName'],
})

const configKeyForm = formRule({
  pattern: '[-._a-zA-Z0-9]+',
  what: "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  examples: ['key.name', 'KEY_NAME', 'key-name'],
  maxBytes: 253,
})

/** Keys of ConfigMaps and Secrets, which become file names. */
export function configKey(text: string): Messages {
  const messages = configKeyForm(text)
  if (!text.startsWith('.')) return messages
  if (text === '.' || text === '..') return [...messages, `must not be '${text}'`]
  return text.startsWith('..') ? [...messages, "must not start with '..'"] : messages
}

export const percentage = formRule({
  pattern: '[0-9]+%',
  what: "a valid percent string must be a numeric string followed by an ending '%'",
  examples: ['1%', '93%'],
})

export const httpHeaderName = formRule({
  pattern: '[-A-Za-z0-9]+',
  what: "a valid HTTP header must consist of alphanumeric characters or '-'",
  examples: ['X-Header-Name'],
})

/** One segment of a URL path: the least any object's name must be. */
export function pathSegment(text: string): Messages {
  if (text === '.' || text === '..') return [`may not be '${text}'`]
  return pathSegmentPrefix(text)
}

function pathSegmentPrefix(text: string): Messages {
  if (!text.includes('/') && !text.includes('%')) return fine
  return ['/', '%'].filter((sign) => text.includes(sign)).map((sign) => `may not contain '${sign}'`)
}

/** The forms a kind can ask of its objects' names. */
export type NameForm = 'subdomain' | 'label' | 'label-1035' | 'path'

const rulesOfForms: Readonly<Record<NameForm, NameRule>> = {
  subdomain,
  label: label1123,
  'label-1035': label1035,
  path: pathSegment,
}

export function objectName(text: string, form: NameForm): Messages {
  return rulesOfForms[form](text)
}

/** Messages for a `generateName`, to which a suffix will be added: a trailing dash is fine. */
export function objectNamePrefix(text: string, form: NameForm): Messages {
  if (form === 'path') return pathSegmentPrefix(text)
  const masked = text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text
  return rulesOfForms[form](masked)
}
