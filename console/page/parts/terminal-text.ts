/**
 * TerminalText: what programs write to a terminal, as lines of plain text. It follows carriage returns, backspaces, and the control
 * sequences that move within the line or erase (ECMA-48); it drops colours, titles and the rest. Bounded. Pure.
 */

const mostLines = 5000
const mostColumns = 4000
/** Longer sequences are no sequences. */
const longestSequence = 256

const [escape, bell] = ['\x1b', '\x07']
/** CSI, OSC and its kin up to their ends, or a single escaped character. */
const sequence = new RegExp(
  [
    String.raw`^${escape}\[([0-?]*)[ -/]*([@-~])`,
    String.raw`^${escape}[\]P^_X][^${bell}${escape}]*(?:${bell}|${escape}\\)`,
    String.raw`^${escape}[ -/]*[0-Z\\^-~]`,
  ].join('|'),
)

export class TerminalText {
  readonly #lines: string[] = []
  /** The line with the cursor. */
  #line = ''
  #column = 0
  /** The beginning of a sequence whose rest has not come yet. */
  #begun = ''
  #dropped = 0

  /** Lines up to now; the last one may go on. */
  get lines(): readonly string[] {
    return [...this.#lines, this.#line]
  }

  /** How many lines went from the top, so that a line's number stays its own. */
  get dropped(): number {
    return this.#dropped
  }

  write(text: string): void {
    const all = this.#begun + text
    this.#begun = ''
    for (let index = 0; index < all.length;) {
      if (all[index] !== escape) {
        index += this.#plain(all, index)
        continue
      }
      const found = sequence.exec(all.slice(index, index + longestSequence))
      if (found !== null) {
        this.#control(found[1] ?? '', found[2] ?? '')
        index += found[0].length
      } else if (all.length - index < longestSequence) {
        this.#begun = all.slice(index)
        return
      } else index += 1
    }
  }

  /** Takes characters up to the next control character, or one of these. Returns how many. */
  #plain(text: string, from: number): number {
    const [run = ''] = /^\P{Cc}+/u.exec(text.slice(from, from + mostColumns)) ?? []
    if (run !== '') {
      this.#put(run)
      return run.length
    }
    const control = text[from]
    if (control === '\n') this.#newLine()
    else if (control === '\r') this.#column = 0
    else if (control === '\b') this.#column = Math.max(0, this.#column - 1)
    else if (control === '\t') this.#put(' '.repeat(8 - (this.#column % 8)))
    return 1
  }

  #put(run: string): void {
    const before = this.#line.slice(0, this.#column).padEnd(this.#column)
    this.#line = (before + run + this.#line.slice(this.#column + run.length)).slice(0, mostColumns)
    this.#column = Math.min(mostColumns, this.#column + run.length)
  }

  #newLine(): void {
    this.#lines.push(this.#line)
    if (this.#lines.length > mostLines) {
      this.#lines.shift()
      this.#dropped += 1
    }
    this.#line = ''
    this.#column = 0
  }

  #control(given: string, final: string): void {
    const count = Math.min(mostColumns, Math.max(1, Number.parseInt(given, 10) || 1))
    const mode = Number.parseInt(given, 10) || 0
    if (final === 'C') this.#column = Math.min(mostColumns, this.#column + count)
    else if (final === 'D') this.#column = Math.max(0, this.#column - count)
    else if (final === 'G') this.#column = count - 1
    else if (final === 'K') this.#eraseLine(mode)
    else if (final === 'P')
      this.#line = this.#line.slice(0, this.#column) + this.#line.slice(this.#column + count)
    else if (final === 'J' && mode >= 2) this.#clear()
  }

  #eraseLine(mode: number): void {
    const after = mode === 1 ? this.#line.slice(this.#column) : ''
    const before = mode === 0 ? this.#line.slice(0, this.#column) : ' '.repeat(this.#column)
    this.#line = before + after
  }

  #clear(): void {
    this.#dropped += this.#lines.length
    this.#lines.length = 0
    this.#line = ''
    this.#column = 0
  }
}
