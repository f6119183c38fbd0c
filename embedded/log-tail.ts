/** LogTail: the newest lines of each component's log, bounded. */

const mostLines = 2000

export class LogTail {
  readonly #lines = new Map<string, string[]>()

  /** A line as createLog writes it: JSON with the field `component`. */
  write(line: string): void {
    const { component } = JSON.parse(line) as { component: string }
    const lines = this.#lines.get(component) ?? []
    this.#lines.set(component, lines)
    lines.push(line.trimEnd())
    // By halves: to shift with every line would move them all.
    if (lines.length > 2 * mostLines) lines.splice(0, mostLines)
  }

  of(component: string): readonly string[] {
    return (this.#lines.get(component) ?? []).slice(-mostLines)
  }
}
