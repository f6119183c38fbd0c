/** `skiff kubeconfig`: prints the administrator's kubeconfig, or merges it into the user's. */
import { resolve } from 'node:path'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { readAdminKubeconfig } from '../state/check-pki.ts'
import { ClusterError } from '../cluster-error.ts'
import { contextName } from '../state/kubeconfig.ts'
import { mergeKubeconfig, userKubeconfig } from '../state/merge-kubeconfig.ts'
import { noSuchCluster, stateDirExists, statePaths } from '../state/state-dir.ts'
import { parseYaml } from '../yaml.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'

const flags = defineFlags({
  ...nameFlag,
  merge: flag.bool('Add the cluster to your kubeconfig and make it the current context.', false),
  kubeconfig: flag.string(
    'File to merge into; by default the first of $KUBECONFIG, else ~/.kube/config.',
    '',
  ),
  path: flag.bool("Print the path of the cluster's own kubeconfig.", false),
  ...outputFlag,
})

export const kubeconfig = defineCommand({
  name: 'kubeconfig',
  summary: 'Print the kubeconfig, or merge it into yours',
  flags,
  examples: [
    ['export KUBECONFIG=$(skiff kubeconfig --path)', 'Use this cluster in this shell'],
    ['skiff kubeconfig --merge', 'Use this cluster everywhere, as context skiff-default'],
    ['skiff kubeconfig > lab.yaml', "Write a copy to share; it contains the administrator's key"],
  ],
  run: async ({ terminal, stateRoot, environment }, { flags: given }) => {
    const paths = statePaths(stateRoot, given.name)
    if (!stateDirExists(paths)) throw noSuchCluster(given.name)
    if (given.path && given.merge) {
      throw new ClusterError('usage', '--path and --merge cannot be combined', {
        hint: 'see: skiff kubeconfig --help',
      })
    }
    if (given.kubeconfig !== '' && !given.merge) {
      throw new ClusterError('usage', '--kubeconfig needs --merge', {
        hint: 'pass --merge too, or redirect the output to a file',
      })
    }
    const asJson = given.output === 'json'
    if (given.merge) {
      const file = given.kubeconfig === '' ? userKubeconfig(environment) : resolve(given.kubeconfig)
      await mergeKubeconfig(paths, { name: given.name, file })
      const context = contextName(given.name)
      terminal.out(
        asJson
          ? `${JSON.stringify({ file, context })}\n`
          : `${file}: the current context is ${context}\n`,
      )
      return exitCodes.ok
    }
    const path = paths.adminKubeconfig
    if (given.path) terminal.out(asJson ? `${JSON.stringify({ path })}\n` : `${path}\n`)
    else {
      const text = await readAdminKubeconfig(paths)
      terminal.out(asJson ? `${JSON.stringify(parseYaml(text))}\n` : text)
    }
    return exitCodes.ok
  },
})
