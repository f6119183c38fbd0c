/** A cluster as SVG: the control plane at the top, below it one card for each node with its pods by owner. */
import type { ClusterPicture, PictureNode, PicturePart } from './cluster-picture.ts'
import {
  box,
  boxHeight,
  boxWidth,
  lineHeight,
  margin,
  rectangle,
  svgDocument,
  text,
} from './svg-parts.ts'

const gap = 12
const padding = 10
/** Cards side by side. */
const columns = 4

const linesOf = ({ name, text: state }: PicturePart): string[] => [
  name,
  ...(state === '' ? [] : [state]),
]

interface Card {
  readonly width: number
  readonly height: number
  draw(x: number, y: number, width: number): string
}

const headHeight = 2 * lineHeight + padding

function cardOf({ name, text: state, health, pods }: PictureNode): Card {
  const head = [name === '' ? 'no node' : name, state]
  const bodies = pods.map(linesOf)
  const width = Math.max(boxWidth(head), ...bodies.map(boxWidth)) + 2 * padding
  const inner = bodies.reduce((sum, lines) => sum + boxHeight(lines) + 6, 0)
  const height = headHeight + padding + inner
  return {
    width,
    height,
    draw: (x, y, across) => {
      const frame = rectangle({ x, y, width: across, height }, `card ${health}`)
      const title =
        text(head[0] ?? '', { x: x + padding, y: y + 18 }, 'title') +
        text(head[1] ?? '', { x: x + padding, y: y + 18 + lineHeight }, 'dim')
      let below = y + headHeight + 4
      const boxes = pods.map((pod, index) => {
        const lines = bodies[index] ?? []
        const at = { x: x + padding, y: below, width: across - 2 * padding }
        below += boxHeight(lines) + 6
        return box(at, { lines, health: pod.health })
      })
      return frame + title + boxes.join('')
    },
  }
}

function drawParts(parts: readonly PicturePart[], y: number): { body: string; right: number } {
  let x = margin
  let body = ''
  for (const part of parts) {
    const lines = linesOf(part)
    const width = boxWidth(lines)
    body += box({ x, y, width }, { lines, health: part.health })
    x += width + gap
  }
  return { body, right: x - gap }
}

/** Rows of cards; all cards of a diagram have one width. */
function drawCards(cards: readonly Card[], top: number) {
  const width = Math.max(120, ...cards.map((card) => card.width))
  let y = top
  let body = ''
  for (let at = 0; at < cards.length; at += columns) {
    const row = cards.slice(at, at + columns)
    for (const [index, card] of row.entries()) {
      body += card.draw(margin + index * (width + gap), y, width)
    }
    y += Math.max(...row.map(({ height }) => height)) + gap
  }
  const across = Math.min(columns, cards.length)
  return { body, bottom: y, right: margin + across * (width + gap) - gap }
}

export function clusterSvg({ title, parts, nodes, leftOut }: ClusterPicture): string {
  const top = margin + lineHeight + gap
  const head = text(title, { x: margin, y: margin + 12 }, 'title')
  const control = drawParts(parts, top)
  const cards = drawCards(nodes.map(cardOf), top + 2 * lineHeight + 8 + gap)
  const notes = leftOut.map((line, index) =>
    text(line, { x: margin, y: cards.bottom + 12 + index * lineHeight }, 'dim'),
  )
  const width = Math.max(control.right, cards.right, boxWidth([title])) + margin
  const height = cards.bottom + notes.length * lineHeight + margin
  return svgDocument(title, { width, height }, head + control.body + cards.body + notes.join(''))
}
