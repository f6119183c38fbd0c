/**
 * Optional values in the source text (`a.?b`, `a[?i]`, `[?x]`, `{?k: v}`), which the parser does not know: it gets the text with
 * a blank for each such question mark, and the marked nodes of the tree are rewritten afterwards.
 */
import { optionalIndex, optionalSelect } from './cel-optional-types.ts'
import { bind, callOf, constantOf, identOf, partsOf, type Expr, type Kind } from './cel-tree.ts'

/** A question mark that nothing in the tree stands for. */
export class OptionalSyntaxError extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

export interface OptionalMarks {
  /** Of the same length as the expression. */
  readonly text: string
  /** Where the question marks were, by the place of the dot or bracket they belong to. */
  readonly access: ReadonlyMap<number, number>
  /** Optional items of literals, by the place of the literal's bracket: which item, and where the mark was. */
  readonly items: ReadonlyMap<number, ReadonlyMap<number, number>>
}

const literal =
  /(?:[bB]?[rR]|[rR][bB])(?:"""[^]*?"""|'''[^]*?'''|"[^"\n]*"|'[^'\n]*')|"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\/[^\n]*/y
const word = /[A-Za-z0-9_]+/y

interface Bracket {
  readonly kind: '(' | 'index' | '[' | '{'
  readonly at: number
  commas: number
}

/** Finds the marks; nearly every expression has none, and costs one search. */
export function findOptionalMarks(expression: string): OptionalMarks | undefined {
  if (!/[.[{,]\s*\?/.test(expression)) return undefined
  const access = new Map<number, number>()
  const items = new Map<number, Map<number, number>>()
  const open: Bracket[] = []
  const text = expression.split('')
  /** The last thing before the place, and where it was. */
  let last = ''
  let lastAt = -1
  const mark = (at: number): void => {
    const bracket = open.at(-1)
    if (last === '.' || (last === '[' && bracket?.kind === 'index')) access.set(lastAt, at)
    else if ((last === '[' || last === '{' || last === ',') && bracket && bracket.kind !== '(') {
      if (bracket.kind === 'index') return
      const own = items.get(bracket.at) ?? new Map<number, number>()
      items.set(bracket.at, own.set(bracket.commas, at))
    } else return
    text[at] = ' '
  }
  for (let at = 0; at < expression.length;) {
    const char = expression.charAt(at)
    literal.lastIndex = at
    const skipped = literal.exec(expression)?.[0]
    if (skipped !== undefined) {
      if (!skipped.startsWith('//')) last = '"'
      at += skipped.length
      continue
    }
    word.lastIndex = at
    const name = word.exec(expression)?.[0]
    if (name !== undefined) {
      last = name === 'in' && last !== '.' ? 'in' : 'a'
      lastAt = at
      at += name.length
      continue
    }
    if (char === '?') mark(at)
    if (char === '[') {
      const isIndex = last === 'a' || last === '"' || last === ')' || last === ']' || last === '}'
      open.push({ kind: isIndex ? 'index' : '[', at, commas: 0 })
    } else if (char === '(' || char === '{') open.push({ kind: char, at, commas: 0 })
    else if (char === ')' || char === ']' || char === '}') open.pop()
    else if (char === ',') {
      const bracket = open.at(-1)
      if (bracket) bracket.commas++
    }
    if (/\S/.test(char)) {
      last = char
      lastAt = at
    }
    at++
  }
  return { text: text.join(''), access, items }
}

/** Changes the tree to what the marks and the macros of optional values mean. Throws OptionalSyntaxError. */
export function applyOptionals(
  root: Expr,
  marks: OptionalMarks | undefined,
  positions: Readonly<Record<string, number>>,
): void {
  const access = new Map(marks?.access)
  const items = new Map([...(marks?.items ?? [])].map(([at, own]) => [at, new Map(own)]))

  function visit(expr: Expr): void {
    for (const part of partsOf(expr)) visit(part)
    const { case: kind, value } = expr.exprKind
    const at = positions[String(expr.id)] ?? -1
    if (kind === 'selectExpr' && access.has(at) && value.operand && !value.testOnly) {
      access.delete(at)
      const field = constantOf(expr.id, { case: 'stringValue', value: value.field })
      expr.exprKind = callOf(expr.id, optionalSelect, [value.operand, field]).exprKind
    } else if (kind === 'listExpr') {
      const own = items.get(at)
      if (own === undefined || value.elements.length === 0) return
      items.delete(at)
      value.optionalIndices = [...own.keys()]
    } else if (kind === 'structExpr') {
      // The place of a message is that of its name.
      const brace = value.messageName === '' ? at : (marks?.text.indexOf('{', at) ?? at)
      for (const index of items.get(brace)?.keys() ?? []) {
        const entry = value.entries[index]
        if (entry) entry.optionalEntry = true
      }
      items.delete(brace)
    } else if (kind === 'callExpr') visitCall(expr, value, at)
  }

  function visitCall(expr: Expr, call: Kind<'callExpr'>, at: number): void {
    const { function: name, target, args } = call
    const [variable, body] = args
    if (name === '_[_]' && access.has(at)) {
      access.delete(at)
      call.function = optionalIndex
    } else if ((name === 'optMap' || name === 'optFlatMap') && target && variable && body) {
      if (args.length !== 2 || variable.exprKind.case !== 'identExpr') {
        throw new OptionalSyntaxError(at, `${name}() variable name must be a simple identifier`)
      }
      const { id } = expr
      const holder = `@optional${id}`
      const held = identOf(id, holder)
      const bound = { name: variable.exprKind.value.name, value: callOf(id, 'value', [], held) }
      const mapped = bind(id, bound, body)
      const then = name === 'optMap' ? callOf(id, 'of', [mapped], identOf(id, 'optional')) : mapped
      const none = callOf(id, 'none', [], identOf(id, 'optional'))
      const either = callOf(id, '_?_:_', [callOf(id, 'hasValue', [], held), then, none])
      expr.exprKind = bind(id, { name: holder, value: target }, either).exprKind
    }
  }

  visit(root)
  const [left] = [...access.values(), ...[...items.values()].flatMap((own) => [...own.values()])]
  if (left !== undefined) throw new OptionalSyntaxError(left, "Syntax error: unexpected '?'")
}
