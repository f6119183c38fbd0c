/** Flags of the stage runner. */
import type { ComponentDeclaration } from '../component-base/component.ts'
import { defineFlags, flag } from '../component-base/flags.ts'

export const stageRunnerFlags = defineFlags({
  dialect: flag.string('Dialect of names in the API.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
  kubeconfig: flag.string('Kubeconfig with the API server and the credentials.'),
  'stages-file': flag.string('File with the stages as `skiff up --stages` writes it.'),
  'node-ip': flag.string('Address of fake nodes that have none of their own.', '10.0.0.1'),
  cidr: flag.string(
    'Range of the addresses of pods on fake nodes that have no range of their own.',
    '10.0.0.0/24',
  ),
})

/** As its help shows it. */
export const stageRunner: ComponentDeclaration<typeof stageRunnerFlags> = {
  name: 'stage-runner',
  description:
    'Runs Stage files of kwok: takes fake nodes, the pods on them and other objects from stage to stage.',
  examples: ['stage-runner --kubeconfig stage-runner.kubeconfig --stages-file stages.json'],
  flags: stageRunnerFlags,
}
