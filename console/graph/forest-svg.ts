/** A forest as SVG: roots at the left, what is below them to the right. */
import type { ForestBox } from './forest.ts'
import {
  box,
  boxHeight,
  boxWidth,
  lineHeight,
  margin,
  svgDocument,
  text,
  widthOf,
} from './svg-parts.ts'

const gapX = 40
const gapY = 10

interface Placed {
  readonly y: number
  readonly height: number
}

/** Widths of the boxes by their depth. */
function columnWidths(roots: readonly ForestBox[]): number[] {
  const widths: number[] = []
  let level = roots
  while (level.length > 0) {
    widths.push(Math.max(...level.map(({ lines }) => boxWidth(lines))))
    level = level.flatMap(({ below }) => below)
  }
  return widths
}

/** Draws the boxes, each at the height of the first below it. */
class Drawing {
  readonly #widths: readonly number[]
  readonly #parts: string[] = []
  #nextY: number

  constructor(widths: readonly number[], top: number) {
    this.#widths = widths
    this.#nextY = top
  }

  get bottom(): number {
    return this.#nextY - gapY
  }

  get body(): string {
    return this.#parts.join('')
  }

  draw(one: ForestBox, at: { readonly x: number; readonly depth: number }): Placed {
    const { lines, health, below } = one
    const y = this.#nextY
    const height = boxHeight(lines)
    const width = boxWidth(lines)
    this.#parts.push(box({ x: at.x, y, width }, { lines, health }))
    const x = at.x + (this.#widths[at.depth] ?? 0) + gapX
    for (const each of below)
      this.#edge(
        { x: at.x + width, y: y + height / 2 },
        x,
        this.draw(each, { x, depth: at.depth + 1 }),
      )
    this.#nextY = Math.max(this.#nextY, y + height + gapY)
    return { y, height }
  }

  #edge(from: { readonly x: number; readonly y: number }, toX: number, to: Placed): void {
    const y = to.y + to.height / 2
    const middle = toX - gapX / 2
    this.#parts.push(`<path d="M${from.x} ${from.y}H${middle}V${y}H${toX}" class="edge"/>\n`)
  }
}

export function forestSvg(title: string, roots: readonly ForestBox[]): string {
  const widths = columnWidths(roots)
  const top = margin + lineHeight + gapY
  const drawing = new Drawing(widths, top)
  for (const root of roots) drawing.draw(root, { x: margin, depth: 0 })
  const across = widths.reduce((sum, width) => sum + width + gapX, 0) - gapX
  const width = 2 * margin + Math.max(across, widthOf(title))
  const head = text(title, { x: margin, y: margin + 12 }, 'title')
  const height = Math.max(drawing.bottom, top) + margin
  return svgDocument(title, { width, height }, head + drawing.body)
}
