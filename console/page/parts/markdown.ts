/**
 * Markdown of lessons as blocks: paragraphs, lists, fenced code, emphasis, code and links. Everything else, HTML above all, stays text.
 * Pure.
 */

export type Inline =
  | { readonly kind: 'text' | 'code' | 'strong' | 'emphasis'; readonly text: string }
  | { readonly kind: 'link'; readonly text: string; readonly href: string }

export type Block =
  | { readonly kind: 'paragraph'; readonly content: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | {
      readonly kind: 'list'
      /** Number of the first item; absent: the list has no numbers. */
      readonly start?: number
      readonly items: readonly (readonly Inline[])[]
    }

const mark = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\[([^[\]]+)\]\(([^()\s]+)\)/g

/** Links lead to other websites or to places of the page. */
const isTarget = (href: string): boolean => /^(https?:\/\/|#\/)/.test(href)

function markedPart(match: RegExpExecArray): Inline {
  const [whole, code, strong, emphasis, text, href] = match
  if (code !== undefined) return { kind: 'code', text: code }
  if (strong !== undefined) return { kind: 'strong', text: strong }
  if (emphasis !== undefined) return { kind: 'emphasis', text: emphasis }
  if (text !== undefined && href !== undefined && isTarget(href))
    return { kind: 'link', text, href }
  return { kind: 'text', text: whole }
}

export function parseInline(text: string): Inline[] {
  const parts: Inline[] = []
  let end = 0
  for (const match of text.matchAll(mark)) {
    if (match.index > end) parts.push({ kind: 'text', text: text.slice(end, match.index) })
    parts.push(markedPart(match))
    end = match.index + match[0].length
  }
  if (end < text.length) parts.push({ kind: 'text', text: text.slice(end) })
  return parts
}

const joinLines = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, ' ')

/** A text without empty lines: a paragraph, a list, or one before the other. */
function parseChunk(chunk: string): Block[] {
  const [first = '', ...rest] = chunk.split(/^(?=[-*] |\d+\. )/m)
  const pieces = /^([-*] |\d+\. )/.test(first) ? [first, ...rest] : rest
  const before = pieces.length === rest.length ? joinLines(first) : ''
  const blocks: Block[] = []
  if (before !== '') blocks.push({ kind: 'paragraph', content: parseInline(before) })
  if (pieces.length === 0) return blocks
  const items = pieces.map((piece) => parseInline(joinLines(piece.replace(/^\S+ /, ''))))
  const start = Number.parseInt(pieces[0] ?? '', 10)
  blocks.push({ kind: 'list', items, ...(Number.isNaN(start) ? {} : { start }) })
  return blocks
}

export function parseMarkdown(markdown: string): Block[] {
  return markdown.split(/^```.*\n([\s\S]*?)^```$/m).flatMap((part, index): Block[] => {
    if (index % 2 === 1) return [{ kind: 'code', text: part.trimEnd() }]
    return part
      .split(/\n\s*\n/)
      .filter((chunk) => chunk.trim() !== '')
      .flatMap((chunk) => parseChunk(chunk.trim()))
  })
}
