/** The rows of docs/spec/, as its pages list them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One promise: `WATCH-004` of area `WATCH`. */
export interface Row {
  readonly id: string
  readonly area: string
  readonly text: string
  /** The page it is on: `watches.md`. */
  readonly page: string
}

const root = join(import.meta.dirname, '..', '..')

/** Pages in the order of docs/spec/index.md. */
function pages(folder: string): string[] {
  const index = readFileSync(join(folder, 'index.md'), 'utf8')
  return [...index.matchAll(/^\| [A-Z]+ .*\]\(([a-z-]+\.md)\)/gm)].map(([, page = '']) => page)
}

/** Every row in order. */
export function readRows(folder = join(root, 'docs', 'spec')): Row[] {
  return pages(folder).flatMap((page) => {
    const lines = readFileSync(join(folder, page), 'utf8').matchAll(
      /^\| `(([A-Z]+)-\d{3})` +\| (.*?) +\|$/gm,
    )
    return Array.from(lines, ([, id = '', area = '', text = '']) => ({ id, area, text, page }))
  })
}

/** The ids that a test's title carries: `[DEL-001] [DEL-002] ...`. */
export function idsIn(title: string): string[] {
  return [...title.matchAll(/\[([A-Z]+-\d{3})\]/g)].map(([, id = '']) => id)
}
