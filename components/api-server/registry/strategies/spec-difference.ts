/** The list of changes that upstream appends to "may not change" messages, in the manner of Go's cmp.Diff. */

/** How many unchanged neighbours are shown on each side of a change. */
const contextFields = 2

type Struct = Readonly<Record<string, unknown>>

/**
 * Lines with `-` for what was and `+` for what is asked for. `fields` are the struct's Go fields by their JSON names, in
 * order. Only plain values of the top level line up with upstream's text; deeper ones are shown as JSON.
 */
export function specDifference(
  typeName: string,
  { old, now, fields }: { old: Struct; now: Struct; fields: Readonly<Record<string, string>> },
): string {
  const names = Object.keys(fields)
  const isChanged = names.map((name) => goText(old[name]) !== goText(now[name]))
  const isShown = names.map((_, i) =>
    isChanged.slice(Math.max(0, i - contextFields), i + contextFields + 1).includes(true),
  )
  const lines = [`  ${typeName}{`]
  for (let i = 0; i < names.length;) {
    if (!isShown[i]) {
      const hidden = isShown.slice(i).findIndex((shown) => shown)
      const count = hidden < 0 ? names.length - i : hidden
      lines.push(`  \t... // ${count} identical fields`)
      i += count
      continue
    }
    const end = endOfRun(isShown, i)
    lines.push(...runOf(names.slice(i, end), { old, now, fields }))
    i = end
  }
  return [...lines, '  }', ''].join('\n')
}

function endOfRun(isShown: readonly boolean[], start: number): number {
  const length = isShown.slice(start).indexOf(false)
  return length < 0 ? isShown.length : start + length
}

/** Neighbouring fields, their values in one column. */
function runOf(
  names: readonly string[],
  { old, now, fields }: { old: Struct; now: Struct; fields: Readonly<Record<string, string>> },
): string[] {
  const width = Math.max(...names.map((name) => (fields[name] ?? '').length)) + 1
  return names.flatMap((name) => {
    const label = `${fields[name] ?? ''}:`.padEnd(width)
    const [before, after] = [goText(old[name]), goText(now[name])]
    if (before === after) return [`  \t${label} ${after},`]
    return [`- \t${label} ${before},`, `+ \t${label} ${after},`]
  })
}

const textFields = /^".*"$/

function goText(value: unknown): string {
  if (value === undefined || value === null) return 'nil'
  const text = JSON.stringify(value)
  if (typeof value !== 'object') return text
  if (Array.isArray(value)) return value.length === 0 ? 'nil' : text
  return Object.keys(value).length === 0 ? '&{}' : textFields.test(text) ? text : `&${text}`
}
