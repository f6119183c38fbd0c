/** `skiff save`: writes a cluster to a file. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { builtPrograms } from '../plan/programs.ts'
import { saveCluster } from '../saved/save-cluster.ts'
import { defineCommand, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withLateProgress } from './progress.ts'
import { byteSize } from './terminal.ts'

const flags = defineFlags({
  'without-secrets': flag.bool('Leave out the data of Secrets.', false),
  ...outputFlag,
})

export const save = defineCommand({
  name: 'save',
  summary: 'Save a cluster to a file, for `skiff up --from`',
  description:
    'Writes all objects of the cluster NAME at one resourceVersion, while it runs or when it is stopped. Clients notice\n' +
    'nothing. An existing FILE is replaced.\n\n' +
    'The file holds Secrets, decrypted, so only you can read it (mode 0600). Before you share it, use --without-secrets;\n' +
    'ConfigMaps and custom resources are saved in any case. Keys of the cluster, bootstrap tokens and the tokens of\n' +
    'service accounts are never saved.',
  arguments: [{ name: 'NAME' }, { name: 'FILE' }],
  flags,
  handlesInterrupt: true,
  examples: [
    ['skiff save default before.skiff', 'Save the cluster "default"'],
    ['skiff save default report.skiff --without-secrets', 'Save it for a bug report'],
    ['skiff save -o json default before.skiff', 'Print the resourceVersion and the size as JSON'],
  ],
  run: async (context, { flags: given, args }) => {
    const { terminal, clock, signal, stateRoot } = context
    const [name = '', file = ''] = args
    const result = await withLateProgress(context, 'save', (update) =>
      saveCluster({
        name,
        file,
        stateRoot,
        clock,
        signal,
        form: given['without-secrets'] ? 'without-secrets' : 'whole',
        programs: builtPrograms(),
        onProgress: (count) => update(`${count} objects`),
      }),
    )
    const { objects, revision, bytes } = result
    terminal.out(
      given.output === 'json'
        ? `${JSON.stringify({ name, ...result })}\n`
        : `${result.file}: ${objects} objects at resourceVersion ${revision}, ${byteSize(bytes)}\n`,
    )
    return exitCodes.ok
  },
})
