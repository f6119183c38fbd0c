/** Reads one action: pipelines, commands and operands. */
import { TemplateError } from './template-error.ts'
import type { Command, Operand, Pipe } from './template-nodes.ts'
import type { Token } from './template-tokens.ts'

const unsupported = new Set(['define', 'template', 'block'])
const deepest = 50

export class ActionReader {
  readonly #tokens: readonly Token[]
  readonly #line: number
  readonly #functions: ReadonlySet<string>
  readonly #scopes: readonly Set<string>[]
  readonly #mayHaveTwo: boolean
  #at = 0
  #depth = 0

  constructor(
    tokens: readonly Token[],
    around: {
      readonly line: number
      readonly functions: ReadonlySet<string>
      /** Variables by scope; new ones are added to the last. */
      readonly scopes: readonly Set<string>[]
      /** Whether it may set two variables, as in `range`. */
      readonly mayHaveTwo: boolean
    },
  ) {
    this.#tokens = tokens
    this.#line = around.line
    this.#functions = around.functions
    this.#scopes = around.scopes
    this.#mayHaveTwo = around.mayHaveTwo
  }

  whole(): Pipe {
    const sets = this.#sets()
    const pipe = this.#pipe(sets)
    const rest = this.#tokens[this.#at]
    if (rest !== undefined) throw new TemplateError(`unexpected ${shown(rest)}`, rest.line)
    for (const name of sets?.isNew === true ? sets.names : []) this.#scopes.at(-1)?.add(name)
    return pipe
  }

  #sets(): Pipe['sets'] {
    const names: string[] = []
    for (let at = 0; ; at += 2) {
      const [name, sign] = this.#tokens.slice(at, at + 2)
      if (name?.kind !== 'variable' || sign?.kind !== 'sign') return undefined
      names.push(name.text)
      if (sign.text === ',') continue
      if (sign.text !== ':=' && sign.text !== '=') return undefined
      if (names.length > (this.#mayHaveTwo ? 2 : 1))
        throw new TemplateError('too many variables before :=', this.#line)
      const isNew = sign.text === ':='
      if (!isNew) for (const one of names) this.#checkVariable(one, this.#line)
      this.#at = at + 2
      return { names, isNew }
    }
  }

  #pipe(sets: Pipe['sets']): Pipe {
    const commands: Command[] = []
    for (;;) {
      const command = this.#command()
      const [first] = command.operands
      if (commands.length > 0 && first?.kind === 'constant')
        throw new TemplateError('a constant cannot take the result of a pipeline', command.line)
      commands.push(command)
      if (!this.#takes('|')) return { commands, sets, line: this.#line }
    }
  }

  #command(): Command {
    const operands: Operand[] = []
    for (;;) {
      const operand = this.#operand()
      if (operand === undefined) break
      operands.push(operand)
    }
    const [first, second] = operands
    if (first === undefined) {
      const token = this.#tokens[this.#at]
      const what = token === undefined ? 'a value is missing' : `unexpected ${shown(token)}`
      throw new TemplateError(what, token?.line ?? this.#line)
    }
    if (second !== undefined && first.kind !== 'function')
      throw new TemplateError('only a function takes arguments', second.line)
    return { operands, line: first.line }
  }

  #operand(): Operand | undefined {
    const first = this.#term()
    if (first === undefined) return undefined
    const names: string[] = first.kind === 'fields' ? [...first.names] : []
    const of = first.kind === 'fields' ? first.of : first
    for (;;) {
      const next = this.#tokens[this.#at]
      if (next?.kind !== 'field' || next.isApart || next.text === '') break
      this.#at += 1
      names.push(next.text)
    }
    return names.length === 0 ? of : { kind: 'fields', of, names, line: first.line }
  }

  #term(): Operand | undefined {
    const token = this.#tokens[this.#at]
    if (token === undefined) return undefined
    const { line } = token
    if (token.kind === 'sign') return token.text === '(' ? this.#group(line) : undefined
    this.#at += 1
    if (token.kind === 'constant') return { kind: 'constant', value: token.value, line }
    if (token.kind === 'variable') {
      this.#checkVariable(token.text, line)
      return { kind: 'variable', name: token.text, line }
    }
    if (token.kind === 'word') return this.#word(token.text, line)
    const dot = { kind: 'dot', line } as const
    return token.text === '' ? dot : { kind: 'fields', of: dot, names: [token.text], line }
  }

  #group(line: number): Operand {
    this.#depth += 1
    if (this.#depth > deepest) throw new TemplateError('it is nested too deep', line)
    this.#at += 1
    const pipe = this.#pipe(undefined)
    if (!this.#takes(')')) throw new TemplateError('a parenthesis has no end', line)
    this.#depth -= 1
    return { kind: 'pipe', pipe, line }
  }

  #word(name: string, line: number): Operand {
    if (name === 'true' || name === 'false')
      return { kind: 'constant', value: name === 'true', line }
    if (name === 'nil') return { kind: 'nil', line }
    if (unsupported.has(name)) throw new TemplateError(`{{${name}}} is not supported`, line)
    if (!this.#functions.has(name))
      throw new TemplateError(`the function ${name} is not supported`, line)
    return { kind: 'function', name, line }
  }

  #takes(sign: string): boolean {
    const token = this.#tokens[this.#at]
    const isThere = token?.kind === 'sign' && token.text === sign
    if (isThere) this.#at += 1
    return isThere
  }

  #checkVariable(name: string, line: number): void {
    if (!this.#scopes.some((scope) => scope.has(name)))
      throw new TemplateError(`undefined variable ${name}`, line)
  }
}

function shown(token: Token): string {
  if (token.kind === 'constant') return JSON.stringify(token.value)
  return JSON.stringify(token.kind === 'field' ? `.${token.text}` : token.text)
}
