/** `skiff lesson ...`: lists and runs lessons. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { defineCommand, outputFlag } from '../../cluster/cli/command.ts'
import type { CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { table } from '../../cluster/cli/terminal.ts'
import { defineFlags, flag, nearestName } from '../../components/component-base/flags.ts'
import { processCluster } from '../../scenarios/engine/process-cluster.ts'
import { createCommandFolder } from './command-folder.ts'
import { inputLines } from './input-lines.ts'
import { lessonCluster } from './lesson-cluster.ts'
import type { LessonCluster } from './lesson-cluster.ts'
import { createLessonSession } from './lesson-session.ts'
import { toolsOfLesson } from './lesson-tools.ts'
import { LessonError, readLesson } from './lesson.ts'
import type { Lesson } from './lesson.ts'
import { runLesson } from './run-lesson.ts'
import type { LessonResult } from './run-lesson.ts'
import { lessonName, shippedLessons } from './shipped-lessons.ts'
import { createTourText } from './tour-text.ts'

const runFlags = defineFlags({
  name: flag.string('Running cluster to use instead of one of its own.', ''),
  do: flag.bool('Perform each step, as a demonstration.', false),
  ...outputFlag,
})

function read(file: string): Lesson {
  try {
    return readLesson(file)
  } catch (error) {
    if (!(error instanceof LessonError)) throw error
    const faultCount = error.faults.length === 1 ? 'a fault' : `${error.faults.length} faults`
    throw new ClusterError('usage', `${faultCount} in the lesson file`, {
      details: error.faults,
      hint: 'see docs/lessons.md for every field',
      cause: error,
    })
  }
}

/** A path to a file, or the name of a lesson that ships with skiff. */
function fileOf(word: string): string {
  if (/\.ya?ml$/.test(word) || /[/\\]/.test(word)) return resolve(word)
  const shipped = shippedLessons()
  const found = shipped.find((file) => lessonName(file) === word)
  if (found !== undefined) return found
  if (existsSync(word)) return resolve(word)
  const nearest = nearestName(word, shipped.map(lessonName))
  throw new ClusterError('not-found', `there is no lesson "${word}"`, {
    hint: nearest === undefined ? 'see: skiff lesson list' : `did you mean ${nearest}?`,
  })
}

interface Given {
  readonly name: string
  readonly do: boolean
  readonly output: string
}

/** Takes the lesson on the cluster. The commands that it runs end with it. */
async function takeOn(
  { cluster, place }: LessonCluster,
  { context, lesson, given }: { context: CommandContext; lesson: Lesson; given: Given },
): Promise<LessonResult> {
  const { terminal, clock, signal, environment, program } = context
  const isJson = given.output === 'json'
  const hasInput = process.stdin.isTTY === true && !given.do
  const folder = createCommandFolder(environment['PATH'] ?? '')
  const input = hasInput ? inputLines(process.stdin) : undefined
  const session = createLessonSession(lesson, place)
  const text = createTourText({
    lesson,
    write: isJson ? terminal.err : terminal.out,
    columns: terminal.columns,
    colors: isJson ? terminal.errColors : terminal.outColors,
    hasInput,
    program,
    kubeconfig: cluster.paths.adminKubeconfig,
    has: folder.has,
  })
  text.begin()
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const does = given.do
  try {
    return await runLesson({
      session,
      cluster: processCluster(cluster),
      clock,
      signal: either,
      folder,
      text,
      does,
      input,
    })
  } finally {
    over.abort(new Error('the lesson is over'))
    input?.[Symbol.dispose]()
    folder[Symbol.dispose]()
  }
}

async function take(context: CommandContext, lesson: Lesson, given: Given): Promise<LessonResult> {
  const { terminal, clock, signal, stateRoot } = context
  const held = await lessonCluster(lesson, {
    clock,
    signal,
    stateRoot,
    clusterName: given.name === '' ? undefined : given.name,
    note: (text) => terminal.err(`${text}\n`),
  })
  try {
    return await takeOn(held, { context, lesson, given })
  } finally {
    await held[Symbol.asyncDispose]()
  }
}

function report({ terminal }: CommandContext, result: LessonResult, output: string): void {
  if (output === 'json') {
    terminal.out(`${JSON.stringify(result)}\n`)
    return
  }
  const { steps } = result
  const count = (outcome: string): number => steps.filter((one) => one.outcome === outcome).length
  const skipped = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`
  terminal.out(`\n${result.title}: ${count('done')} of ${steps.length} steps done${skipped}\n`)
  const failed = steps.find((one) => one.outcome === 'failed')
  if (failed === undefined) return
  terminal.err(`failed: ${failed.heading}\n`)
  for (const line of failed.report) terminal.err(`  ${line}\n`)
}

const run = defineCommand({
  name: 'lesson run',
  summary: 'Take a lesson: a guided tour through a cluster',
  description:
    'LESSON is the name of a lesson that ships with skiff, or a file. It runs on a cluster of its own, which is deleted\n' +
    'afterwards. Exits with 1 when a step fails or the lesson is ended early.',
  arguments: [{ name: 'LESSON' }],
  flags: runFlags,
  handlesInterrupt: true,
  examples: [
    ['skiff lesson run first-cluster', 'Take the first lesson'],
    ['skiff lesson run rolling-update --name default', 'Take a lesson on a running cluster'],
    ['skiff lesson run node-loss --do', 'Watch skiff do every step'],
  ],
  run: async (context, { flags: given, args: [word = ''] }) => {
    const lesson = read(fileOf(word))
    const result = await take(context, lesson, given)
    report(context, result, given.output)
    return result.outcome === 'done' ? exitCodes.ok : exitCodes.failed
  },
})

const list = defineCommand({
  name: 'lesson list',
  summary: 'List the lessons that ship with skiff',
  flags: outputFlag,
  examples: [['skiff lesson list', 'List names and what one learns']],
  run: async ({ terminal }, { flags: given }) => {
    const lessons = shippedLessons().map(read)
    const rows = lessons.map((lesson) => ({
      name: lesson.name,
      title: lesson.title,
      summary: lesson.summary,
      steps: lesson.steps.length,
      tools: toolsOfLesson(lesson),
      file: lesson.file,
    }))
    if (given.output === 'json') terminal.out(`${JSON.stringify(rows)}\n`)
    else {
      const lines = rows.map((row) => [
        row.name,
        String(row.steps),
        row.tools.join(', '),
        row.title,
      ])
      terminal.out(table([['NAME', 'STEPS', 'TYPES', 'TITLE'], ...lines]))
    }
    return exitCodes.ok
  },
})

export const lessonCommands = [run, list]
