/** Templates in Go's text/template, parsed once and rendered with JSON values. Steps and characters of a rendering are bounded. */
import { messageOf } from '../../component-base/log.ts'
import { goText } from './go-text.ts'
import { parseTemplate } from './parse-template.ts'
import { sprigFunctions } from './sprig-functions.ts'
import { TemplateError } from './template-error.ts'
import { templateFunctions } from './template-functions.ts'
import type { TemplateFunctions } from './template-functions.ts'
import type { Command, Operand, Pipe, TemplateNode } from './template-nodes.ts'
import { isMapping, isTrue, itemAt } from './values.ts'

const mostSteps = 50_000
const mostCharacters = 1_000_000

const common: TemplateFunctions = { ...templateFunctions, ...sprigFunctions }

export interface Template {
  /** Throws a TemplateError with the line. */
  render(data: unknown, functions: TemplateFunctions): string
}

/** `functions`: names of those that `render` is given, beside Go's own and sprig's. Throws a TemplateError. */
export function compileTemplate(text: string, functions: readonly string[]): Template {
  const nodes = parseTemplate(text, new Set(['and', 'or', ...Object.keys(common), ...functions]))
  return {
    render: (data, given) => new Rendering(data, { ...common, ...given }).run(nodes),
  }
}

interface Variable {
  readonly name: string
  value: unknown
}

type Leap = 'break' | 'continue' | undefined

class Rendering {
  readonly #functions: TemplateFunctions
  readonly #variables: Variable[]
  readonly #data: unknown
  #text = ''
  #steps = 0

  constructor(data: unknown, functions: TemplateFunctions) {
    this.#data = data
    this.#functions = functions
    this.#variables = [{ name: '$', value: data }]
  }

  run(nodes: readonly TemplateNode[]): string {
    this.#nodes(nodes, this.#data)
    return this.#text
  }

  #write(text: string, line: number): void {
    this.#text += text
    if (this.#text.length > mostCharacters)
      throw new TemplateError(`the result has more than ${mostCharacters} characters`, line)
  }

  #step(line: number): void {
    this.#steps += 1
    if (this.#steps > mostSteps)
      throw new TemplateError(`it takes more than ${mostSteps} steps`, line)
  }

  /** Runs in a scope of its own. */
  #nodes(nodes: readonly TemplateNode[], dot: unknown): Leap {
    const depth = this.#variables.length
    try {
      for (const node of nodes) {
        const leap = this.#node(node, dot)
        if (leap !== undefined) return leap
      }
      return undefined
    } finally {
      this.#variables.length = depth
    }
  }

  #node(node: TemplateNode, dot: unknown): Leap {
    switch (node.kind) {
      case 'text':
        this.#write(node.text, 1)
        return undefined
      case 'action': {
        const value = this.#pipe(node.pipe, dot)
        if (node.pipe.sets === undefined) this.#write(goText(value), node.pipe.line)
        else this.#set(node.pipe, [value])
        return undefined
      }
      case 'break':
      case 'continue':
        return node.kind
      case 'range':
        return this.#range(node, dot)
      case 'if':
      case 'with': {
        const depth = this.#variables.length
        const value = this.#pipe(node.pipe, dot)
        this.#set(node.pipe, [value])
        const inner = node.kind === 'with' ? value : dot
        const leap = isTrue(value)
          ? this.#nodes(node.body, inner)
          : this.#nodes(node.otherwise, dot)
        this.#variables.length = depth
        return leap
      }
    }
  }

  #range(node: Extract<TemplateNode, { pipe: Pipe; body: unknown }>, dot: unknown): Leap {
    const entries = entriesOf(this.#pipe(node.pipe, dot), node.pipe.line)
    if (entries.length === 0) return this.#nodes(node.otherwise, dot)
    const names = node.pipe.sets?.names.length ?? 0
    for (const [key, value] of entries) {
      this.#step(node.pipe.line)
      const depth = this.#variables.length
      this.#set(node.pipe, names === 2 ? [key, value] : [value])
      const leap = this.#nodes(node.body, value)
      this.#variables.length = depth
      if (leap === 'break') break
    }
    return undefined
  }

  #set({ sets }: Pipe, values: readonly unknown[]): void {
    for (const [index, name] of (sets?.names ?? []).entries()) {
      const value = values[index]
      const known = this.#variables.findLast((variable) => variable.name === name)
      if (sets?.isNew === true || known === undefined) this.#variables.push({ name, value })
      else known.value = value
    }
  }

  #pipe({ commands }: Pipe, dot: unknown): unknown {
    const [first, ...others] = commands
    if (first === undefined) return undefined
    return others.reduce<unknown>(
      (value, command) => this.#command(command, dot, [value]),
      this.#command(first, dot, []),
    )
  }

  #command({ operands, line }: Command, dot: unknown, piped: readonly unknown[]): unknown {
    const [first, ...rest] = operands
    this.#step(line)
    if (first?.kind === 'function') {
      const lazily = [
        ...rest.map((operand) => () => this.#operand(operand, dot)),
        ...piped.map((value) => () => value),
      ]
      return this.#call(first.name, lazily, line)
    }
    if (piped.length > 0) throw new TemplateError('only a function takes a piped value', line)
    return first && this.#operand(first, dot)
  }

  #call(name: string, args: readonly (() => unknown)[], line: number): unknown {
    if (name === 'and' || name === 'or') {
      let value: unknown
      for (const arg of args) {
        value = arg()
        if (isTrue(value) === (name === 'or')) return value
      }
      return value
    }
    const known = Object.hasOwn(this.#functions, name) ? this.#functions[name] : undefined
    if (known === undefined) throw new TemplateError(`there is no function ${name} here`, line)
    const values = args.map((arg) => arg())
    return this.#tried(line, name, () => known(...values))
  }

  #tried<T>(line: number, what: string, act: () => T): T {
    try {
      return act()
    } catch (error) {
      if (error instanceof TemplateError) throw error
      throw new TemplateError(`${what}: ${messageOf(error)}`, line)
    }
  }

  #operand(operand: Operand, dot: unknown): unknown {
    switch (operand.kind) {
      case 'dot':
        return dot
      case 'nil':
        return undefined
      case 'constant':
        return operand.value
      case 'variable':
        return this.#variables.findLast(({ name }) => name === operand.name)?.value
      case 'pipe':
        return this.#pipe(operand.pipe, dot)
      case 'function':
        return this.#call(operand.name, [], operand.line)
      case 'fields': {
        const { line } = operand
        return operand.names.reduce(
          (value, name) => fieldOf(value, name, line),
          this.#operand(operand.of, dot),
        )
      }
    }
  }
}

/** A field that is not there has no value, and neither has a field of it. */
function fieldOf(value: unknown, name: string, line: number): unknown {
  if (value === undefined || value === null) return undefined
  if (!isMapping(value)) throw new TemplateError(`.${name} of ${goText(value)}`, line)
  return itemAt(value, name)
}

/** What `range` goes through. */
function entriesOf(value: unknown, line: number): readonly (readonly [unknown, unknown])[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return [...value.entries()]
  if (isMapping(value))
    return Object.keys(value)
      .toSorted()
      .map((key) => [key, value[key]])
  if (typeof value === 'number' && Number.isInteger(value) && value <= mostSteps)
    return Array.from({ length: Math.max(0, value) }, (_, index) => [index, index])
  throw new TemplateError(`range over ${goText(value)}`, line)
}
