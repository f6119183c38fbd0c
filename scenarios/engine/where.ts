/** Where: conditions on objects, such as `status.conditions[type=Ready].status == Unknown`. */

import {
  parseJsonPath,
  valuesAt as jsonPathValues,
} from '../../components/machinery/values/json-path.ts'

export interface Condition {
  readonly text: string
  /** Whether the condition holds, and the values at its path. */
  test(object: unknown): { readonly holds: boolean; readonly values: readonly unknown[] }
}

/** An invalid condition. */
export class WhereError extends Error {}

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'every' }
  | { readonly kind: 'matching'; readonly field: string; readonly value: string }
  | { readonly kind: 'jsonPath'; readonly path: NonNullable<ReturnType<typeof parseJsonPath>> }

const operators = [
  '==',
  '!=',
  '>=',
  '<=',
  '>',
  '<',
  'contains',
  'matches',
  'exists',
  'absent',
] as const
type Operator = (typeof operators)[number]

/** `{.status.conditions[?(@.type=="Ready")].status}`, as kubectl takes it. */
function parseBraces(text: string): readonly Step[] {
  const path = text.endsWith('}') ? parseJsonPath(text.slice(1, -1).replace(/^\$/, '')) : undefined
  if (path === undefined) throw new WhereError(`cannot read the JSONPath "${text}"`)
  return [{ kind: 'jsonPath', path }]
}

/** `a.b[type=Ready].c[0]['x.y/z'][*]` -> steps; a path in braces is a JSONPath. */
export function parsePath(text: string): readonly Step[] {
  if (text.startsWith('{')) return parseBraces(text)
  const steps: Step[] = []
  const pattern =
    /\.?([A-Za-z_$][\w$/-]*)|\[(\d+)\]|\[\*\]|\[['"]([^'"]+)['"]\]|\[([\w./-]+)=([^\]]*)\]/gy
  while (pattern.lastIndex < text.length) {
    const at = pattern.lastIndex
    const match = pattern.exec(text)
    if (match === null) throw new WhereError(`cannot read the path from "${text.slice(at)}" on`)
    const [, name, index, quoted, field, value] = match
    const key = name ?? quoted
    if (key !== undefined) steps.push({ kind: 'field', name: key })
    else if (index !== undefined) steps.push({ kind: 'index', index: Number(index) })
    else if (field !== undefined) steps.push({ kind: 'matching', field, value: value ?? '' })
    else steps.push({ kind: 'every' })
  }
  return steps
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function follow(value: unknown, step: Step): unknown[] {
  if (step.kind === 'jsonPath') {
    return jsonPathValues(value, step.path).filter((one) => one !== undefined && one !== null)
  }
  if (step.kind === 'field') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
    const next = (value as Record<string, unknown>)[step.name]
    return next === undefined || next === null ? [] : [next]
  }
  if (!Array.isArray(value)) return []
  if (step.kind === 'index') return step.index < value.length ? [value[step.index]] : []
  if (step.kind === 'every') return value
  const inner = parsePath(step.field)
  return value.filter((item: unknown) =>
    valuesAt(item, inner).some((one) => asText(one) === step.value),
  )
}

/** All values at a path; empty if the path does not exist. */
export function valuesAt(object: unknown, path: readonly Step[]): unknown[] {
  return path.reduce<unknown[]>(
    (values, step) => values.flatMap((one) => follow(one, step)),
    [object],
  )
}

function compare(operator: Operator, values: readonly unknown[], wanted: string): boolean {
  const asNumber = (value: unknown): number => Number(asText(value))
  switch (operator) {
    case 'exists':
      return values.length > 0
    case 'absent':
      return values.length === 0
    case '==':
      return values.some((value) => asText(value) === wanted)
    case '!=':
      return values.every((value) => asText(value) !== wanted)
    case '>':
      return values.some((value) => asNumber(value) > Number(wanted))
    case '>=':
      return values.some((value) => asNumber(value) >= Number(wanted))
    case '<':
      return values.some((value) => asNumber(value) < Number(wanted))
    case '<=':
      return values.some((value) => asNumber(value) <= Number(wanted))
    case 'contains':
      return values.some((value) =>
        Array.isArray(value)
          ? value.some((item) => asText(item) === wanted)
          : asText(value).includes(wanted),
      )
    case 'matches':
      return values.some((value) => new RegExp(wanted).test(asText(value)))
  }
}

/** The first operator between spaces and outside brackets. */
function splitCondition(text: string): { path: string; operator: Operator; wanted: string } {
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '[' || text[index] === '{') depth += 1
    if (text[index] === ']' || text[index] === '}') depth -= 1
    if (depth > 0 || text[index] !== ' ') continue
    const rest = text.slice(index + 1)
    const operator = operators.find((one) => rest === one || rest.startsWith(`${one} `))
    if (operator === undefined) break
    const wanted = rest
      .slice(operator.length + 1)
      .trim()
      .replace(/^(['"])(.*)\1$/, '$2')
    return { path: text.slice(0, index), operator, wanted }
  }
  throw new WhereError(
    `"${text}" is not of the form: PATH OPERATOR VALUE (${operators.join(', ')})`,
  )
}

/** Parses a condition. Throws a WhereError with the reason. */
export function parseCondition(text: string): Condition {
  const { path, operator, wanted } = splitCondition(text.trim())
  const takesValue = operator !== 'exists' && operator !== 'absent'
  if (takesValue && wanted === '' && !/['"]\s*$/.test(text)) {
    throw new WhereError(`"${text}": ${operator} needs a value`)
  }
  if (operator === 'matches') {
    try {
      new RegExp(wanted)
    } catch (error) {
      throw new WhereError(`"${text}": ${(error as Error).message}`)
    }
  }
  const steps = parsePath(path)
  return {
    text,
    test: (object) => {
      const values = valuesAt(object, steps)
      return { holds: compare(operator, values, wanted), values }
    },
  }
}
