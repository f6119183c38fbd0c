/** Charts: docs/performance.md shows every one, and their figures are those of its tables. */
import { globSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { drawBarChart } from '../../scripts/bench/bar-chart.ts'
import { drawCharts } from '../../scripts/bench/charts.ts'
import { plainRow, timeRow } from '../../scripts/bench/rows.ts'
import { readDoc, root } from './markdown.ts'

const page = readDoc('docs/performance.md')
const charts = globSync('docs/charts/*.svg', { cwd: root }).toSorted()

/** First cell -> the others, of every table of the page. */
const tableRows = new Map(
  page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => {
      const [first = '', ...others] = line.slice(1, -1).replaceAll('`', '').split('|')
      return [first.trim(), others.map((cell) => cell.trim())] as const
    }),
)

/** The bars of a drawn chart: label -> figure. */
function barsOf(svg: string): (readonly [string, string])[] {
  const texts = (name: string) =>
    [...svg.matchAll(new RegExp(`<text class="${name}"[^>]*>([^<]*)<`, 'g'))].map(
      ([, text = '']) => text,
    )
  const values = texts('value')
  return texts('label').map((label, at) => [label, values[at] ?? ''] as const)
}

describe.each(charts)('%s', (chart) => {
  test('stands on the page', () => {
    expect(page).toContain(`](${chart.replace('docs/', '')})`)
  })

  test('shows the figures of the tables', () => {
    const bars = barsOf(readDoc(chart))
    expect(bars.length).toBeGreaterThan(2)
    const wrong = bars.filter(([label, figure]) => {
      const cells = tableRows.get(label) ?? []
      return !cells.some((cell) => cell.split(/, | to /).includes(figure))
    })
    expect(wrong).toEqual([])
  })
})

test('the page shows no chart that is not there', () => {
  const shown = [...page.matchAll(/!\[[^\]]*\]\((charts\/[^)]+)\)/g)].map(([, to]) => `docs/${to}`)
  expect(shown.toSorted()).toEqual(charts)
})

test('a run draws the charts that it has all rows of', () => {
  const memory = ['api-server', 'controller-manager', 'scheduler', 'node-agent', 'supervisor'].map(
    (name, at) => plainRow(`memory of ${name}.js`, `${at + 50} MB resident`),
  )
  const drawn = drawCharts([...memory, timeRow('one event to 100 watchers', 4, 2)])
  expect([...drawn.keys()]).toEqual(['memory.svg'])
  expect(barsOf(drawn.get('memory.svg') ?? '')).toEqual([
    ['API server', '50 MB'],
    ['controller manager', '51 MB'],
    ['scheduler', '52 MB'],
    ['node agent', '53 MB'],
    ['supervisor', '54 MB'],
  ])
})

test('bars are as long as their values, and the mark keeps its place beyond them', () => {
  const svg = drawBarChart({
    title: 'a < b',
    bars: [
      { label: 'half', value: 50, text: '50 %' },
      { label: 'quarter', value: 25, text: '25 %' },
    ],
    mark: { at: 100, text: 'all' },
  })
  const widths = [...svg.matchAll(/width="([\d.]+)" height="12" rx="2" fill="var\(--bar\)"/g)]
  const [half = 0, quarter = 0] = widths.map(([, width]) => Number(width))
  const mark = Number(/<line x1="([\d.]+)"/.exec(svg)?.[1])
  expect([half / mark, quarter / mark]).toEqual([0.5, 0.25])
  expect(svg).toContain('aria-label="a &lt; b"')
})
