/**
 * The JSON paths of columns, selectable fields and scales: fields, quoted fields, indexes, slices of all elements and filters
 * by equality (upstream: client-go util/jsonpath, of which people write no more in definitions).
 */
import { isRecord } from '../apply/apply-shape.ts'

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  | {
      readonly kind: 'filter'
      readonly path: readonly Step[]
      readonly value: string | number | boolean
    }

const field = /^\.?((?:\\.|[^.[\]\\])+)/
const quoted = /^\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]/
const index = /^\[\s*(-?\d+)\s*\]/
const all = /^(?:\[\s*(?:\*|:)\s*\]|\.\*)/
const filter = /^\[\?\(\s*@((?:[^=()\\]|\\.)+)==\s*(?:'([^']*)'|"([^"]*)"|([^\s)]+))\s*\)\]/

function unescaped(name: string): string {
  return name.replaceAll(/\\(.)/g, '$1')
}

function literal(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return Number.isNaN(number) ? text : number
}

/** The steps of a path; undefined for one that cannot be read. */
export function parseJsonPath(path: string): readonly Step[] | undefined {
  const steps: Step[] = []
  let rest = path === '.' ? '' : path
  while (rest !== '') {
    let match: RegExpExecArray | null
    if ((match = all.exec(rest))) steps.push({ kind: 'all' })
    else if ((match = quoted.exec(rest))) {
      steps.push({ kind: 'field', name: unescaped(match[1] ?? match[2] ?? '') })
    } else if ((match = index.exec(rest))) steps.push({ kind: 'index', index: Number(match[1]) })
    else if ((match = filter.exec(rest))) {
      const inner = parseJsonPath((match[1] ?? '').trimEnd())
      if (inner === undefined) return undefined
      const value = match[2] ?? match[3] ?? literal(match[4] ?? '')
      steps.push({ kind: 'filter', path: inner, value })
    } else if ((match = field.exec(rest))) {
      steps.push({ kind: 'field', name: unescaped(match[1] ?? '') })
    } else return undefined
    rest = rest.slice(match[0].length)
  }
  return steps
}

function step(values: readonly unknown[], by: Step): unknown[] {
  switch (by.kind) {
    case 'field':
      return values.flatMap((value) =>
        isRecord(value) && Object.hasOwn(value, by.name) ? [value[by.name]] : [],
      )
    case 'index':
      return values.flatMap((value) => {
        const item: unknown = Array.isArray(value) ? value.at(by.index) : undefined
        return item === undefined ? [] : [item]
      })
    case 'all':
      return values.flatMap((value) =>
        Array.isArray(value) ? (value as unknown[]) : isRecord(value) ? Object.values(value) : [],
      )
    case 'filter':
      return values.flatMap((value) =>
        (Array.isArray(value) ? (value as unknown[]) : []).filter((item) =>
          valuesAt(item, by.path).includes(by.value),
        ),
      )
  }
}

/** All values at the path, in order; none where something on the way is missing. */
export function valuesAt(value: unknown, path: readonly Step[]): unknown[] {
  return path.reduce<unknown[]>((values, by) => step(values, by), [value])
}
