/** Base64 as Go's standard encoding reads it: padding required, line breaks ignored, the offset of the first fault. */

/** The canonical form, or the offset in bytes of the first illegal one. */
export function canonicalBase64(text: string): string | { illegalAt: number } {
  if (text === '') return text
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) {
    // Unused bits of the last group may be set; only that group can change.
    if (!text.endsWith('=')) return text
    const head = text.length - 4
    return text.slice(0, head) + Buffer.from(text.slice(head), 'base64').toString('base64')
  }
  const illegalAt = firstFault(text)
  if (illegalAt !== undefined) return { illegalAt }
  return Buffer.from(text, 'base64').toString('base64')
}

function firstFault(text: string): number | undefined {
  let inGroup = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at)
    if (char === '\n' || char === '\r') continue
    if (/[A-Za-z0-9+/]/.test(char)) {
      inGroup = (inGroup + 1) % 4
      continue
    }
    if (char !== '=' || inGroup < 2) return at
    return faultInPadding(text, at, inGroup)
  }
  if (inGroup === 0) return undefined
  return text.length - inGroup
}

function faultInPadding(text: string, first: number, inGroup: number): number | undefined {
  let at = skipBreaks(text, first + 1)
  if (inGroup === 2) {
    if (at === text.length) return text.length
    if (text.charAt(at) !== '=') return at - 1
    at = skipBreaks(text, at + 1)
  }
  return at < text.length ? at : undefined
}

function skipBreaks(text: string, from: number): number {
  let at = from
  while (text.charAt(at) === '\n' || text.charAt(at) === '\r') at += 1
  return at
}
