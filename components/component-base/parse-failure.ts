/** A parser's message about an invalid text, without the text: configuration files hold keys and tokens. */

/** Why, and where where that is known; nothing of the text is quoted, so do not pass the error on as a cause either. */
export function parseFailure(error: unknown): string {
  const { message, reason, mark } = error as {
    message?: string
    reason?: unknown
    mark?: { line: number; column: number }
  }
  if (typeof reason === 'string') {
    const [what = ''] = reason.split(/["'<:]/)
    const place = mark === undefined ? '' : ` (line ${mark.line + 1}, column ${mark.column + 1})`
    return `${what.trim()}${place}`
  }
  if (error instanceof SyntaxError) {
    const [place = ''] = / at position \d+( \(line \d+ column \d+\))?/.exec(message ?? '') ?? []
    return `it is not valid JSON${place}`
  }
  return 'it cannot be read'
}
