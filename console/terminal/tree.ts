/** `skiff tree`: an object with everything that it owns, or all objects of a namespace by owner. */
import { defineCommand, outputFlag } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { withLateProgress } from '../../cluster/cli/progress.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { familyJson } from '../family/family-json.ts'
import { familyText } from '../family/family-text.ts'
import { readFamily, readNamespaceFamily } from '../family/read-family.ts'
import { askedObject } from '../../cluster/cli/asked-object.ts'
import { targetFlags, withTarget } from '../../cluster/cli/target.ts'

const flags = defineFlags({
  namespace: flag.string(
    'Namespace of the object (-n); without KIND, all of its objects.',
    'default',
  ),
  up: flag.bool('Begin with the owners of the object, up to the top.', false),
  ...targetFlags,
  ...outputFlag,
})

export const tree = defineCommand({
  name: 'tree',
  summary: 'Show an object with everything that it owns',
  description:
    'Follows owner references through every kind that discovery lists, custom resources too, and shows each object with its age,\n' +
    'its conditions, and what it waits for while it is being deleted. Without KIND it shows all objects of a namespace, each below\n' +
    'its owner. It lists the metadata of each kind once, up to 20,000 objects, and shows up to 5,000; a line at the end names what\n' +
    'a limit or your rights left out. Events are left out. Exits with 3 for an object that does not exist.',
  arguments: [
    { name: 'KIND', isOptional: true },
    { name: 'NAME', isOptional: true },
  ],
  flags,
  examples: [
    ['skiff tree deployment web', 'Show the ReplicaSets and pods of a Deployment'],
    ['skiff tree pod/web-5d4-x --up', 'Show what owns a pod, up to the top'],
    ['skiff tree -n shop', 'Show all objects of a namespace by owner'],
    ['skiff tree deployment web --context staging', 'Look at any other cluster of your kubeconfig'],
    ['skiff tree cronjob report -o json', 'Print the tree for a script'],
  ],
  run: async (context, { flags: given, args }) => {
    const { terminal, clock } = context
    const { namespace, up } = given
    const asked = args.length === 0 ? undefined : askedObject('tree', args)
    if (asked === undefined && up) {
      throw new ClusterError('usage', '--up needs KIND and NAME', {
        hint: 'see: skiff tree --help',
      })
    }
    return await withTarget(context, given, async ({ client }) => {
      const family = await withLateProgress(context, 'read', () =>
        asked === undefined
          ? readNamespaceFamily(client, namespace)
          : readFamily(client, { ...asked, namespace, up }),
      )
      if (given.output === 'json') {
        terminal.out(`${JSON.stringify(familyJson(family), null, 2)}\n`)
        return exitCodes.ok
      }
      const { dialect } = client
      const shown = { dialect, nowMs: clock.now(), colors: terminal.outColors, namespace }
      terminal.out(familyText(family, shown))
      if (family.roots.length === 0) terminal.err(`namespace "${namespace}" has no objects\n`)
      return exitCodes.ok
    })
  },
})
