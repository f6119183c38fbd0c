/** Parses templates: Go's text/template without templates by name (`define`, `template`, `block`). */
import { TemplateError } from './template-error.ts'
import { ActionReader } from './action-reader.ts'
import type { Pipe, TemplateNode } from './template-nodes.ts'
import { piecesOf } from './template-tokens.ts'
import type { Piece, Token } from './template-tokens.ts'

/** Nesting that later steps can walk without exhausting the stack. */
const deepest = 100

const keywords = ['if', 'with', 'range', 'else', 'end', 'break', 'continue'] as const
type Keyword = (typeof keywords)[number]

interface Action {
  readonly tokens: readonly Token[]
  readonly line: number
}

class TemplateParser {
  readonly #pieces: readonly Piece[]
  readonly #functions: ReadonlySet<string>
  #at = 0
  #scopes: Set<string>[] = [new Set(['$'])]
  #loops = 0

  constructor(pieces: readonly Piece[], functions: ReadonlySet<string>) {
    this.#pieces = pieces
    this.#functions = functions
  }

  whole(): TemplateNode[] {
    const { nodes, ends } = this.#nodes()
    if (ends !== undefined)
      throw new TemplateError(`unexpected {{${keywordOf(ends) ?? ''}}}`, ends.line)
    return nodes
  }

  /** Up to an `else` or `end`, which it gives, or to the end of the text. */
  #nodes(): { readonly nodes: TemplateNode[]; readonly ends: Action | undefined } {
    const nodes: TemplateNode[] = []
    for (;;) {
      const piece = this.#pieces[this.#at]
      if (piece === undefined) return { nodes, ends: undefined }
      this.#at += 1
      if (piece.kind === 'text') {
        nodes.push(piece)
        continue
      }
      const keyword = keywordOf(piece)
      if (keyword === 'else' || keyword === 'end') return { nodes, ends: piece }
      nodes.push(this.#node(piece, keyword))
    }
  }

  #node(action: Action, keyword: Exclude<Keyword, 'else' | 'end'> | undefined): TemplateNode {
    if (keyword === undefined) return { kind: 'action', pipe: this.#pipe(action, action.tokens) }
    if (keyword === 'break' || keyword === 'continue') {
      if (this.#loops === 0) throw new TemplateError(`{{${keyword}}} outside of range`, action.line)
      return { kind: keyword, line: action.line }
    }
    return this.#block(keyword, action, action.tokens.slice(1))
  }

  #block(kind: 'if' | 'with' | 'range', action: Action, condition: readonly Token[]): TemplateNode {
    if (this.#scopes.length > deepest) throw new TemplateError('it is nested too deep', action.line)
    const known = this.#scopes
    this.#scopes = [...known, new Set()]
    const pipe = this.#pipe(action, condition, kind === 'range')
    if (kind === 'range') this.#loops += 1
    const body = this.#inScope(() => this.#nodes())
    if (kind === 'range') this.#loops -= 1
    const { ends } = body
    if (ends === undefined) throw new TemplateError(`{{${kind}}} has no {{end}}`, action.line)
    const otherwise = keywordOf(ends) === 'else' ? this.#otherwise(ends, action, kind) : []
    this.#scopes = known
    return { kind, pipe, body: body.nodes, otherwise }
  }

  #otherwise(at: Action, block: Action, kind: 'if' | 'with' | 'range'): TemplateNode[] {
    const [, second] = at.tokens
    if (second !== undefined) {
      // `else if` ends with the `end` of the first.
      if (second.kind !== 'word' || second.text !== kind || kind === 'range')
        throw new TemplateError(`unexpected words after else`, at.line)
      return this.#inScope(() => [this.#block(kind, at, at.tokens.slice(2))])
    }
    const { nodes, ends } = this.#inScope(() => this.#nodes())
    if (ends === undefined) throw new TemplateError(`{{${kind}}} has no {{end}}`, block.line)
    if (keywordOf(ends) !== 'end') throw new TemplateError('a second {{else}}', ends.line)
    return nodes
  }

  #inScope<T>(read: () => T): T {
    const known = this.#scopes
    this.#scopes = [...known, new Set()]
    const result = read()
    this.#scopes = known
    return result
  }

  #pipe(action: Action, tokens: readonly Token[], mayHaveTwo = false): Pipe {
    return new ActionReader(tokens, {
      line: action.line,
      functions: this.#functions,
      scopes: this.#scopes,
      mayHaveTwo,
    }).whole()
  }
}

function keywordOf({ tokens }: Action): Keyword | undefined {
  const [first] = tokens
  if (first?.kind !== 'word') return undefined
  return keywords.find((keyword) => keyword === first.text)
}

/** `functions`: the names that a template may call. Throws a TemplateError. */
export function parseTemplate(text: string, functions: ReadonlySet<string>): TemplateNode[] {
  return new TemplateParser(piecesOf(text), functions).whole()
}
