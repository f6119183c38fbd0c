/** kubectl: runs the stock client where one is installed; where none is, the step is passed over and says so. */
import { checkOutcome, outcomeShape, runCommand } from '../run-command.ts'
import { boolean, described, list, object, optional, scalar, string } from '../shape.ts'
import { defineStep } from '../step.ts'

export const kubectl = defineStep({
  name: 'kubectl',
  summary: 'Run kubectl; where it is missing, skip the step and say so.',
  shape: object({
    args: described('Arguments of kubectl.', list(scalar)),
    input: described('Standard input.', optional(string)),
    expect: described('Expected outcome.', optional(outcomeShape)),
    required: described(
      '`true`: the step fails where kubectl is missing; by default it is skipped and the report says so.',
      optional(boolean),
    ),
  }),
  title: ({ args }) => `kubectl ${args.join(' ')}`,
  run: async (params, context) => {
    const { cluster, signal, note, folder } = context
    const command = ['kubectl', `--kubeconfig=${cluster.paths.adminKubeconfig}`, ...params.args]
    const outcome = await runCommand({ command, input: params.input, cwd: folder, signal }, context)
    if (outcome.end.kind === 'failed' && outcome.end.code === 'ENOENT') {
      if (params.required === true) throw new Error('there is no kubectl in the path')
      note('NOT RUN: there is no kubectl in the path')
      return
    }
    checkOutcome(`kubectl ${params.args.join(' ')}`, outcome, params.expect)
  },
})
