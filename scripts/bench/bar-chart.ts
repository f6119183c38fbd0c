/**
 * BarChart: horizontal bars with their figures, as an SVG. Alone it follows the reader's light or dark mode; the site puts it
 * into the page and gives it the colours of its theme (`docs/.vitepress/charts.ts`).
 */

export interface Bar {
  readonly label: string
  readonly value: number
  /** The value as it is written beside the bar. */
  readonly text: string
}

export interface BarChart {
  readonly title: string
  readonly bars: readonly Bar[]
  /** A vertical line to compare the bars with. */
  readonly mark?: { readonly at: number; readonly text: string } | undefined
}

const width = 560
const head = 34
const row = 42
/** Room for the text behind the longest bar. */
const room = 110

const style = `
svg { --ink: #3c3c43; --faint: #67676c; --bar: #3451b2; --track: #e9e9ec }
@media (prefers-color-scheme: dark) { svg { --ink: #dfdfd6; --faint: #98989f; --bar: #a8b1ff; --track: #32363f } }
`

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

/** Draws the chart; the longest bar, or the mark when it is farther, takes the whole width. */
export function drawBarChart({ title, bars, mark }: BarChart): string {
  const most = Math.max(...bars.map(({ value }) => value), mark?.at ?? 0)
  const scale = (value: number): string => ((value / most) * (width - room)).toFixed(1)
  const height = head + row * bars.length
  const full = scale(most)
  const drawn = bars.flatMap(({ label, value, text }, at) => {
    const top = head + at * row
    return [
      `<text class="label" x="0" y="${top + 12}" fill="var(--ink)">${escaped(label)}</text>`,
      `<rect x="0" y="${top + 19}" width="${full}" height="12" rx="2" fill="var(--track)"/>`,
      `<rect x="0" y="${top + 19}" width="${scale(value)}" height="12" rx="2" fill="var(--bar)"/>`,
      `<text class="value" x="${Number(full) + 8}" y="${top + 30}" fill="var(--ink)">${escaped(text)}</text>`,
    ]
  })
  const line =
    mark === undefined
      ? []
      : [
          `<line x1="${scale(mark.at)}" x2="${scale(mark.at)}" y1="${head - 6}" y2="${height}" stroke="var(--faint)" stroke-dasharray="3 3"/>`,
          `<text x="${scale(mark.at)}" y="${head - 12}" fill="var(--faint)" text-anchor="end">${escaped(mark.text)}</text>`,
        ]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escaped(title)}" font-family="system-ui, sans-serif" font-size="13">`,
    `<style>${style}</style>`,
    ...drawn,
    ...line,
    '</svg>',
    '',
  ].join('\n')
}
