/** Tour text: what a learner reads on the terminal, step by step. */
import { exportLine } from '../../cluster/shell-word.ts'
import { asTyped, styled } from '../../cluster/cli/terminal.ts'
import type { ProgramName } from '../../cluster/cli/terminal.ts'
import type { StepView } from './lesson-session.ts'
import type { Lesson } from './lesson.ts'
import type { Tool } from './lesson-tools.ts'
import { markdownText } from './markdown-text.ts'

export interface TourText {
  /** The title, and how to reach the cluster from another terminal. */
  begin(): void
  step(view: StepView, index: number): void
  hint(hint: string | undefined, report: readonly string[]): void
  output(text: string): void
  failed(lines: readonly string[]): void
  wrongAnswer(): void
  keys(): void
  /** `result`: what the look of the step showed, if it was run. */
  done(view: StepView, result: string | undefined): void
}

export interface TourTextOptions {
  readonly lesson: Lesson
  readonly write: (text: string) => void
  readonly columns: number
  readonly colors: boolean
  /** The learner can type. */
  readonly hasInput: boolean
  readonly program: ProgramName
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string
  readonly has: (tool: Tool) => boolean
}

const indented = (text: string, by: string): string =>
  text.trimEnd() === '' ? '' : `${text.trimEnd().replaceAll(/^(?=.)/gm, by)}\n`

/** Writes one piece at a time. */
export function createTourText(options: TourTextOptions): TourText {
  const { lesson, write, columns, colors, hasInput, program, kubeconfig, has } = options
  const style = { columns, colors }
  const bold = (text: string): string => styled(text, 'bold', colors)
  const dim = (text: string): string => styled(text, 'dim', colors)
  const typed = (text: string): string => asTyped(text, program)
  const commandLines = (text: string): string =>
    typed(text)
      .split('\n')
      .map((line, index) => `    ${dim(index === 0 ? '$' : '>')} ${styled(line, 'cyan', colors)}\n`)
      .join('')
  const lines = (sign: string, all: readonly string[]): void => {
    for (const line of all) write(`    ${sign}${line}\n`)
  }
  const keys = (): void => {
    if (hasInput) write(dim('  n: skip  h: hint  d: do it for me  q: end  (with Enter)\n'))
  }
  return {
    begin: () => {
      write(`${bold(lesson.title)}\n${markdownText(lesson.summary, style)}\n`)
      if (!hasInput) return
      write('  Type the commands in another terminal. Begin there with:\n\n')
      write(commandLines(exportLine('KUBECONFIG', kubeconfig)))
    },
    step: (view, index) => {
      write(`\n${bold(`${index + 1}/${lesson.steps.length}  ${view.heading}`)}\n`)
      write(`${markdownText(view.text, style)}\n${commandLines(view.command)}\n`)
      const missing = hasInput ? view.tools.find((tool) => !has(tool)) : undefined
      const isDoable = view.hasAction ? ': d does this step without it' : ''
      if (missing !== undefined) write(`  ${missing} is not in the PATH${isDoable}.\n`)
      if (view.question !== undefined && hasInput) write(`  ${view.question} Type the answer.\n`)
      keys()
    },
    hint: (hint, report) => {
      if (hint !== undefined) write(markdownText(`**Hint:** ${typed(hint)}`, style))
      if (report.length > 0) write('  What the check sees:\n')
      lines('', report)
    },
    output: (text) => write(indented(text, '    ')),
    failed: (all) => lines(styled('✗ ', 'red', colors), all),
    wrongAnswer: () => write('  Not quite. Look again, or type h for a hint.\n'),
    keys,
    done: (view, result) => {
      write(`  ${styled('✓', 'green', colors)} ${bold(view.heading)}\n`)
      write(markdownText(typed(view.explanation), style))
      if (view.look === undefined) return
      write(`\n${commandLines(view.look)}`)
      if (result !== undefined) write(indented(result, '    '))
    },
  }
}
