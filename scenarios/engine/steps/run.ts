/** run: runs a command to its end, with the cluster's kubeconfig in its environment. */
import { resolve } from 'node:path'
import { checkOutcome, outcomeShape, runCommand } from '../run-command.ts'
import {
  choice,
  described,
  duration,
  either,
  list,
  object,
  optional,
  record,
  scalar,
  secondsText,
  string,
} from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

/** A string runs in the shell; a list is a program and its arguments. */
export const commandShape = either(string, list(scalar))

export function commandText(command: string | readonly string[]): string {
  return Array.isArray(command) ? command.join(' ') : String(command)
}

const defaultWithinMs = 60_000

export const run = defineStep({
  name: 'run',
  summary: 'Run a command to its end.',
  shape: object({
    command: described(
      'A list is a program with its arguments; a text is for sh, on Windows for cmd.exe.',
      commandShape,
    ),
    env: described('Further environment variables.', optional(record(scalar))),
    cwd: described("Working directory, relative to the scenario's file.", optional(string)),
    input: described('Standard input.', optional(string)),
    within: described('Deadline. Default: 1m.', optional(duration)),
    expect: described('Expected outcome.', optional(outcomeShape)),
    save: described(
      'Variables to set, each from an output, without its last line break.',
      optional(record(choice('stdout', 'stderr'))),
    ),
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
