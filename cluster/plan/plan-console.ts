/** The console of a cluster: it acts with the administrator's rights. */
import { join } from 'node:path'
import { frontOf } from './cluster-config.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { argsOf } from './component-spec.ts'
import type { ComponentSpec } from './component-spec.ts'
import type { StatePaths } from '../state/state-dir.ts'

/** What a page reads is dropped at once: a small nursery and a heap that grows slowly hold memory down. */
export const consoleNodeOptions = ['--max-semi-space-size=1', '--optimize-for-size']

export function planConsole(config: ClusterConfig, paths: StatePaths): ComponentSpec[] {
  if (config.console !== true) return []
  const kubeconfig = join(paths.dir, 'console.kubeconfig')
  const flags = {
    dialect: config.dialect,
    'bind-address': '127.0.0.1',
    port: '0',
    kubeconfig,
    'state-dir': paths.dir,
    'link-secret-file': paths.consoleSecret,
  }
  return [
    {
      name: 'console',
      program: 'console',
      nodeOptions: consoleNodeOptions,
      args: argsOf('console', flags, config),
      files: [{ kind: 'kubeconfig', path: kubeconfig, credential: 'admin' }],
      folders: [],
      certificates: [],
      dependsOn: [frontOf(config)],
    },
  ]
}
