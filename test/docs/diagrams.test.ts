/** Diagrams: every block of Mermaid in the documentation can be drawn, and fetches nothing from a network. */
import { expect, test } from 'vitest'
import { drawDiagram } from '../../docs/.vitepress/diagrams.ts'
import { codeBlocks, pages, readDoc } from './markdown.ts'

const diagrams = pages.flatMap((page) =>
  codeBlocks(readDoc(page))
    .filter(({ language }) => language === 'mermaid')
    .map(({ text, line }) => [`${page}:${line}`, text] as const),
)

test.each(diagrams)('%s can be drawn, with each of its labels', (_, source) => {
  const drawn = drawDiagram(source)
  expect(drawn).toMatch(/^<svg /)
  expect(drawn).not.toMatch(/@import|https?:(?!\/\/www\.w3\.org\/)/)
  const labels = [...source.matchAll(/^ +participant \w+ as (.+)$/gm)].map(
    ([, label = '']) => label,
  )
  const messages = [...source.matchAll(/^ +\w+-[-x>]*\w+: (.+)$/gm)].map(([, text = '']) => text)
  for (const label of [...labels, ...messages]) expect(drawn).toContain(label)
})

test('there are diagrams to draw', () => {
  expect(diagrams.length).toBeGreaterThan(5)
})
