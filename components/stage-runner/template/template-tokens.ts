/** Tokens of templates (Go's text/template): texts, and the words of each action between `{{` and `}}`. */
import { TemplateError } from './template-error.ts'

export type Token = {
  readonly line: number
  /** Whether a blank, or the beginning of the action, is before it: `.a .b` are two operands, `.a.b` is one. */
  readonly isApart: boolean
} & (
  | { readonly kind: 'word' | 'variable' | 'field'; readonly text: string }
  | { readonly kind: 'constant'; readonly value: string | number }
  | { readonly kind: 'sign'; readonly text: string }
)

export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly tokens: readonly Token[]; readonly line: number }

const wordPattern =
  /(?<blank>\s+)|(?<sign>:=|[=|(),])|(?<raw>`[^`]*`)|(?<quoted>"(?:\\.|[^"\\\n])*")|(?<character>'(?:\\.|[^'\\\n])')|(?<number>[+-]?(?:0x[0-9a-fA-F]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?))|(?<variable>\$\w*)|(?<field>\.(?:[\p{L}_][\p{L}\p{N}_]*)?)|(?<word>[\p{L}_][\p{L}\p{N}_]*)/uy

const lineEnds = (text: string): number => text.split('\n').length - 1

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
}

/** A text as Go's source has it, without its quotes. */
function unquoted(text: string): string {
  return text.replace(
    /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))/gs,
    (_, short?: string, long?: string, byte?: string, plain = '') => {
      const code = short ?? long ?? byte
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16))
      return escapes[plain] ?? plain
    },
  )
}

function constantOf(groups: Record<string, string | undefined>): string | number | undefined {
  const { raw, quoted, character, number } = groups
  if (raw !== undefined) return raw.slice(1, -1)
  if (quoted !== undefined) return unquoted(quoted.slice(1, -1))
  if (character !== undefined) return unquoted(character.slice(1, -1)).codePointAt(0) ?? 0
  return number === undefined ? undefined : Number(number.replaceAll('_', ''))
}

interface ActionEnd {
  readonly end: number
  /** Whether it trims the text that follows. */
  readonly trims: boolean
  readonly tokens?: readonly Token[]
}

/** The words of an action, from `from` to its `}}`. */
function actionAt(
  source: string,
  from: number,
  startLine: number,
): ActionEnd & { readonly tokens: readonly Token[] } {
  const tokens: Token[] = []
  let at = from
  let line = startLine
  let isApart = true
  for (;;) {
    const [end, dash] = /(\s-)?\}\}/y.exec(source.slice(at, at + 4)) ?? []
    if (end !== undefined) return { tokens, end: at + end.length, trims: dash !== undefined }
    wordPattern.lastIndex = at
    const match = wordPattern.exec(source)
    const groups = match?.groups
    if (match === null || groups === undefined) {
      const rest = source.slice(at)
      if (rest === '') throw new TemplateError('an action has no }}', startLine)
      throw new TemplateError(`unexpected ${JSON.stringify(rest.slice(0, 1))} in an action`, line)
    }
    at += match[0].length
    const { blank, sign, variable, field, word } = groups
    const constant = constantOf(groups)
    const place = { line, isApart }
    if (constant !== undefined) tokens.push({ kind: 'constant', value: constant, ...place })
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, ...place })
    else if (variable !== undefined) tokens.push({ kind: 'variable', text: variable, ...place })
    else if (field !== undefined) tokens.push({ kind: 'field', text: field.slice(1), ...place })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word, ...place })
    line += lineEnds(match[0])
    isApart = blank !== undefined || sign === '(' || sign === '|'
  }
}

/** The end of a comment that begins at `from`, and whether it trims what follows; undefined if there is none. */
function commentAt(source: string, from: number, line: number): ActionEnd | undefined {
  if (!source.startsWith('/*', from)) return undefined
  const close = source.indexOf('*/', from)
  const [end, dash] = /^(\s-)?\}\}/.exec(source.slice(close + 2, close + 6)) ?? []
  if (close < 0 || end === undefined) throw new TemplateError('a comment has no */}}', line)
  return { end: close + 2 + end.length, trims: dash !== undefined }
}

/** Splits a template. Throws a TemplateError. */
export function piecesOf(source: string): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  let line = 1
  let trims = false
  for (;;) {
    const open = source.indexOf('{{', at)
    const raw = source.slice(at, open < 0 ? undefined : open)
    const trimsBefore = open >= 0 && /^-\s/.test(source.slice(open + 2, open + 4))
    let text = trims ? raw.trimStart() : raw
    if (trimsBefore) text = text.trimEnd()
    if (text !== '') pieces.push({ kind: 'text', text })
    line += lineEnds(raw)
    if (open < 0) return pieces
    const from = open + (trimsBefore ? 4 : 2)
    line += lineEnds(source.slice(open, from))
    const comment = commentAt(source, from, line)
    const action = comment ?? actionAt(source, from, line)
    if (action.tokens !== undefined) pieces.push({ kind: 'action', tokens: action.tokens, line })
    line += lineEnds(source.slice(from, action.end))
    at = action.end
    trims = action.trims
  }
}
