/**
 * read-finding: a finding of `skiff explore` (explore/report.ts) from the text of its file. The text may be anything: every field that the
 * page shows is checked, and bounded. Pure.
 */

/** What happened at one moment of a run. */
export interface FindingLine {
  readonly atMs: number
  readonly text: string
  /** It is something that the run did, not a request of the controller. */
  readonly isMark: boolean
  /** Undefined: no answer. */
  readonly status?: number
  readonly fault?: string
}

export interface FindingRow {
  readonly reference?: FindingLine
  readonly plan?: FindingLine
}

/** What is wrong at the end of a step. */
export interface WrongState {
  readonly text: string
  readonly kind: string
  readonly step: number
  readonly object?: string
  readonly path?: string
  /** As JSON; undefined: it is not there. */
  readonly expected?: string
  readonly actual?: string
}

export interface Finding {
  readonly title: string
  readonly kind: string
  readonly story: string
  /** One line for each fault, or for the value that is changed. */
  readonly faults: readonly string[]
  readonly wrong: readonly WrongState[]
  readonly seconds: { readonly reference: number; readonly plan: number }
  readonly rows: readonly FindingRow[]
  /** Rows beyond the bound. */
  readonly leftOut: number
}

const mostText = 2000
const mostWrong = 200
const mostFaults = 50
const mostRows = 5000

type Fields = Readonly<Record<string, unknown>>

/** What is wrong with a file, at one of its fields. */
class ShapeError extends Error {}

function told(value: unknown): string {
  if (value === undefined || value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return JSON.stringify(typeof value === 'string' ? cut(value, 40) : value)
}

function mustBe(what: string, value: unknown, where: string): never {
  throw new ShapeError(`${where} must be ${what}, not ${told(value)}`)
}

function cut(text: string, most = mostText): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}

function fieldsOf(value: unknown, where: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return mustBe('an object', value, where)
  return value as Fields
}

function listOf(value: unknown, where: string): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : mustBe('a list', value, where)
}

function textOf(value: unknown, where: string): string {
  return typeof value === 'string' ? cut(value) : mustBe('a text', value, where)
}

function numberOf(value: unknown, where: string): number {
  return typeof value === 'number' ? value : mustBe('a number', value, where)
}

const isThere = (value: unknown): boolean => value !== undefined && value !== null

/** A value of any shape; what is nested too deeply for JSON.stringify is only named. */
function jsonOf(value: unknown): string {
  try {
    return cut(JSON.stringify(value, undefined, 1) ?? '')
  } catch (error) {
    if (error instanceof RangeError) return '(nested too deeply to show)'
    throw error
  }
}

/** `create secrets default/web-*`: the request that a fault met. */
function pointText(value: unknown, where: string): string {
  const { verb, resource, namespace = '', name = '', nth = 1 } = fieldsOf(value, where)
  const place = [textOf(namespace, `${where}.namespace`), textOf(name, `${where}.name`)]
  const target = [
    textOf(verb, `${where}.verb`),
    textOf(resource, `${where}.resource`),
    place.filter((part) => part !== '').join('/'),
  ]
  const told = target.filter((part) => part !== '').join(' ')
  return nth === 1 ? told : `${told}, time ${numberOf(nth, `${where}.nth`)}`
}

/** `kill-after: create secrets default/web-*`, `late-events: resource configmaps, ms 1000`. */
function faultText(value: unknown, where: string): string {
  const { kind, at, ...others } = fieldsOf(value, where)
  const more = [
    ...(isThere(at) ? [pointText(at, `${where}.at`)] : []),
    ...Object.entries(others).map(
      ([name, one]) => `${name} ${typeof one === 'string' ? one : told(one)}`,
    ),
  ]
  return cut([textOf(kind, `${where}.kind`), more.join(', ')].filter(Boolean).join(': '))
}

function changeText(value: unknown): string {
  const { path, value: to } = fieldsOf(value, 'plan.change')
  const fields = listOf(path, 'plan.change.path').map((one) =>
    typeof one === 'number' ? one : textOf(one, 'an entry of plan.change.path'),
  )
  const name = cut(fields.join('.'))
  return to === undefined ? `${name} is removed` : `${name} becomes ${jsonOf(to)}`
}

function wrongOf(value: unknown, where: string): WrongState {
  const { text, kind, step, object, path, expected, actual } = fieldsOf(value, where)
  return {
    text: textOf(text, `${where}.text`),
    kind: textOf(kind, `${where}.kind`),
    step: numberOf(step, `${where}.step`),
    ...(isThere(object) ? { object: textOf(object, `${where}.object`) } : {}),
    ...(isThere(path) ? { path: textOf(path, `${where}.path`) } : {}),
    ...(expected === undefined ? {} : { expected: jsonOf(expected) }),
    ...(actual === undefined ? {} : { actual: jsonOf(actual) }),
  }
}

function lineOf(value: unknown, where: string): FindingLine {
  const { atMs, text, request, status, fault } = fieldsOf(value, where)
  return {
    atMs: numberOf(atMs, `${where}.atMs`),
    text: textOf(text, `${where}.text`),
    isMark: !isThere(request),
    ...(isThere(status) ? { status: numberOf(status, `${where}.status`) } : {}),
    ...(isThere(fault) ? { fault: textOf(fault, `${where}.fault`) } : {}),
  }
}

/** The line that a row names, which nothing else has to be read for. */
function lineAt(lines: readonly unknown[], at: unknown, run: string): FindingLine | undefined {
  if (!isThere(at)) return undefined
  const where = `timelines.${run}`
  if (typeof at !== 'number' || !(at in lines))
    return mustBe(`an index of ${where}`, at, `an entry of timelines.rows`)
  return lineOf(lines[at], `${where}[${at}]`)
}

function rowsOf(value: unknown): Pick<Finding, 'rows' | 'leftOut'> {
  const { reference, plan, rows } = fieldsOf(value, 'timelines')
  const all = listOf(rows, 'timelines.rows')
  const left = listOf(reference, 'timelines.reference')
  const right = listOf(plan, 'timelines.plan')
  const read = all.slice(0, mostRows).map((one, index): FindingRow => {
    const row = fieldsOf(one, `timelines.rows[${index}]`)
    const ofReference = lineAt(left, row['reference'], 'reference')
    const ofPlan = lineAt(right, row['plan'], 'plan')
    return {
      ...(ofReference === undefined ? {} : { reference: ofReference }),
      ...(ofPlan === undefined ? {} : { plan: ofPlan }),
    }
  })
  return { rows: read, leftOut: all.length - read.length }
}

function findingOf(value: unknown): Finding {
  const { title, plan, story, findings, seconds, timelines } = fieldsOf(value, 'the file')
  const { kind, faults, change } = fieldsOf(plan, 'plan')
  const { reference, plan: ofPlan } = fieldsOf(seconds, 'seconds')
  const told = isThere(change)
    ? [changeText(change)]
    : listOf(faults, 'plan.faults')
        .slice(0, mostFaults)
        .map((one, index) => faultText(one, `plan.faults[${index}]`))
  return {
    title: textOf(title, 'title'),
    kind: textOf(kind, 'plan.kind'),
    story: textOf(story, 'story'),
    faults: told,
    wrong: listOf(findings, 'findings')
      .slice(0, mostWrong)
      .map((one, index) => wrongOf(one, `findings[${index}]`)),
    seconds: {
      reference: numberOf(reference, 'seconds.reference'),
      plan: numberOf(ofPlan, 'seconds.plan'),
    },
    ...rowsOf(timelines),
  }
}

/** The finding, or a sentence that says what is wrong with the text. */
export function readFinding(text: string): Finding | { readonly fault: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: 'It is not JSON.' }
  }
  try {
    return findingOf(value)
  } catch (error) {
    if (error instanceof ShapeError) return { fault: `${cut(error.message, 300)}.` }
    throw error
  }
}
