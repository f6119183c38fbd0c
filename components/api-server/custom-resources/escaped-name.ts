/** Names of fields in expressions (upstream: apiserver/pkg/cel/escaping.go). */

const reserved: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)
const signs: Readonly<Record<string, string>> = {
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
  __: '__underscores__',
}

/** A field's name in expressions; undefined for one that they cannot name. */
export function escapedName(name: string): string | undefined {
  if (reserved.has(name)) return `__${name}__`
  const text = name.replaceAll(/__|[.\-/]/g, (sign) => signs[sign] ?? sign)
  return /^[A-Za-z_]\w*$/.test(text) ? text : undefined
}
