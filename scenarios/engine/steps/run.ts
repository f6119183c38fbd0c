/** run: a command that runs to its end, with the cluster's kubeconfig in its environment. */
import { resolve } from 'node:path'
import { checkOutcome, outcomeShape, runCommand } from '../run-command.ts'
import {
  choice,
  duration,
  either,
  list,
  object,
  optional,
  record,
  scalar,
  secondsText,
  string,
} from '../shape.ts'
import { defineStep } from '../step.ts'

/** A text is for the shell; a list is a program and its arguments. */
export const commandShape = either(string, list(scalar))

export function commandText(command: string | readonly string[]): string {
  return Array.isArray(command) ? command.join(' ') : String(command)
}

const defaultWithinMs = 60_000

export const run = defineStep({
  name: 'run',
  summary:
    'runs a command: command, env, cwd, input, within; expect exitCode, stdout, stderr; save',
  shape: object({
    command: commandShape,
    env: optional(record(scalar)),
    /** From the folder of the scenario's file. */
    cwd: optional(string),
    input: optional(string),
    within: optional(duration),
    expect: optional(outcomeShape),
    /** Variable -> what it is set to, without the last line break. */
    save: optional(record(choice('stdout', 'stderr'))),
  }),
  title: ({ command }) => `run ${commandText(command)}`,
  run: async (params, context) => {
    const { command, env, cwd = '.', input, within = defaultWithinMs } = params
    const late = new AbortController()
    const what = commandText(command)
    const cancel = context.clock.after(within, () =>
      late.abort(new Error(`${what} had not ended after ${secondsText(within)}`)),
    )
    try {
      const signal = AbortSignal.any([context.signal, late.signal])
      const place = resolve(context.folder, cwd)
      const outcome = await runCommand({ command, env, cwd: place, input, signal }, context)
      checkOutcome(what, outcome, params.expect)
      for (const [variable, stream] of Object.entries(params.save ?? {})) {
        context.variables.set(variable, outcome[stream].replace(/\r?\n$/, ''))
      }
    } finally {
      cancel()
    }
  },
})
