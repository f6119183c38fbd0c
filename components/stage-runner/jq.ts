/**
 * Queries in jq, compiled once and run on JSON values: the one place that knows the interpreter. Work is bounded: each value that a part
 * of a query yields is a step.
 */
import { compileNode } from '@michaelhomer/jqjs'

/** Steps of one run. A selector of a large pod takes hundreds. */
const mostSteps = 100_000
/** Characters of a query. */
const longest = 8 * 1024

/** What a part of a query is to the interpreter. */
interface QueryNode {
  apply(input: unknown, names: unknown): Iterable<unknown>
}

export interface JqQuery {
  readonly text: string
  /** What it yields but `null`, in order; nothing if it fails. Throws a JqLimitError for a query that does not end. */
  run(value: unknown): readonly unknown[]
}

/** A query that took too many steps. */
export class JqLimitError extends Error {}

/** Functions that are rejected, and why. */
const rejected: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['test', 'match', 'capture', 'scan', 'sub', 'gsub', 'splits'].map((name) => [
      name,
      'regular expressions of jq are not supported: use startswith, endswith, contains or cel',
    ]),
  ),
  ...Object.fromEntries(
    ['now', 'env', 'input', 'inputs', 'debug', 'stderr', 'localtime', 'halt', 'halt_error'].map(
      (name) => [name, 'a query depends on the object alone'],
    ),
  ),
}

function isNode(value: unknown): value is QueryNode & Record<string, unknown> {
  return typeof value === 'object' && value !== null && 'apply' in value
}

/** Every part of a query below a value, each once. */
function partsOf(value: unknown, found = new Set<QueryNode & Record<string, unknown>>()) {
  if (typeof value !== 'object' || value === null) return found
  if (isNode(value)) {
    if (found.has(value)) return found
    found.add(value)
  }
  for (const child of Object.values(value)) partsOf(child, found)
  return found
}

/** Throws for what is not supported. */
function refuse(part: Record<string, unknown>): void {
  const { name } = part
  if (typeof name !== 'string') return
  const [bare = ''] = name.split('/')
  const why = name.includes('/') && Object.hasOwn(rejected, bare) ? rejected[bare] : undefined
  if (why !== undefined) throw new Error(`${bare}: ${why}`)
  if (name === 'ENV' || name === '$ENV')
    throw new Error('$ENV: a query depends on the object alone')
}

/** Throws an Error whose message says what is wrong with the query. */
export function compileJq(text: string): JqQuery {
  if (text.length > longest) throw new Error(`a query has ${longest} characters at most`)
  // The interpreter keeps such functions for all queries of the process.
  if (/(^|[^.$\w])def\s/.test(text)) throw new Error('def: functions of your own are not supported')
  const top = compiled(text)
  let left = 0
  for (const part of partsOf(top)) {
    refuse(part)
    const apply = part.apply.bind(part)
    part.apply = function* (input, names) {
      for (const value of apply(input, names)) {
        left -= 1
        if (left < 0) throw new JqLimitError(`it takes more than ${mostSteps} steps`)
        yield value
      }
    }
  }
  return {
    text,
    run: (value) => {
      left = mostSteps
      return outputsOf(top, value)
    },
  }
}

function compiled(text: string): QueryNode {
  try {
    return compileNode(text)
  } catch (error) {
    // The interpreter throws texts, too.
    throw new Error(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/** As kwok has it: a query that fails has no value. */
function outputsOf(top: QueryNode, value: unknown): readonly unknown[] {
  try {
    const names = { userFuncArgs: {}, variables: {} }
    return [...top.apply(value, names)].filter((one) => one !== null && one !== undefined)
  } catch (error) {
    if (error instanceof JqLimitError) throw error
    return []
  }
}
