/**
 * Assets: the folder of programs that KUBEBUILDER_ASSETS names. Its name is a digest of what it holds, so that it is whole as
 * soon as it is there, and commands of several versions, or with several Nodes, do not disturb each other.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { ClusterError } from '../cluster/cluster-error.ts'
import { apiServerNodeOptions } from '../cluster/plan/plan-api-servers.ts'
import { scriptsOf } from './scripts.ts'
import type { Script } from './scripts.ts'

export interface AssetsOptions {
  readonly withControllers: boolean
  /** Folder of the bundles, which takes the assets if it can be written. */
  readonly programs: string
  readonly node: string
  readonly platform: NodeJS.Platform
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The folder for what a program can make again: XDG_CACHE_HOME, or the system's own. */
export function cacheRoot({
  platform,
  environment,
}: Pick<AssetsOptions, 'platform' | 'environment'>): string {
  const home = environment['HOME'] ?? homedir()
  const { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local } = environment
  if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, 'skiff')
  if (platform === 'win32') return join(local ?? join(home, 'AppData', 'Local'), 'skiff')
  return platform === 'darwin'
    ? join(home, 'Library', 'Caches', 'skiff')
    : join(home, '.cache', 'skiff')
}

const bundles = ['envtest-kube-apiserver', 'envtest-etcd', 'envtest-kubectl']

function checkBundles(programs: string): void {
  const missing = bundles.find((name) => !existsSync(join(programs, `${name}.js`)))
  if (missing === undefined) return
  throw new ClusterError('failed', `${join(programs, `${missing}.js`)} is missing`, {
    hint: 'run: npm run build',
  })
}

function digestOf(scripts: readonly Script[]): string {
  const hash = createHash('sha256')
  for (const { name, text } of scripts) hash.update(`${name}\0${text}\0`)
  return hash.digest('hex').slice(0, 12)
}

/** ENOENT: what Node says of a new folder on a read-only disk. */
const notWritable = new Set(['EACCES', 'EPERM', 'EROFS', 'EEXIST', 'ENOTDIR', 'ENOENT'])
const alreadyThere = new Set(['EEXIST', 'ENOTEMPTY', 'EPERM'])

/** Writes the files into a folder of that name below `parent`, all or nothing. */
async function place(scripts: readonly Script[], parent: string): Promise<string> {
  const folder = join(parent, digestOf(scripts))
  if (existsSync(folder)) return folder
  await mkdir(parent, { recursive: true })
  const draft = await mkdtemp(join(parent, '.new-'))
  try {
    await Promise.all(
      scripts.map(({ name, text, mode }) => writeFile(join(draft, name), text, { mode })),
    )
    await chmod(draft, 0o755)
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    // Another command has made the same folder meanwhile.
    const isThere = alreadyThere.has((error as NodeJS.ErrnoException).code ?? '')
    if (!(isThere && existsSync(folder))) throw error
  }
  return folder
}

/** The folder's path. It is made when it is not there. Rejects with a ClusterError. */
export async function envtestAssets(options: AssetsOptions): Promise<string> {
  const { programs, platform } = options
  checkBundles(programs)
  const scriptsWith = (compileCache: string): Script[] =>
    scriptsOf({ ...options, compileCache }, { platform, nodeOptions: apiServerNodeOptions })
  try {
    return await place(scriptsWith(join(programs, '.compile-cache')), join(programs, 'envtest'))
  } catch (error) {
    if (!notWritable.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
  const cache = cacheRoot(options)
  try {
    return await place(scriptsWith(join(cache, 'compile-cache')), join(cache, 'envtest'))
  } catch (error) {
    throw new ClusterError('permission', `neither ${programs} nor ${cache} can be written`, {
      hint: 'set XDG_CACHE_HOME to a folder of yours',
      cause: error,
    })
  }
}
