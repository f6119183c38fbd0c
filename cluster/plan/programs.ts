/** Programs: where the built bundles lie that a cluster's processes run. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ClusterError } from '../cluster-error.ts'

/** The scripts of a cluster's processes. */
export interface Programs {
  readonly supervisor: string
  /** Holds `api-server.js`, `controller-manager.js`, `scheduler.js` and `node-agent.js`. */
  readonly folder: string
  /** Where Node keeps compiled code between runs; absent: nowhere. */
  readonly compileCache?: string
}

/** The package's own folder: the nearest one above this file with a package.json. */
function packageRoot(): string {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder)
    if (parent === folder) throw new Error('no package.json above the running code')
    folder = parent
  }
  return folder
}

/** A folder that ships with the package. */
export function packageFolder(name: 'bin' | 'console/lessons' | 'dist' | 'scenarios'): string {
  return join(packageRoot(), name)
}

/** The bundles that `npm run build` wrote. Fails with a hint when they are not there. */
export function builtPrograms(): Programs {
  const folder = packageFolder('dist')
  const supervisor = join(folder, 'supervisor.js')
  if (!existsSync(supervisor)) {
    throw new ClusterError('failed', `${supervisor} is missing`, { hint: 'run: npm run build' })
  }
  return { supervisor, folder, compileCache: join(folder, '.compile-cache') }
}
