/** Every command of `skiff`: the cluster's, the scenarios' and envtest's, put together. */
import type { CommandEntry } from '../../cluster/cli/command.ts'
import { clusterCommands } from '../../cluster/cli/commands.ts'

export const skiffCommands: readonly CommandEntry[] = [
  ...clusterCommands,
  {
    name: 'scenario',
    summary: 'run, list scenarios: cluster stories with checks',
    load: async () => (await import('../../scenarios/engine/scenario-command.ts')).scenarioCommands,
  },
  {
    name: 'envtest',
    summary: 'Print a folder with kube-apiserver, etcd and kubectl for Go tests',
    load: async () => [(await import('../../envtest/envtest-command.ts')).envtest],
  },
]
