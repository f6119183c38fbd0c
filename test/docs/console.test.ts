/**
 * Console blocks: what the documentation says to type works, and prints what the documentation shows. Each page has a shell
 * of its own, in which its blocks are typed in order; a block that names its file in its first line is written there before.
 * A command whose output is not shown only has to succeed. No component of the clusters is refused a request.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { refusedComponents } from '../e2e/refused-components.ts'
import { inTurn } from '../support/start-turn.ts'
import { codeBlocks, commandsOf, excerpted, pages, readDoc, writes } from './markdown.ts'
import { fits, normalLines } from './output.ts'
import { findKubectl, openReaderShell } from './reader-shell.ts'
import type { CodeBlock } from './markdown.ts'
import type { ReaderShell, Typed } from './reader-shell.ts'

const docs = pages.filter((page) =>
  codeBlocks(readDoc(page)).some(({ language }) => language === 'console'),
)
/** Languages of blocks beside console; a diagram is drawn when the site is built. */
const languages = ['console', 'yaml', 'json', 'ts', 'js', 'text', 'mermaid', '', ...excerpted]
const commandTimeoutMs = 120_000

const needsKubectl = ({ command }: { command: string }): boolean => command.startsWith('kubectl ')
const hasKubectl = findKubectl() !== undefined
const noKubectl = 'NOT RUN: commands of the documentation with kubectl, there is none in the PATH'
if (!hasKubectl) {
  process.stderr.write(`\n${noKubectl}\n\n`)
  test.skip(noKubectl, () => {})
}

describe.each(docs)('%s', (doc) => {
  const markdown = readDoc(doc)
  const blocks = codeBlocks(markdown)
  const toRun = blocks.filter((one) => one.language === 'console' && one.notRun === undefined)
  const unwritten = blocks.filter(({ file }) => file !== undefined)
  let shell: ReaderShell
  beforeAll(async () => {
    await builtOnce()
    if (toRun.length > 0) shell = openReaderShell()
  })
  afterAll(async () => {
    await shell?.[Symbol.asyncDispose]()
  })

  for (const block of blocks.filter((one) => one.language === 'console')) {
    const commands = commandsOf(block)
    const lacksKubectl = !hasKubectl && commands.some(needsKubectl)
    const title = `${doc}:${block.line} ${commands[0]?.command ?? ''}${lacksKubectl ? ' (kubectl NOT RUN)' : ''}`
    if (block.notRun !== undefined) {
      test.skip(`${title} (not run: ${block.notRun})`, () => {})
      continue
    }
    test(title, { timeout: (commands.length + 1) * commandTimeoutMs }, async () => {
      while (unwritten[0] !== undefined && unwritten[0].line < block.line) {
        const file = writes(unwritten.shift() as CodeBlock)
        expect(await shell.type(file, commandTimeoutMs)).toEqual({ code: 0, output: '' })
      }
      for (const { command, output } of commands) {
        if (lacksKubectl && needsKubectl({ command })) continue
        const type = async (): Promise<Typed> => await shell.type(command, commandTimeoutMs)
        const typed = await (/\bskiff up\b/.test(command) ? inTurn(type) : type())
        expect(refusedComponents(join(shell.home, '.local', 'state', 'skiff'))).toEqual([])
        expect(typed.code, `$ ${command}\n${typed.output}`).toBe(0)
        const shown = normalLines(output)
        const printed = normalLines(typed.output, shell.home)
        if (shown.length > 0 && !fits(shown, printed)) {
          expect(printed, `$ ${command}\n${typed.output}`).toEqual(shown)
        }
      }
    })
  }

  test(`${doc} shows commands in console blocks only, and takes down what it starts`, () => {
    expect(blocks.filter(({ language }) => !languages.includes(language))).toEqual([])
    expect(
      blocks.filter(({ language, text }) => language !== 'console' && /^\$ /m.test(text)),
    ).toEqual([])
    if (toRun.length > 0) expect(shell.clusters()).toEqual([])
  })
})

test('the documentation has commands to run, and most of them are run', () => {
  // Pages of the reference and of the specification have tests of their own.
  const written = pages.filter((page) => !/^docs\/(?:reference|spec)\//.test(page))
  const all = written.flatMap((page) => codeBlocks(readDoc(page)))
  expect(all.filter(({ language }) => !languages.includes(language))).toEqual([])
  const consoles = all.filter(({ language }) => language === 'console')
  const run = consoles.filter(({ notRun }) => notRun === undefined)
  expect(consoles.length).toBeGreaterThan(30)
  expect(run.length).toBeGreaterThan(consoles.length / 2)
})
