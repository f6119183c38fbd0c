/** `skiff envtest`: prints the folder of programs that envtest of controller-runtime starts. */
import { defineCommand, outputFlag } from '../cluster/cli/command.ts'
import { exitCodes } from '../cluster/cli/exit-codes.ts'
import { packageFolder } from '../cluster/plan/programs.ts'
import { defineFlags, flag } from '../components/component-base/flags.ts'
import { envtestAssets } from './assets.ts'

const flags = defineFlags({
  'with-controllers': flag.bool(
    'Run the controller manager, the scheduler and a simulated node beside each API server.',
    false,
  ),
  ...outputFlag,
})

export const envtest = defineCommand({
  name: 'envtest',
  summary: 'Print a folder with kube-apiserver, etcd and kubectl for Go tests',
  description:
    'The programs understand the flags of controller-runtime, so that its envtest starts them unchanged.\n' +
    'They end with the test that started them, also when it is killed.',
  flags,
  examples: [
    ['KUBEBUILDER_ASSETS=$(skiff envtest) go test ./...', 'Run the tests of a Go operator'],
    [
      'KUBEBUILDER_ASSETS=$(skiff envtest --with-controllers) go test ./...',
      'Run them with garbage collection, namespace deletion and pods that run',
    ],
  ],
  run: async ({ terminal, environment }, { flags: given }) => {
    const path = await envtestAssets({
      withControllers: given['with-controllers'],
      programs: packageFolder('dist'),
      node: process.execPath,
      platform: process.platform,
      environment,
    })
    terminal.out(given.output === 'json' ? `${JSON.stringify({ path })}\n` : `${path}\n`)
    return exitCodes.ok
  },
})
