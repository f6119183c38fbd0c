/**
 * Parts of SVG diagrams: escaped text in a monospaced font, boxes, and the document with its colours for light and dark. A diagram
 * refers to nothing outside itself and has no scripts.
 */
import { plain } from '../../cluster/cli/why-request-text.ts'
import { xml } from '../../scenarios/engine/xml.ts'
import type { Health } from '../family/object-state.ts'

export const fontSize = 12
/** Of one character of a monospaced font, which is 0.6 em wide in all common ones. */
const cellWidth = 7.25
export const lineHeight = 16
export const margin = 16
/** Longer texts are cut; the whole text is in the tooltip. */
const mostCells = 60

/** East Asian wide characters and emoji take two cells. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

const cellsOf = (character: string): number => (wide.test(character) ? 2 : 1)

/** The text as it is drawn: one line, without control characters, cut to 60 cells. */
export function clipped(text: string): string {
  let cells = 0
  let kept = ''
  for (const character of plain(text)) {
    cells += cellsOf(character)
    if (cells > mostCells) return `${kept}…`
    kept += character
  }
  return kept
}

/** Width of the drawn text in pixels. */
export function widthOf(text: string): number {
  let cells = 0
  for (const character of clipped(text)) cells += cellsOf(character)
  return Math.ceil(cells * cellWidth)
}

export interface Place {
  readonly x: number
  readonly y: number
}

/** `at` is the left end of the base line. */
export function text(content: string, at: Place, names = ''): string {
  const shown = clipped(content)
  const whole = plain(content)
  const tip = whole === shown ? '' : `<title>${xml(whole)}</title>`
  const classes = names === '' ? '' : ` class="${names}"`
  return `<text x="${at.x}" y="${at.y}"${classes}>${xml(shown)}${tip}</text>\n`
}

export function rectangle(
  at: Place & { readonly width: number; readonly height: number },
  names: string,
): string {
  return `<rect x="${at.x}" y="${at.y}" width="${at.width}" height="${at.height}" rx="4" class="${names}"/>\n`
}

/** A box with lines of text, the first of them its name; its colour tells the health. */
export function box(
  at: Place & { readonly width: number },
  content: { readonly lines: readonly string[]; readonly health: Health },
): string {
  const { lines, health } = content
  const frame = rectangle({ ...at, height: boxHeight(lines) }, `box ${health}`)
  const body = lines.map((line, index) =>
    text(line, { x: at.x + 8, y: at.y + 16 + index * lineHeight }, index === 0 ? '' : 'dim'),
  )
  return frame + body.join('')
}

export function boxWidth(lines: readonly string[]): number {
  return Math.max(40, ...lines.map(widthOf)) + 16
}

export function boxHeight(lines: readonly string[]): number {
  return lines.length * lineHeight + 8
}

const style = `
svg{color-scheme:light dark;--bg:#fff;--fg:#1f2328;--dim:#59636e;--line:#d1d9e0;--good:#1a7f37;--waiting:#9a6700;--bad:#cf222e;--part:#0969da}
@media (prefers-color-scheme:dark){svg{--bg:#0d1117;--fg:#f0f6fc;--dim:#9198a1;--line:#3d444d;--good:#3fb950;--waiting:#d29922;--bad:#f85149;--part:#4493f8}}
text{font:${fontSize}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--fg);white-space:pre}
.title{font-weight:bold}.dim{fill:var(--dim)}.bg{fill:var(--bg)}
.box,.bar{fill:var(--bg);stroke:var(--line)}.card,.edge,.axis{fill:none;stroke:var(--line)}
.good{stroke:var(--good)}.waiting{stroke:var(--waiting)}.bad{stroke:var(--bad);stroke-width:2}
.bar{fill-opacity:.35}.action{fill:var(--dim)}.check{fill:var(--good)}.fault{fill:var(--waiting)}.failed{fill:var(--bad)}
`

/** The document. `size` includes the margins. */
export function svgDocument(
  title: string,
  size: { readonly width: number; readonly height: number },
  body: string,
): string {
  const { width, height } = size
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">\n` +
    `<title>${xml(plain(title))}</title>\n<style>${style}</style>\n` +
    `<rect width="${width}" height="${height}" class="bg"/>\n${body}</svg>\n`
  )
}
