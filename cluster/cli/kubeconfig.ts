/** `skiff kubeconfig`: prints the administrator's client configuration, or merges it into the user's. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { contextName } from '../kubeconfig.ts'
import { mergeKubeconfig, userKubeconfig } from '../merge-kubeconfig.ts'
import { checkClusterName, stateDirExists, statePaths, withClearErrors } from '../state-dir.ts'
import { parseYaml } from '../yaml.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'

const flags = defineFlags({
  ...nameFlag,
  merge: flag.bool('Add it to your kubeconfig and make it the current context.', false),
  kubeconfig: flag.string(
    'The file to merge into; the first of $KUBECONFIG, else ~/.kube/config.',
    '',
  ),
  path: flag.bool("Print where the cluster's own file lies.", false),
  ...outputFlag,
})

export const kubeconfig = defineCommand({
  name: 'kubeconfig',
  summary: 'Print the client configuration, or merge it into yours',
  flags,
  examples: [
    ['export KUBECONFIG=$(skiff kubeconfig --path)', 'Use this cluster in this shell'],
    ['skiff kubeconfig --merge', 'Use it everywhere, as context skiff-default'],
    ['skiff kubeconfig > lab.yaml', "A copy to give away: it holds the administrator's key"],
  ],
  run: async ({ terminal, stateRoot, environment }, { flags: given }) => {
    checkClusterName(given.name)
    const paths = statePaths(stateRoot, given.name)
    if (!stateDirExists(paths)) {
      throw new ClusterError('not-found', `there is no cluster "${given.name}"`)
    }
    if (given.merge) {
      const file = given.kubeconfig === '' ? userKubeconfig(environment) : resolve(given.kubeconfig)
      await mergeKubeconfig(paths, { name: given.name, file })
      terminal.out(`${file}: context ${contextName(given.name)} is the current one\n`)
      return exitCodes.ok
    }
    if (given.path) terminal.out(`${paths.adminKubeconfig}\n`)
    else {
      const file = paths.adminKubeconfig
      const text = withClearErrors(file, () => readFileSync(file, 'utf8'))
      terminal.out(given.output === 'json' ? `${JSON.stringify(parseYaml(text))}\n` : text)
    }
    return exitCodes.ok
  },
})
