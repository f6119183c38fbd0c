/** Timelines as SVG: one section for each scenario, one bar for each step. */
import { lineHeight, margin, rectangle, svgDocument, text, widthOf } from './svg-parts.ts'
import type { Timeline, TimelineStep } from './timeline.ts'

const rowHeight = 20
const barWidth = 480
const ticks = 4

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`

function barOf(step: TimelineStep): string {
  return step.outcome === 'failed' ? 'bar failed' : `bar ${step.role}`
}

const signs = { passed: '✓', failed: '✗', 'not run': '·' } as const
const roles = { action: '', fault: 'fault: ', check: 'check: ' } as const

function labelOf({ title, role, outcome }: TimelineStep): string {
  return `${signs[outcome]} ${roles[role]}${title}`
}

function noteOf({ startMs, endMs, failure }: TimelineStep): string {
  const took = seconds(endMs - startMs)
  return failure === undefined ? took : `${took}: ${failure}`
}

function rowOf(
  step: TimelineStep,
  at: { readonly y: number; readonly left: number; readonly scale: number },
): string {
  const { y, left, scale } = at
  const label = text(
    labelOf(step),
    { x: margin, y: y + 14 },
    step.outcome === 'not run' ? 'dim' : '',
  )
  if (step.outcome === 'not run') return label
  const x = left + Math.round(step.startMs * scale)
  const width = Math.max(2, Math.round((step.endMs - step.startMs) * scale))
  return (
    label +
    rectangle({ x, y: y + 3, width, height: rowHeight - 6 }, barOf(step)) +
    text(noteOf(step), { x: x + width + 6, y: y + 14 }, 'dim')
  )
}

function axis(
  endMs: number,
  at: { readonly y: number; readonly left: number; readonly bottom: number },
): string {
  const { y, left, bottom } = at
  const marks = Array.from({ length: ticks + 1 }, (_, index) => {
    const x = left + Math.round((barWidth * index) / ticks)
    const label = text(seconds((endMs * index) / ticks), { x: x + 2, y: y + 10 }, 'dim')
    return `<path d="M${x} ${y}V${bottom}" class="axis"/>\n${label}`
  })
  return marks.join('')
}

interface Drawn {
  readonly body: string
  readonly bottom: number
  readonly right: number
}

function section({ name, outcome, steps, endMs }: Timeline, top: number, left: number): Drawn {
  const scale = endMs === 0 ? 0 : barWidth / endMs
  const axisY = top + rowHeight
  const first = axisY + lineHeight
  const bottom = first + steps.length * rowHeight
  const title = text(`${name}: ${outcome}`, { x: margin, y: top + 14 }, 'title')
  const rows = steps.map((step, index) =>
    rowOf(step, { y: first + index * rowHeight, left, scale }),
  )
  const ends = steps.map((step) => Math.round(step.endMs * scale) + 12 + widthOf(noteOf(step)))
  const right = left + Math.max(barWidth + 80, ...ends)
  const body = title + axis(endMs, { y: axisY, left, bottom }) + rows.join('')
  return { body, bottom: bottom + rowHeight, right: right + margin }
}

export function timelineSvg(timelines: readonly Timeline[]): string {
  const labels = timelines.flatMap(({ steps }) => steps.map(labelOf))
  const left = margin + Math.max(80, ...labels.map((label) => widthOf(label))) + margin
  let y = margin
  let width = left + barWidth + margin
  let body = ''
  for (const timeline of timelines) {
    const drawn = section(timeline, y, left)
    body += drawn.body
    y = drawn.bottom
    width = Math.max(width, drawn.right)
  }
  const title = timelines.map(({ name }) => name).join(', ')
  return svgDocument(title, { width, height: y + margin }, body)
}
