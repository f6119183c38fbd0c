/** Every command of `skiff`: the cluster's, the console's, the monitors', the scenarios' and envtest's, put together. */
import type { CommandEntry } from '../../cluster/cli/command.ts'
import { clusterCommands } from '../../cluster/cli/commands.ts'
import { terminalCommands } from '../../console/terminal/commands.ts'
import { monitorCommands } from '../../monitors/cli/commands.ts'

export const skiffCommands: readonly CommandEntry[] = [
  ...clusterCommands,
  ...terminalCommands,
  ...monitorCommands,
  {
    name: 'scenario',
    summary: 'run, watch, record, list scenarios: cluster stories with checks',
    load: async () => {
      const { scenarioCommands } = await import('../../scenarios/engine/scenario-command.ts')
      return scenarioCommands(
        async () => (await import('../../library/embedded-scenarios.ts')).startScenarioCluster,
      )
    },
  },
  {
    name: 'explore',
    summary: 'Look for the bugs of a controller',
    load: async () => (await import('../../explore/explore-command.ts')).exploreCommands,
  },
  {
    name: 'simulate',
    summary: 'Run a simulation with one seed after another, and replay the one that fails',
    load: async () => [(await import('../../library/simulate-command.ts')).simulateCommand],
  },
  {
    name: 'console',
    summary: 'Serve a page that shows a cluster, live and back in time',
    load: async () => [(await import('../../console/console-command.ts')).consoleCommand],
  },
  {
    name: 'lesson',
    summary: 'run, list lessons: guided tours through a cluster',
    load: async () =>
      (await import('../../console/lessons-engine/lesson-command.ts')).lessonCommands,
  },
  {
    name: 'envtest',
    summary: 'Print a folder with kube-apiserver, etcd and kubectl for Go tests',
    load: async () => [(await import('../../envtest/envtest-command.ts')).envtest],
  },
]
