/** Merges a cluster into a user's kubeconfig, and removes it again. Other entries of that file do not change. */
import { mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { writeFileAtomically } from '../../certs/pki-files.ts'
import { deepEqual } from '../../components/machinery/objects/object.ts'
import { readAdminKubeconfig } from './check-pki.ts'
import { ClusterError } from '../cluster-error.ts'
import { contextName } from './kubeconfig.ts'
import { readList, withClearErrors, writePrivateFile } from './state-dir.ts'
import type { StatePaths } from './state-dir.ts'
import { explained, explainSystemError } from '../system-error.ts'
import { formatYaml, parseYaml } from '../yaml.ts'

interface Named {
  readonly name: string
}

type UserConfig = Record<string, unknown> & {
  clusters?: Named[] | null
  contexts?: Named[] | null
  users?: Named[] | null
  'current-context'?: string
}

const lists = ['clusters', 'contexts', 'users'] as const

/** The file kubectl would write to: the first of KUBECONFIG, else ~/.kube/config. */
export function userKubeconfig(environment: Readonly<Record<string, string | undefined>>): string {
  const first = (environment['KUBECONFIG'] ?? '').split(delimiter).find((path) => path !== '')
  return first ?? join(environment['HOME'] ?? homedir(), '.kube', 'config')
}

function readConfig(path: string): UserConfig | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw explainSystemError(error, path)
  }
  let parsed: unknown
  try {
    parsed = parseYaml(text) ?? {}
  } catch (error) {
    throw new ClusterError('failed', `${path} is not YAML; it was not changed`, {
      hint: 'repair it, or pass another file with --kubeconfig',
      cause: error,
    })
  }
  if (typeof parsed !== 'object' || Array.isArray(parsed)) {
    throw new ClusterError('failed', `${path} is not a kubeconfig; it was not changed`, {
      hint: 'repair it, or pass another file with --kubeconfig',
    })
  }
  return parsed as UserConfig
}

const mergedFile = (paths: StatePaths): string => join(paths.dir, 'merged.json')

function notedFiles(paths: StatePaths): string[] {
  return readList(mergedFile(paths)).filter((file) => typeof file === 'string')
}

/** Without the entries of that name; what is no list of entries holds none. */
function without(list: unknown, name: string): unknown {
  if (!Array.isArray(list)) return list
  return list.filter((entry: Partial<Named> | null) => entry?.name !== name)
}

/** Adds the cluster, its user and its context to the file, in place of entries of the same name, and makes it current. */
export async function mergeKubeconfig(
  paths: StatePaths,
  target: { name: string; file: string },
): Promise<void> {
  const { file } = target
  const own = parseYaml(await readAdminKubeconfig(paths)) as UserConfig
  const user: UserConfig = readConfig(file) ?? { apiVersion: 'v1', kind: 'Config' }
  const context = contextName(target.name)
  for (const list of lists) {
    const others = (user[list] ?? []).filter((entry) => entry.name !== context)
    user[list] = [...others, ...(own[list] ?? [])]
  }
  user['current-context'] = context
  withClearErrors(file, () => mkdirSync(dirname(file), { recursive: true, mode: 0o700 }))
  // Recorded first: removing an entry that was never added is harmless; an unrecorded one would stay.
  const noted = notedFiles(paths)
  writePrivateFile(mergedFile(paths), JSON.stringify([...new Set([...noted, file])]))
  await explained(file, () => writeFileAtomically(file, formatYaml(user), 0o600))
}

/** Removes the cluster from every file it was merged into; skips files that cannot be read or written. */
export async function forgetMerged(paths: StatePaths, name: string): Promise<void> {
  const context = contextName(name)
  for (const file of notedFiles(paths)) {
    try {
      const before = readConfig(file)
      if (before === undefined) continue
      const after = { ...before }
      for (const list of lists) {
        if (list in before) after[list] = without(before[list], context) as Named[]
      }
      if (after['current-context'] === context) after['current-context'] = ''
      if (deepEqual(before, after)) continue
      await writeFileAtomically(file, formatYaml(after), 0o600)
    } catch {
      // Not a kubeconfig any more, or no right to change it: that must not keep the cluster.
    }
  }
}
