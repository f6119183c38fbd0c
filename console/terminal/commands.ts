/** The commands that show clusters in a terminal; each is imported when it is called. */
import type { CommandEntry } from '../../cluster/cli/command.ts'

export const terminalCommands: readonly CommandEntry[] = [
  {
    name: 'tree',
    summary: 'Show an object with everything that it owns',
    load: async () => [(await import('./tree.ts')).tree],
  },
  {
    name: 'graph',
    summary: 'Draw a cluster, an object with what it owns, or a scenario',
    load: async () => [(await import('./graph.ts')).graph],
  },
  {
    name: 'top',
    summary: 'Watch nodes, pods, requests and events live',
    load: async () => [(await import('./top.ts')).top],
  },
]
