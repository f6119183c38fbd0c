/** The `fieldPath` of rules: fields by name, and by text in brackets (upstream: schema/cel ValidFieldPath). */
import type { JSONSchemaProps } from '../../api/generated/types.ts'
import { getOwn } from '../../machinery/values/json-copy.ts'
import { additionalOf } from './schema-parts.ts'

const step = /^(?:\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\])/
const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  "'": "'",
  '\\': '\\',
}

/** The names on the way; undefined for a path that cannot be read. */
function fieldPathSteps(path: string): readonly string[] | undefined {
  const steps: string[] = []
  let rest = path
  while (rest !== '') {
    const match = step.exec(rest)
    if (match === null) return undefined
    const [whole, name, quoted = ''] = match
    steps.push(name ?? quoted.replaceAll(/\\(.)/g, (_, sign: string) => escapes[sign] ?? sign))
    rest = rest.slice(whole.length)
  }
  return steps
}

interface Found {
  readonly text: string
  readonly schema: JSONSchemaProps
}

function found(path: string, schema: JSONSchemaProps): Found | undefined {
  const steps = fieldPathSteps(path)
  if (steps === undefined) return undefined
  let at = schema
  let text = ''
  for (const name of steps) {
    const fields = at.properties
    const next = fields === undefined ? additionalOf(at) : getOwn(fields, name)
    if (next === undefined) return undefined
    if (fields === undefined) text += `[${name}]`
    else text += text === '' ? name : `.${name}`
    at = next
  }
  return { text, schema: at }
}

/** The path as faults show it; undefined for one that leads to nothing that the schema knows. */
export function fieldPathText(path: string, schema: JSONSchemaProps): string | undefined {
  return found(path, schema)?.text
}

/** What the schema says of the field that the path leads to. */
export function schemaAtFieldPath(
  path: string,
  schema: JSONSchemaProps,
): JSONSchemaProps | undefined {
  return found(path, schema)?.schema
}
