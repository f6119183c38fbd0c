/** What a template is made of, once it is parsed. */
export interface Field {
  readonly kind: 'fields'
  readonly of: Operand
  readonly names: readonly string[]
  readonly line: number
}

export type Operand =
  | { readonly kind: 'dot' | 'nil'; readonly line: number }
  | { readonly kind: 'constant'; readonly value: string | number | boolean; readonly line: number }
  | { readonly kind: 'variable' | 'function'; readonly name: string; readonly line: number }
  | { readonly kind: 'pipe'; readonly pipe: Pipe; readonly line: number }
  | Field

export interface Command {
  readonly operands: readonly Operand[]
  readonly line: number
}

export interface Pipe {
  readonly commands: readonly Command[]
  /** Variables that it sets: `$a, $b :=`. */
  readonly sets: { readonly names: readonly string[]; readonly isNew: boolean } | undefined
  readonly line: number
}

export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipe: Pipe }
  | { readonly kind: 'break' | 'continue'; readonly line: number }
  | {
      readonly kind: 'if' | 'with' | 'range'
      readonly pipe: Pipe
      readonly body: readonly TemplateNode[]
      readonly otherwise: readonly TemplateNode[]
    }
