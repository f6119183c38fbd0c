/** The commands of the cluster, each loaded when it is called. */
import type { CommandEntry } from './command.ts'

export const clusterCommands: readonly CommandEntry[] = [
  {
    name: 'up',
    summary: 'Start a cluster; returns when every node is Ready',
    load: async () => [(await import('./up.ts')).up],
  },
  {
    name: 'down',
    summary: 'Stop a cluster and remove everything it has',
    load: async () => [(await import('./down.ts')).down],
  },
  {
    name: 'status',
    summary: 'Show the processes of a cluster; --all lists clusters',
    load: async () => [(await import('./status.ts')).status],
  },
  {
    name: 'logs',
    summary: 'Show what components logged; -f follows',
    load: async () => [(await import('./logs.ts')).logs],
  },
  {
    name: 'node',
    summary: 'add, remove, stop, start, list',
    load: async () => (await import('./node.ts')).nodeCommands,
  },
  {
    name: 'restart',
    summary: 'Stop a component gracefully and start it again',
    load: async () => [(await import('./restart.ts')).restart],
  },
  {
    name: 'fault',
    summary: 'kill, pause, resume a component',
    load: async () => (await import('./restart.ts')).faultCommands,
  },
  {
    name: 'token',
    summary: 'create, list, delete bootstrap tokens',
    load: async () => (await import('./token.ts')).tokenCommands,
  },
  {
    name: 'kubeconfig',
    summary: 'Print the client configuration, or merge it into yours',
    load: async () => [(await import('./kubeconfig.ts')).kubeconfig],
  },
  {
    name: 'certs',
    summary: 'check, renew, export certificates',
    load: async () => (await import('./certs.ts')).certsCommands,
  },
  {
    name: 'storage',
    summary: 'rewrite what is stored, after a change of encryption',
    load: async () => (await import('./storage.ts')).storageCommands,
  },
  {
    name: 'join',
    summary: 'Run a node agent here for a cluster on another machine',
    load: async () => [(await import('./join.ts')).join],
  },
  {
    name: 'why',
    summary: 'Explain why a user may do something, or may not',
    load: async () => [(await import('./why.ts')).why],
  },
  {
    name: 'convert',
    summary: 'Convert manifests to another API version',
    load: async () => [(await import('./convert.ts')).convert],
  },
  {
    name: 'version',
    summary: 'Print the version',
    load: async () => [(await import('./version.ts')).version],
  },
]
