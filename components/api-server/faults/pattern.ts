/** pattern: texts with `*` for any characters, compared without regular expressions, so that no pattern can be slow. */

export type TextMatch = (text: string) => boolean

/** Whether `parts` occur in `text` in their order, the first at its start and the last at its end. */
function matchesParts(parts: readonly string[], text: string): boolean {
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (text.length < first.length + last.length) return false
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found === -1 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/** Matches a text that one of the patterns matches. */
export function compilePatterns(patterns: readonly string[]): TextMatch {
  const exact = new Set(patterns.filter((pattern) => !pattern.includes('*')))
  const wild = patterns
    .filter((pattern) => pattern.includes('*'))
    .map((pattern) => pattern.split('*'))
  if (wild.some((parts) => parts.every((part) => part === ''))) return () => true
  return (text) => exact.has(text) || wild.some((parts) => matchesParts(parts, text))
}
