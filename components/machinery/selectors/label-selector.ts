/** Label selectors: parse the query form, take the API's object form, match, and print (upstream: apimachinery pkg/labels). */
import { parseInt64 } from '../values/int64.ts'
import { scanLabelSelector } from './label-selector-tokens.ts'
import type { Token } from './label-selector-tokens.ts'
import { labelValue, qualifiedName } from '../validation/names.ts'
import { badRequest } from '../objects/status-error.ts'

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt'

export interface LabelRequirement {
  readonly key: string
  readonly operator: LabelOperator
  /** Sorted, without repeats. */
  readonly values: readonly string[]
}

/** A parsed selector: all requirements must hold, ordered by key. The empty list selects everything. */
export type LabelSelector = readonly LabelRequirement[]

/** The object form, as in `spec.selector` of workloads. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

export const selectEverything: LabelSelector = []

/** No labels satisfy it. */
export const selectNothing: LabelSelector = [{ key: '', operator: 'in', values: [] }]

/** Longest query form that is parsed at all. */
export const maxSelectorLength = 65_536

/** Parses the query form; throws a BadRequest StatusError with upstream's message. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.length > maxSelectorLength) {
    throw badRequest(`label selector is longer than ${maxSelectorLength} characters`)
  }
  return byKey(new Parser(scanLabelSelector(text)).selector())
}

/** Takes the object form; undefined selects nothing, an empty object everything. Throws a BadRequest StatusError for a bad one. */
export function labelSelectorFrom(object: LabelSelectorObject | undefined | null): LabelSelector {
  if (object === undefined || object === null) return selectNothing
  const requirements = Object.entries(object.matchLabels ?? {}).map(([key, value]) =>
    requirement(key, '=', [value]),
  )
  for (const { key, operator, values } of object.matchExpressions ?? []) {
    const known = objectOperators[operator]
    if (known === undefined) {
      throw badRequest(`"${operator}" is not a valid label selector operator`)
    }
    requirements.push(requirement(key, known, values ?? []))
  }
  return byKey(requirements)
}

/** The selector of a plain map (Service, ReplicationController): every label must have its value. Nothing is validated. */
export function labelSelectorOfMap(labels: Readonly<Record<string, string>>): LabelSelector {
  return byKey(
    Object.entries(labels).map(([key, value]) => ({ key, operator: '=', values: [value] })),
  )
}

export function matchesLabels(
  selector: LabelSelector,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  for (const requirement of selector) if (!meets(requirement, labels)) return false
  return true
}

/** The query form; parsing it gives the same requirements. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector.map(formatRequirement).join(',')
}

/** The object form as tables print it: `<none>` when empty or absent, `<error>` when it is not valid. */
export function printLabelSelector(object: LabelSelectorObject | undefined | null): string {
  if (object === undefined || object === null) return '<none>'
  let selector: LabelSelector
  try {
    selector = labelSelectorFrom(object)
  } catch {
    // A table shows that the object is wrong; it must not fail for it.
    return '<error>'
  }
  return formatLabelSelector(selector) || '<none>'
}

/**
 * The requirements as access reviews carry them, in the operators of the object form. Those without one (`gt`, `lt`) are
 * left out, which only widens what is asked for.
 */
export function reviewRequirements(
  selector: LabelSelector,
): { key: string; operator: string; values: readonly string[] }[] {
  return selector.flatMap(({ key, operator, values }) => {
    const name = reviewOperators[operator]
    return name === undefined ? [] : [{ key, operator: name, values }]
  })
}

const objectOperators: Record<string, LabelOperator | undefined> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

const reviewOperators: Partial<Record<LabelOperator, string>> = {
  in: 'In',
  '=': 'In',
  '==': 'In',
  notin: 'NotIn',
  '!=': 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
}

function byKey(requirements: LabelRequirement[]): LabelSelector {
  return requirements.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

function meets(
  { key, operator, values }: LabelRequirement,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return value !== undefined && values.includes(value)
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case 'gt':
    case 'lt': {
      const have = value === undefined ? undefined : parseInt64(value)
      const limit = parseInt64(values[0] ?? '')
      if (have === undefined || limit === undefined) return false
      return operator === 'gt' ? have > limit : have < limit
    }
  }
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  const list = values.join(',')
  switch (operator) {
    case '!':
      return `!${key}`
    case 'exists':
      return key
    case 'in':
    case 'notin':
      return `${key} ${operator} (${list})`
    case 'gt':
      return `${key}>${list}`
    case 'lt':
      return `${key}<${list}`
    default:
      return `${key}${operator}${list}`
  }
}

/** Validates and normalises one requirement; throws a BadRequest with every fault, as upstream words them. */
function requirement(
  key: string,
  operator: LabelOperator,
  given: readonly string[],
): LabelRequirement {
  const values = [...new Set(given)].sort()
  const faults: string[] = []
  const shown = `[${values.map((value) => `"${value}"`).join(',')}]`
  const keyFaults = qualifiedName(key)
  if (keyFaults.length > 0) faults.push(`key: Invalid value: "${key}": ${keyFaults.join('; ')}`)
  if (operator === 'in' || operator === 'notin') {
    if (values.length === 0) {
      faults.push(
        "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
      )
    }
  } else if (operator === 'exists' || operator === '!') {
    if (values.length > 0) {
      faults.push(
        `values: Invalid value: ${shown}: values set must be empty for exists and does not exist`,
      )
    }
  } else if (operator === 'gt' || operator === 'lt') {
    values.forEach((value, index) => {
      if (parseInt64(value) !== undefined) return
      faults.push(
        `values[${index}]: Invalid value: "${value}": for 'Gt', 'Lt' operators, the value must be an integer`,
      )
    })
  }
  values.forEach((value, index) => {
    const valueFaults = labelValue(value)
    if (valueFaults.length === 0) return
    faults.push(`values[${index}][${key}]: Invalid value: "${value}": ${valueFaults.join('; ')}`)
  })
  if (faults.length > 0) {
    throw badRequest(faults.length === 1 ? (faults[0] ?? '') : `[${faults.join(', ')}]`)
  }
  return { key, operator, values }
}

const binaryOperators = 'in, notin, =, ==, !=, gt, lt'

const tokenOperators: Partial<Record<Token['type'], LabelOperator>> = {
  in: 'in',
  notin: 'notin',
  '=': '=',
  '==': '==',
  '!=': '!=',
  '>': 'gt',
  '<': 'lt',
}

/** Recursive descent over the tokens. Words that are also operators are identifiers wherever no operator may stand. */
class Parser {
  private position = 0
  private readonly tokens: readonly Token[]

  constructor(tokens: readonly Token[]) {
    this.tokens = tokens
  }

  selector(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    for (;;) {
      const token = this.peek()
      if (token.type === 'end') return requirements
      if (!isWord(token) && token.type !== '!') {
        throw badRequest(`found '${token.text}', expected: !, identifier, or 'end of string'`)
      }
      requirements.push(this.requirement())
      const separator = this.next()
      if (separator.type === 'end') return requirements
      if (separator.type !== ',') {
        throw badRequest(`found '${separator.text}', expected: ',' or 'end of string'`)
      }
      const following = this.peek()
      if (!isWord(following) && following.type !== '!') {
        throw badRequest(`found '${following.text}', expected: identifier after ','`)
      }
    }
  }

  private requirement(): LabelRequirement {
    const negated = this.peek().type === '!'
    if (negated) this.next()
    const key = this.next()
    if (!isWord(key)) throw unparsable(`found '${key.text}', expected: identifier`)
    const keyFaults = qualifiedName(key.text)
    if (keyFaults.length > 0) {
      throw unparsable(`<nil>: Invalid value: "${key.text}": ${keyFaults.join('; ')}`)
    }
    const following = this.peek()
    if (negated) return { key: key.text, operator: '!', values: [] }
    if (following.type === 'end' || following.type === ',') {
      return { key: key.text, operator: 'exists', values: [] }
    }
    this.next()
    const operator = tokenOperators[following.type]
    if (operator === undefined) {
      throw unparsable(`found '${following.text}', expected: ${binaryOperators}`)
    }
    const values =
      operator === 'in' || operator === 'notin' ? this.valueList() : [this.exactValue()]
    try {
      return requirement(key.text, operator, values)
    } catch (error) {
      throw unparsable((error as Error).message)
    }
  }

  private exactValue(): string {
    const token = this.peek()
    if (token.type === 'end' || token.type === ',') return ''
    this.next()
    if (!isWord(token)) throw unparsable(`found '${token.text}', expected: identifier`)
    return token.text
  }

  /** `(a,b)`; a gap between commas is the empty value. */
  private valueList(): string[] {
    const open = this.next()
    if (open.type !== '(') throw unparsable(`found '${open.text}' expected: '('`)
    const first = this.peek()
    if (!isWord(first) && first.type !== ',' && first.type !== ')') {
      throw unparsable(`found '${first.text}', expected: ',', ')' or identifier`)
    }
    const values: string[] = []
    let value = ''
    for (;;) {
      const token = this.next()
      if (isWord(token)) {
        value = token.text
        const after = this.peek()
        if (after.type !== ',' && after.type !== ')') {
          throw unparsable(`found '${after.text}', expected: ',' or ')'`)
        }
      } else if (token.type === ',') {
        values.push(value)
        value = ''
      } else if (token.type === ')') {
        values.push(value)
        return values
      } else {
        throw unparsable(`found '${token.text}', expected: ',', or identifier`)
      }
    }
  }

  private peek(): Token {
    return this.tokens[this.position] ?? end
  }

  private next(): Token {
    const token = this.peek()
    this.position++
    return token
  }
}

const end: Token = { type: 'end', text: '' }

function isWord(token: Token): boolean {
  return token.type === 'word' || token.type === 'in' || token.type === 'notin'
}

function unparsable(why: string): Error {
  return badRequest(`unable to parse requirement: ${why}`)
}
