/** The `skiff` command as one program: the cluster's commands and the scenarios', put together. Built into dist/skiff.js. */
import { clusterCommands } from '../cluster/cli/commands.ts'
import { runProcess } from '../cluster/cli/run-cli.ts'

await runProcess([
  ...clusterCommands,
  {
    name: 'scenario',
    summary: 'run, list scenarios: cluster stories with checks',
    load: async () => (await import('../scenarios/engine/scenario-command.ts')).scenarioCommands,
  },
])
