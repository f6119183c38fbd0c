/** The flags of an embedded cluster's components. */
import { parseDuration } from '../components/component-base/flags.ts'
import type { ExtraFlags, Program } from '../cluster/plan/cluster-config.ts'

/** What differs from a cluster of processes: one of each needs no lease, and nothing here has a folder on disk. */
const ownFlags: ExtraFlags = {
  'api-server': { 'feature-gates': 'APIServerIdentity=false' },
  'controller-manager': { 'leader-elect': 'false', 'secure-port': '-1' },
  scheduler: { 'leader-elect': 'false', 'secure-port': '-1' },
  'node-agent': { 'feature-gates': 'ContainerCheckpoint=false' },
}

/** The user's flags win, but gates of both count. `folder`: where checkpoints go; undefined: there are none. */
export function mergedFlags(given: ExtraFlags, folder: string | undefined): ExtraFlags {
  const merged: Partial<Record<Program, Readonly<Record<string, string>>>> = { ...ownFlags }
  if (folder !== undefined) delete merged['node-agent']
  for (const [name, flags] of Object.entries(given)) {
    const program = name as Program
    const gates = [merged[program]?.['feature-gates'], flags['feature-gates']]
    const both = gates.filter((text) => text !== undefined).join()
    merged[program] = {
      ...merged[program],
      ...flags,
      ...(both === '' ? {} : { 'feature-gates': both }),
    }
  }
  return merged
}

/** How long the certificates of its nodes are good for, as the controller manager signs them; by default as the profile says. */
export function signedFor(given: ExtraFlags): { readonly lifetimeMs?: number } {
  const lifetime = given['controller-manager']?.['cluster-signing-duration'] ?? ''
  const lifetimeMs = parseDuration(lifetime)
  return lifetimeMs === undefined ? {} : { lifetimeMs }
}
