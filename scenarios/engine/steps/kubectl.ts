/** kubectl: runs the stock client where one is installed; where none is, the step is passed over and says so. */
import { checkOutcome, outcomeShape, runCommand } from '../run-command.ts'
import { boolean, list, object, optional, scalar, string } from '../shape.ts'
import { defineStep } from '../step.ts'

export const kubectl = defineStep({
  name: 'kubectl',
  summary: 'runs kubectl with these args; expect exitCode, stdout, stderr (parts of the text)',
  shape: object({
    args: list(scalar),
    input: optional(string),
    expect: optional(outcomeShape),
    /** Fail where kubectl is missing. */
    required: optional(boolean),
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
