/** Markdown of lessons in the page: blocks and inline parts; everything else stays text. */
import { expect, test } from 'vitest'
import { lessonName, shippedLessons } from '../../../console/lessons-engine/shipped-lessons.ts'
import { readLesson } from '../../../console/lessons-engine/lesson.ts'
import { parseInline, parseMarkdown } from '../../../console/page/parts/markdown.ts'

const text = (content: string) => ({ kind: 'text', text: content })

test('paragraphs, lists and fenced code become blocks, in their order', () => {
  const blocks = parseMarkdown(
    'One\nline.\n\n1. first\n   goes on\n2. second\n\nThen:\n- a\n- b\n\n```sh\nls  -l\n\n# all\n```\nEnd\n',
  )
  expect(blocks).toEqual([
    { kind: 'paragraph', content: [text('One line.')] },
    { kind: 'list', start: 1, items: [[text('first goes on')], [text('second')]] },
    { kind: 'paragraph', content: [text('Then:')] },
    { kind: 'list', items: [[text('a')], [text('b')]] },
    { kind: 'code', text: 'ls  -l\n\n# all' },
    { kind: 'paragraph', content: [text('End')] },
  ])
})

test('code, emphasis and links become parts; marks inside code stay', () => {
  expect(parseInline('a **b** *c* `**d**` [e](https://example.com/e)')).toEqual([
    text('a '),
    { kind: 'strong', text: 'b' },
    text(' '),
    { kind: 'emphasis', text: 'c' },
    text(' '),
    { kind: 'code', text: '**d**' },
    text(' '),
    { kind: 'link', text: 'e', href: 'https://example.com/e' },
  ])
})

test('markup stays text', () => {
  const markup = '<img src=x onerror="alert(1)"><script>alert(1)</script>'
  expect(parseMarkdown(markup)).toEqual([{ kind: 'paragraph', content: [text(markup)] }])
  expect(parseInline(`**${markup}**`)).toEqual([{ kind: 'strong', text: markup }])
})

test.each(['javascript:alert%281%29', 'data:text/html,x', '//example.com', 'JAVASCRIPT:x'])(
  'a link to %s stays text',
  (href) => {
    expect(parseInline(`[x](${href})`)).toEqual([text(`[x](${href})`)])
  },
)

test('a sum of products is no emphasis', () => {
  expect(parseInline('2 * 3 * 4')).toEqual([text('2 * 3 * 4')])
})

test.each(shippedLessons())('no text of %s keeps a mark that it meant', (file) => {
  const { steps, summary } = readLesson(file)
  const texts = steps.flatMap((one) => [one.text, one.explanation, one.hint ?? ''])
  const kept = [summary, ...texts].flatMap((markdown) =>
    parseMarkdown(markdown).flatMap((block) => {
      const parts = block.kind === 'list' ? block.items.flat() : []
      const all = block.kind === 'paragraph' ? block.content : parts
      return all.filter((part) => part.kind === 'text' && /\*\*|`|\]\(/.test(part.text))
    }),
  )
  expect(kept, lessonName(file)).toEqual([])
})
