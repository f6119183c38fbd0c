/** kubectl: runs the stock client. Without kubectl in the PATH the step is skipped with a note, unless it is required. */
import { checkOutcome, outcomeShape, runCommand } from '../run-command.ts'
import {
  boolean,
  described,
  list,
  object,
  optional,
  scalar,
  string,
} from '../../../cluster/shape.ts'
import { defineStep } from '../step.ts'

const mostShownLines = 50

export const kubectl = defineStep({
  name: 'kubectl',
  summary: 'Run kubectl; where it is missing, skip the step and say so.',
  shape: object({
    args: described('Arguments of kubectl.', list(scalar)),
    input: described('Standard input.', optional(string)),
    expect: described('Expected outcome.', optional(outcomeShape)),
    show: described('`true`: the report shows its output.', optional(boolean)),
    required: described(
      '`true`: the step fails where kubectl is missing; by default it is skipped and the report says so.',
      optional(boolean),
    ),
  }),
  title: ({ args }) => `kubectl ${args.join(' ')}`,
  run: async (params, context) => {
    const { cluster, signal, note, folder } = context
    const command = ['kubectl', `--kubeconfig=${cluster.files.kubeconfig}`, ...params.args]
    const outcome = await runCommand({ command, input: params.input, cwd: folder, signal }, context)
    if (outcome.end.kind === 'failed' && outcome.end.code === 'ENOENT') {
      if (params.required === true) throw new Error('kubectl is not in the PATH')
      note('NOT RUN: kubectl is not in the PATH')
      return
    }
    if (params.show === true) {
      const lines = outcome.stdout.trimEnd().split('\n')
      for (const line of lines.slice(0, mostShownLines)) note(line)
    }
    checkOutcome(`kubectl ${params.args.join(' ')}`, outcome, params.expect)
  },
})
