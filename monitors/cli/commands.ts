/** The commands that judge clusters and their clients; each is imported when it is called. */
import type { CommandEntry } from '../../cluster/cli/command.ts'

export const monitorCommands: readonly CommandEntry[] = [
  {
    name: 'monitor',
    summary: 'Watch a cluster for violations of invariants',
    load: async () => [(await import('./monitor.ts')).monitor],
  },
  {
    name: 'smells',
    summary: 'Find mistakes in how a controller uses the API',
    load: async () => [(await import('./smells.ts')).smellsCommand],
  },
  {
    name: 'least-role',
    summary: 'Print the least roles that a user’s requests need',
    load: async () => [(await import('./least-role.ts')).leastRoleCommand],
  },
]
