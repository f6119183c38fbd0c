/** The commands of the cluster; each is imported when it is called. */
import type { CommandEntry } from './command.ts'

export const clusterCommands: readonly CommandEntry[] = [
  {
    name: 'up',
    summary: 'Start a cluster and wait until every node is Ready',
    load: async () => [(await import('./up.ts')).up],
  },
  {
    name: 'down',
    summary: 'Stop a cluster and delete all of its data',
    load: async () => [(await import('./down.ts')).down],
  },
  {
    name: 'status',
    summary: 'Show the components of a cluster; --all lists clusters',
    load: async () => [(await import('./status.ts')).status],
  },
  {
    name: 'logs',
    summary: 'Show the logs of components; -f follows them',
    load: async () => [(await import('./logs.ts')).logs],
  },
  {
    name: 'node',
    summary: 'Add, remove, stop, start and list nodes',
    load: async () => (await import('./node.ts')).nodeCommands,
  },
  {
    name: 'member',
    summary: 'Remove etcd members of machines that are gone',
    load: async () => (await import('./member.ts')).memberCommands,
  },
  {
    name: 'restart',
    summary: 'Stop a component gracefully and start it again',
    load: async () => [(await import('./restart.ts')).restart],
  },
  {
    name: 'fault',
    summary: 'Break parts of a cluster on purpose, count it, and heal them',
    load: async () => (await import('./fault.ts')).faultCommands,
  },
  {
    name: 'time',
    summary: 'Show, pause, speed up and advance the clock of a cluster',
    load: async () => (await import('./time.ts')).timeCommands,
  },
  {
    name: 'token',
    summary: 'Create, list and delete bootstrap tokens',
    load: async () => (await import('./token.ts')).tokenCommands,
  },
  {
    name: 'kubeconfig',
    summary: 'Print the kubeconfig, or merge it into yours',
    load: async () => [(await import('./kubeconfig.ts')).kubeconfig],
  },
  {
    name: 'certs',
    summary: 'Check, renew and export certificates',
    load: async () => (await import('./certs.ts')).certsCommands,
  },
  {
    name: 'storage',
    summary: 'Rewrite stored objects after a change of encryption',
    load: async () => (await import('./storage.ts')).storageCommands,
  },
  {
    name: 'save',
    summary: 'Save a cluster to a file, for `skiff up --from`',
    load: async () => [(await import('./save.ts')).save],
  },
  {
    name: 'backup',
    summary: 'Back up a cluster to a file, and check backups',
    load: async () => (await import('./backup.ts')).backupCommands,
  },
  {
    name: 'restore',
    summary: 'Restore a cluster from a backup',
    load: async () => [(await import('./restore.ts')).restore],
  },
  {
    name: 'migrate-store',
    summary: 'Move what a stopped cluster holds to another store',
    load: async () => [(await import('./restore.ts')).migrate],
  },
  {
    name: 'import',
    summary: 'Copy objects of any live cluster into a file or a cluster',
    load: async () => [(await import('./import.ts')).importCommand],
  },
  {
    name: 'join',
    summary: 'Run a node agent on this machine for a cluster on another machine',
    load: async () => [(await import('./join.ts')).join],
  },
  {
    name: 'why',
    summary: 'Explain why a request is allowed or denied',
    load: async () => [(await import('./why.ts')).why],
  },
  {
    name: 'history',
    summary: 'Show who changed an object, when, what and why',
    load: async () => [(await import('./history.ts')).history],
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
