/** The stage runner of a cluster, which plays Stage files of kwok as a user of its own. */
import { join } from 'node:path'
import { frontOf } from './cluster-config.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { argsOf } from './component-spec.ts'
import type { ComponentSpec } from './component-spec.ts'
import type { StatePaths } from '../state/state-dir.ts'

export function planStageRunner(config: ClusterConfig, paths: StatePaths): ComponentSpec[] {
  const { stages } = config
  if (stages === undefined) return []
  const kubeconfig = join(paths.dir, 'stage-runner.kubeconfig')
  const stagesFile = join(paths.dir, 'stages.json')
  const flags = { dialect: config.dialect, kubeconfig, 'stages-file': stagesFile }
  return [
    {
      name: 'stage-runner',
      program: 'stage-runner',
      nodeOptions: ['--max-semi-space-size=2'],
      args: argsOf('stage-runner', flags, config),
      files: [
        { kind: 'kubeconfig', path: kubeconfig, credential: 'stage-runner' },
        { kind: 'text', path: stagesFile, text: `${JSON.stringify(stages)}\n` },
      ],
      folders: [],
      certificates: ['stage-runner'],
      dependsOn: [frontOf(config)],
    },
  ]
}
