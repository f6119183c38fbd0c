/** Markdown text: the Markdown of lessons on a terminal. Code and emphasis get a style, paragraphs are wrapped, code blocks are not. */
import { styled } from '../../cluster/cli/terminal.ts'

export interface TextStyle {
  readonly columns: number
  readonly colors: boolean
}

/** `[text](target)` becomes its text. */
const withoutLinks = (text: string): string => text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')

/** Code and emphasis in a style; where there are no colours, code keeps its marks. */
function withStyles(text: string, colors: boolean): string {
  return text
    .replaceAll(/\*\*([^*]+)\*\*/g, (_, strong: string) => styled(strong, 'bold', colors))
    .replaceAll(/`([^`]+)`/g, (whole, code: string) =>
      colors ? styled(code, 'cyan', true) : whole,
    )
}

/** Lines of at most that many characters; marks count as the characters they are. */
function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/).filter((one) => one !== '')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, line]
}

function paragraph(text: string, { columns, colors }: TextStyle): string[] {
  const items = withoutLinks(text).split(/^(?=[-*] |\d+\. )/m)
  return items.flatMap((item) => {
    const [, mark = '', rest = item] = /^([-*] |\d+\. )([\s\S]*)$/.exec(item) ?? []
    const lines = wrapped(rest, columns - mark.length)
    // Styles go on over the end of a line.
    const styledLines = withStyles(lines.join('\n'), colors).split('\n')
    return styledLines.map(
      (line, index) => `${index === 0 ? mark : ' '.repeat(mark.length)}${line}`,
    )
  })
}

/** The text with a line break at its end, lines indented by two. */
export function markdownText(markdown: string, style: TextStyle): string {
  const inner = { ...style, columns: Math.max(20, Math.min(style.columns, 100) - 4) }
  const blocks = markdown.trim().split(/^```.*\n([\s\S]*?)^```$/m)
  const lines = blocks.flatMap((block, index) =>
    index % 2 === 1
      ? [
          '',
          ...block
            .trimEnd()
            .split('\n')
            .map((line) => `  ${line}`),
          '',
        ]
      : block
          .trim()
          .split(/\n\s*\n/)
          .flatMap((one, at) => [...(at === 0 ? [] : ['']), ...paragraph(one, inner)]),
  )
  return `${lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n')}\n`
}
