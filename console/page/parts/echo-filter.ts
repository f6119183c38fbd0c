/** createEchoFilter: leaves out what a terminal echoes of a line that the page has shown already. Pure. */

export interface EchoFilter {
  /** The line was sent; its echo, if one comes next, is left out. */
  sent(line: string): void
  /** The text without the echo. */
  received(text: string): string
}

export function createEchoFilter(): EchoFilter {
  let expected = ''
  /** The line itself was echoed: its end follows. */
  let isEndNext = false
  const withoutEnd = (text: string): string => {
    if (!isEndNext || text === '' || text === '\r') return text === '\r' && isEndNext ? '' : text
    isEndNext = false
    return text.replace(/^\r?\n/, '')
  }
  return {
    sent: (line) => {
      expected = line
      isEndNext = line === ''
    },
    received: (text) => {
      if (expected === '') return withoutEnd(text)
      const length = Math.min(expected.length, text.length)
      if (text.slice(0, length) !== expected.slice(0, length)) {
        expected = ''
        return text
      }
      expected = expected.slice(length)
      isEndNext = expected === ''
      return withoutEnd(text.slice(length))
    },
  }
}
