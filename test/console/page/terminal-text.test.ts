/** What programs write to a terminal, as the console's shell and log show it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEchoFilter } from '../../../console/page/parts/echo-filter.ts'
import { TerminalText } from '../../../console/page/parts/terminal-text.ts'

function linesOf(...chunks: readonly string[]): readonly string[] {
  const text = new TerminalText()
  for (const chunk of chunks) text.write(chunk)
  return text.lines
}

describe('terminal text', () => {
  it('drops colours, titles and other sequences, also when they come in parts', () => {
    const written = '\x1b[1;32mgreen\x1b[0m \x1b]0;title\x07\x1b(B\x1b=end\x1b[?25h\n'
    expect(linesOf(written)).toEqual(['green end', ''])
    expect(linesOf(...written.split(''))).toEqual(['green end', ''])
  })

  it('follows carriage returns, backspaces, cursor moves and erasures within the line', () => {
    expect(linesOf('10%\r100%\n')).toEqual(['100%', ''])
    expect(linesOf('abc\b\bX')).toEqual(['aXc'])
    expect(linesOf('abcdef\x1b[3D\x1b[K!')).toEqual(['abc!'])
    expect(linesOf('abc\x1b[2K')).toEqual(['   '])
    expect(linesOf('abc\x1b[1GX\x1b[2CY')).toEqual(['XbcY'])
    expect(linesOf('a\tb')).toEqual(['a       b'])
  })

  it('begins anew when the screen is cleared', () => {
    expect(linesOf('old\nolder\n\x1b[H\x1b[2Jnew')).toEqual(['new'])
  })

  it('keeps the newest 5,000 lines, and knows how many went', () => {
    const text = new TerminalText()
    for (let line = 0; line < 6000; line += 1) text.write(`${line}\n`)
    expect(text.lines).toHaveLength(5001)
    expect(text.dropped).toBe(1000)
    expect(text.lines[0]).toBe('1000')
  })

  it('stays bounded and leaves no escape in a line, whatever comes', () => {
    const piece = fc.constantFrom(
      '\x1b',
      '[',
      ']',
      '9999999',
      'C',
      'K',
      'P',
      '\r',
      '\n',
      'é',
      '\x07',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
        for (const line of linesOf(...pieces)) {
          expect(line).not.toContain('\x1b')
          expect(line.length).toBeLessThanOrEqual(4000)
        }
      }),
    )
  })
})

describe('the echo of a terminal', () => {
  it('is left out once, in one part or several', () => {
    const filter = createEchoFilter()
    filter.sent('ls -l')
    expect(['ls', ' -l', '\r', '\nfile', '\r\n'].map(filter.received).join('')).toBe('file\r\n')
    filter.sent('x')
    expect(filter.received('x\r\nx\r\n')).toBe('x\r\n')
  })

  it('is not missed where there is none', () => {
    const filter = createEchoFilter()
    filter.sent('env')
    expect(filter.received('A=1\n')).toBe('A=1\n')
    expect(filter.received('env\n')).toBe('env\n')
  })
})
