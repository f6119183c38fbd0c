/** Shell script: parser for the subset of the shell's grammar that simulated containers support; anything else is a SyntaxFault. Pure. */

/** Text, or a variable that is expanded when the word is used. */
type Part = string | { readonly variable: string }
export type Word = readonly Part[]

export interface Statement {
  /** Runs always, or depending on the exit code of the previous statement. */
  readonly when: ';' | '&&' | '||'
  readonly words: readonly Word[]
}

/** The word with its variables expanded. */
export function expanded(word: Word, valueOf: (name: string) => string): string {
  return word.map((part) => (typeof part === 'string' ? part : valueOf(part.variable))).join('')
}

export class SyntaxFault extends Error {}

const reference = /\$(?:\{(\w+|[?@*#])\}|([A-Za-z_]\w*|[0-9?@*#]))/.source
const plainPattern = new RegExp(reference, 'g')
const quotedPattern = new RegExp(`${reference}|\\\\(["\\\\$\`\\n])|(\`|\\$[({])`, 'g')

const beyond = (text: string): SyntaxFault =>
  new SyntaxFault(`"${text}" is more than a simulated container can do`)

/** Splits text into literals and references; handles escapes between double quotes. */
function partsOf(text: string, pattern: RegExp): Part[] {
  const parts: Part[] = []
  let from = 0
  for (const match of text.matchAll(pattern)) {
    const [all, braced, bare, escaped, foreign] = match
    if (foreign !== undefined) throw beyond(foreign)
    if (match.index > from) parts.push(text.slice(from, match.index))
    from = match.index + all.length
    const variable = braced ?? bare
    if (variable !== undefined) parts.push({ variable })
    else if (escaped !== undefined && escaped !== '\n') parts.push(escaped)
  }
  parts.push(text.slice(from))
  return parts
}

const token = new RegExp(
  [
    /'([^']*)'/,
    /"((?:[^"\\]|\\[^])*)"/,
    /\\(.)/,
    /(&&|\|\||;|\n)/,
    /(#[^\n]*)/,
    /([ \t\r]+)/,
    /(\$\{(?:\w+|[?@*#])\}|\$(?:[A-Za-z_]\w*|[0-9?@*#])?|[^\s'"\\;&|<>()`{}$]+)/,
    /([^])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
)

/** Parses a script into statements, with a shell's quotes, escapes, comments and references. Throws a SyntaxFault. */
export function parseScript(script: string): Statement[] {
  const statements: Statement[] = []
  let words: Word[] = []
  let word: Part[] | undefined
  let when: Statement['when'] = ';'
  const endWord = (): void => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  const endStatement = (next: Statement['when']): void => {
    endWord()
    if (words.length > 0) statements.push({ when, words })
    words = []
    when = next
  }
  const add = (...parts: Part[]): void => {
    word ??= []
    word.push(...parts)
  }
  const scan = new RegExp(token)
  while (scan.lastIndex < script.length) {
    const match = scan.exec(script)
    if (match === null) break
    const [, single, double, escaped, separator, comment, space, plain, foreign] = match
    if (single !== undefined) add(single)
    else if (double !== undefined) add(...partsOf(double, quotedPattern))
    else if (escaped !== undefined) add(escaped)
    else if (separator !== undefined) {
      endStatement(separator === '&&' || separator === '||' ? separator : ';')
    } else if (comment !== undefined && word !== undefined) add(comment)
    else if (comment !== undefined || space !== undefined) endWord()
    else if (plain !== undefined) add(...partsOf(plain, plainPattern))
    else if (foreign !== undefined) {
      const isQuote = foreign === '"' || foreign === "'"
      throw isQuote ? new SyntaxFault('unterminated quoted string') : beyond(foreign)
    }
  }
  endStatement(';')
  return statements
}
