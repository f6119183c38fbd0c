/** Markdown: what the tests of the documentation read out of it: code blocks, names in code style, links. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The repository. */
export const root = join(import.meta.dirname, '..', '..')

/** The text of a file, by its path from the repository's root. */
export function readDoc(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** Every page: the site's, and those beside it. */
export const pages: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...globSync('docs/**/*.md', { cwd: root }).toSorted(),
]

/** Languages of blocks that show a part of an example, whose own suite runs it. */
export const excerpted = ['python', 'rust', 'java']

export interface CodeBlock {
  /** What stands behind the fence; empty when nothing does. */
  readonly language: string
  readonly text: string
  /** Line of the opening fence, from 1. */
  readonly line: number
  /** The reason of a `<!-- not run: reason -->` that precedes the block. */
  readonly notRun?: string
  /** The file that the block holds: the name in a comment that is its first line. */
  readonly file?: string
}

/** Every fenced block, in order. */
export function codeBlocks(markdown: string): CodeBlock[] {
  const fences = /^```(.*)\n([^]*?)^```$/gm
  return [...markdown.matchAll(fences)].map(({ 1: language = '', 2: text = '', index }) => {
    const before = markdown.slice(0, index)
    const notRun = /<!-- not run: ((?:(?!-->)[^])+?) -->\s*$/.exec(before)?.[1]
    const file = /^(?:#|\/\/) ([\w./-]+\.\w+)\n/.exec(text)?.[1]
    return {
      language: language.trim(),
      text,
      line: before.split('\n').length,
      ...(notRun === undefined ? {} : { notRun }),
      ...(file === undefined ? {} : { file }),
    }
  })
}

export interface Command {
  readonly command: string
  /** What it prints, as the document shows it; empty when the document does not show it. */
  readonly output: string
}

/** A command line that writes the file of a block into the current folder, and fails when there is one of that name. */
export function writes({ file = '', text }: CodeBlock): string {
  return `mkdir -p "$(dirname '${file}')" && (set -C; cat > '${file}') <<'END OF BLOCK'\n${text}END OF BLOCK`
}

/** The commands of a console block: lines that start with `$ `, each followed by what it prints. */
export function commandsOf(block: CodeBlock): Command[] {
  const [before = '', ...parts] = `\n${block.text}`.split('\n$ ')
  if (before.trim() !== '' || parts.length === 0) {
    throw new Error(`line ${block.line}: a console block starts with a command`)
  }
  return parts.map((part) => {
    const [command = '', ...output] = part.split('\n')
    return { command, output: output.join('\n') }
  })
}

/** Everything in `code style` outside of blocks. */
export function codeSpans(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[^]*?^```$/gm, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)
}

/** Targets of links that lead to files, as written, without the part behind `#`. */
export function fileLinks(markdown: string): string[] {
  return [...markdown.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target.replace(/#.*/, ''))
    .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
}
