/** Every command of `skiff`: the cluster's and the scenarios', put together. */
import type { CommandEntry } from '../../cluster/cli/command.ts'
import { clusterCommands } from '../../cluster/cli/commands.ts'

export const skiffCommands: readonly CommandEntry[] = [
  ...clusterCommands,
  {
    name: 'scenario',
    summary: 'run, list scenarios: cluster stories with checks',
    load: async () => (await import('../../scenarios/engine/scenario-command.ts')).scenarioCommands,
  },
]
