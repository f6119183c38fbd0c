/** process: keeps a command running until the scenario ends, such as an operator or a webhook under test. */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { lastLines } from '../../../cluster/log-tail.ts'
import { describeEnd, startProcess } from '../kept-process.ts'
import type { KeptProcess, ProcessEnd } from '../kept-process.ts'
import {
  described,
  duration,
  notEmpty,
  object,
  optional,
  readable,
  record,
  regularExpression,
  scalar,
  secondsText,
  string,
} from '../../../cluster/shape.ts'
import type { ShapeType } from '../../../cluster/shape.ts'
import { AssertionFailure } from '../assertion-failure.ts'
import { defineStep } from '../step.ts'
import type { StepContext } from '../step.ts'
import { untilLogged } from '../until-logged.ts'
import { commandShape, commandText } from './run.ts'

const processName = readable('a name', (text) => {
  if (!/^[A-Za-z0-9][\w.-]{0,60}$/.test(text)) {
    throw new Error('must be a name of letters, digits, dots, dashes and underscores')
  }
})

const shape = notEmpty(
  object({
    name: described('Name in reports. Default: the name of the program.', optional(processName)),
    command: described(
      'A list is a program with its arguments; a text is for the shell.',
      optional(commandShape),
    ),
    env: described('Further environment variables.', optional(record(scalar))),
    cwd: described("Working directory, relative to the scenario's file.", optional(string)),
    ready: described(
      'The process is ready when a line of its output matches this regular expression.',
      optional(regularExpression),
    ),
    within: described('Deadline to become ready. Default: 30s.', optional(duration)),
    stop: described(
      'End the process of this name: TERM, and KILL after 5 s.',
      optional(processName),
    ),
    kill: described('Send KILL to the process of this name.', optional(processName)),
  }),
)
type Params = ShapeType<typeof shape>

const defaultWithinMs = 30_000
const tailLines = 30

function nameOf({ name, command = '' }: Params): string {
  if (name !== undefined) return name
  const [program = ''] = Array.isArray(command) ? command : String(command).trim().split(/\s+/)
  return program.replace(/^.*\//, '').replaceAll(/[^\w.-]/g, '_') || 'process'
}

const outputOf = (name: string, file: string): string[] => {
  const lines = lastLines(file, tailLines)
  const head = `output of ${name}${lines.length === tailLines ? `, its last ${tailLines} lines` : ''}`
  return lines.length === 0
    ? [`${name} wrote nothing`]
    : [`${head}:`, ...lines.map((l) => `  ${l}`)]
}

function endedEarly(name: string, end: ProcessEnd): AssertionFailure {
  return new AssertionFailure({
    message: `process ${name} ${describeEnd(end)}`,
    expected: ['it runs until the scenario ends, or a step stops it'],
    actual: [describeEnd(end)],
  })
}

/** Resolves when the process is ready. Rejects when it ends first, or when no line matches in time. */
async function untilUp(running: KeptProcess, name: string, params: Params, context: StepContext) {
  const { ready, within = defaultWithinMs } = params
  const first = await running.started
  if (first.kind !== 'started') throw endedEarly(name, first)
  if (ready === undefined) return
  const late = new AbortController()
  const failure = new AssertionFailure({
    message: `process ${name} was not ready after ${secondsText(within)}`,
    expected: [`a line with ${ready}`],
    actual: ['no such line'],
  })
  const cancel = context.clock.after(within, () => late.abort(failure))
  try {
    const signal = AbortSignal.any([context.signal, late.signal])
    await Promise.race([
      untilLogged(running.outputFile, new RegExp(ready), signal),
      running.ended.then((end) => Promise.reject(endedEarly(name, end))),
    ])
  } finally {
    cancel()
    late.abort(new Error('seen enough'))
  }
}

async function begin(params: Params, context: StepContext): Promise<void> {
  const { command, env, cwd = '.' } = params
  const { processes, cluster, folder } = context
  if (command === undefined) throw new Error('a process step needs a command')
  const name = nameOf(params)
  if (processes.has(name)) throw new Error(`process "${name}" already exists`)
  const file = join(cluster.files.logs, `process-${name}.log`)
  // Output of an earlier scenario, or of an earlier run of this process.
  writeFileSync(file, '', { mode: 0o600 })
  const place = resolve(folder, cwd)
  const running = startProcess(
    { command, env, cwd: place, outputFile: file, errorFile: file },
    cluster,
  )
  processes.set(name, running)
  context.onFailure(() => outputOf(name, file))
  context.onEnd(async () => {
    processes.delete(name)
    await running.end()
  })
  try {
    await untilUp(running, name, params, context)
  } catch (error) {
    processes.delete(name)
    await running.end()
    throw error
  }
  void running.ended.then((end) => {
    if (processes.get(name) === running) context.failScenario(endedEarly(name, end))
  })
}

async function finish(
  name: string,
  how: 'end' | 'kill',
  { processes }: StepContext,
): Promise<void> {
  const running = processes.get(name)
  if (running === undefined) {
    const names = [...processes.keys()].join(', ') || 'none'
    throw new Error(`there is no process "${name}"; processes: ${names}`)
  }
  processes.delete(name)
  await running[how]()
}

export const processStep = defineStep({
  name: 'process',
  summary: 'Keep a command running until the scenario ends, such as an operator or a webhook.',
  shape,
  title: (params) => {
    const parts = [
      params.stop === undefined ? '' : `stop process ${params.stop}`,
      params.kill === undefined ? '' : `kill process ${params.kill}`,
      params.command === undefined
        ? ''
        : `keep ${nameOf(params)} running: ${commandText(params.command)}`,
    ]
    return parts.filter((part) => part !== '').join(', ') || 'process'
  },
  run: async (params, context) => {
    if (params.stop !== undefined) await finish(params.stop, 'end', context)
    if (params.kill !== undefined) await finish(params.kill, 'kill', context)
    const isEnd = params.stop !== undefined || params.kill !== undefined
    if (params.command !== undefined || !isEnd) await begin(params, context)
  },
})
