/** Tokens of the label selector's query form. */

export interface Token {
  readonly type:
    | 'word'
    | 'in'
    | 'notin'
    | '('
    | ')'
    | ','
    | '!'
    | '='
    | '=='
    | '!='
    | '<'
    | '>'
    | 'error'
    | 'end'
  /** As written; an error token holds what is wrong with it. */
  readonly text: string
}

const symbols = ['==', '!=', '(', ')', ',', '!', '=', '<', '>'] as const
const blank = /[ \t\r\n]/
const wordEnd = /[ \t\r\n=!(),<>]/

/** Splits the text; operators are taken as long as possible. The last token is always `end`. */
export function scanLabelSelector(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    if (blank.test(text[at] ?? '')) {
      at++
      continue
    }
    const symbol = symbols.find((candidate) => text.startsWith(candidate, at))
    if (symbol !== undefined) {
      tokens.push({ type: symbol, text: symbol })
      at += symbol.length
      continue
    }
    const start = at
    while (at < text.length && !wordEnd.test(text[at] ?? '')) at++
    const word = text.slice(start, at)
    tokens.push({ type: word === 'in' || word === 'notin' ? word : 'word', text: word })
  }
  tokens.push({ type: 'end', text: '' })
  return tokens
}
