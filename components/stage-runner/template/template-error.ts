/** A template that cannot be parsed, or has no result: the reason, and the line (from 1) of the template. */
export class TemplateError extends Error {
  readonly line: number
  constructor(message: string, line: number) {
    super(message)
    this.name = 'TemplateError'
    this.line = line
  }
}
