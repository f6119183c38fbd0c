/** `skiff import`: copies objects of a live cluster into a file, or into a cluster of this machine. */
import { resolve } from 'node:path'
import { writeFileAtomically } from '../../certs/pki-files.ts'
import type { Client } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { createDiscovery } from '../../components/client/server-resources.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { ClusterError } from '../cluster-error.ts'
import { importObjects, manifestsOf, type Imported } from '../import/import-objects.ts'
import { writeObjects, type Written } from '../import/write-objects.ts'
import { explained } from '../system-error.ts'
import { formatYaml } from '../yaml.ts'
import { defineCommand, outputFlag, type CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withCluster } from './find-cluster.ts'
import { kubeconfigClient } from './kubeconfig-client.ts'
import { withLateProgress } from './progress.ts'

const flags = defineFlags({
  kubeconfig: flag.string(
    'Kubeconfig of the live cluster; by default the first of $KUBECONFIG, else ~/.kube/config.',
    '',
  ),
  context: flag.string('Context of the kubeconfig; by default the current one.'),
  namespace: flag.list(
    'Namespace to import; by default all but those of the system. Repeatable.',
    [],
  ),
  kind: flag.list('Kind to import, such as deployments or Gateway. Repeatable.', []),
  'include-secrets': flag.bool('Import Secrets too.', false),
  into: flag.string('Name of a running cluster of this machine to create the objects in.'),
  ...outputFlag,
})

interface Given {
  readonly kubeconfig: string
  readonly context: string | undefined
  readonly namespace: readonly string[]
  readonly kind: readonly string[]
  readonly 'include-secrets': boolean
  readonly into: string | undefined
  readonly output: string
}

/** Faults of single kinds are none of the whole; what rejects concerns the live cluster. */
async function asking<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof ConnectionError) && !isStatusError(error)) throw error
    throw new ClusterError('failed', `cannot read the live cluster: ${error.message}`, {
      hint: 'check it with: kubectl get namespaces',
      cause: error,
    })
  }
}

interface Result {
  readonly imported: Imported
  readonly written: Written
}

async function importInto(
  context: CommandContext,
  given: Given & { readonly into: string },
  read: (target: Client) => Promise<Imported>,
): Promise<Result> {
  return await withCluster(context, given.into, async ({ client }) => {
    const imported = await read(client)
    const { signal } = context
    const { length } = imported.objects
    const written = await withLateProgress(context, 'create', (update) =>
      writeObjects(client, imported.objects, {
        signal,
        onProgress: (count) => update(`${count} of ${length}`),
      }),
    )
    return { imported, written }
  })
}

/** Readable by its owner alone, whatever is in it. */
async function writeManifests(path: string, { objects }: Imported): Promise<void> {
  const items = manifestsOf(objects)
  const text = path.endsWith('.json')
    ? `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, null, 2)}\n`
    : items.map(formatYaml).join('---\n')
  await explained(path, () => writeFileAtomically(path, text, 0o600))
}

function report(
  { terminal }: CommandContext,
  given: Given,
  { imported, written, target }: Result & { readonly target: string },
): number {
  const { read, unread } = imported
  const { created, existed, failed } = written
  if (given.output === 'json')
    terminal.out(`${JSON.stringify({ target, read, created, existed, failed, unread })}\n`)
  else {
    const there = existed === 0 ? '' : `, ${existed} were there already`
    terminal.out(`${target}: ${created} of ${read} objects${there}\n`)
    for (const { kind, namespace, why } of unread) {
      const where = namespace === undefined ? kind : `${kind} in namespace ${namespace}`
      terminal.err(`not read: ${where}: ${why}\n`)
    }
    for (const { kind, name, why } of failed) {
      terminal.err(`not created: ${kind}/${name}: ${why}\n`)
    }
  }
  return failed.length === 0 ? exitCodes.ok : exitCodes.failed
}

function checkTarget(file: string | undefined, into: string | undefined): void {
  if ((file === undefined) !== (into === undefined)) return
  throw new ClusterError('usage', 'skiff import needs either FILE or --into CLUSTER', {
    hint: 'see: skiff import --help',
  })
}

export const importCommand = defineCommand({
  name: 'import',
  summary: 'Copy objects of any live cluster into a file or a cluster',
  description:
    'Reads what your user may read. Writes manifests to FILE (YAML, or JSON when its name ends in .json), or creates the\n' +
    'objects in the running cluster that --into names. Objects that are there already are not changed.\n\n' +
    'Leaves out Secrets, Events, Nodes, Leases, webhooks and API services unless --kind names them; pods and ReplicaSets\n' +
    'that their controllers create anew; finished Jobs and pods; and what servers and controllers have filled in. Custom\n' +
    'resources keep their status.\n\n' +
    'Kinds that you may not read are listed at the end. Exits with 1 when an object could not be created.',
  arguments: [{ name: 'FILE', isOptional: true }],
  flags,
  examples: [
    ['skiff import shop.yaml --namespace shop', 'Write the objects of a namespace to a file'],
    [
      'skiff import --into default --context staging',
      'Copy a live cluster into the cluster "default"',
    ],
    [
      'skiff import --into default --kind deployments --kind configmaps --include-secrets --kind secrets',
      'Copy some kinds, with Secrets',
    ],
  ],
  run: async (context, { flags: given, args }) => {
    const [file] = args
    const { into } = given
    checkTarget(file, into)
    const source = await kubeconfigClient(context, given)
    const read = async (target: Client | undefined): Promise<Imported> => {
      const { signal } = context
      const served = target === undefined ? undefined : await createDiscovery(target)(signal)
      return await withLateProgress(context, 'read', (update) =>
        asking(() =>
          importObjects(source, {
            kinds: given.kind,
            namespaces: given.namespace,
            includeSecrets: given['include-secrets'],
            target: served,
            signal,
            onProgress: (count) => update(`${count} objects`),
          }),
        ),
      )
    }
    try {
      if (into !== undefined) {
        const result = await importInto(context, { ...given, into }, read)
        return report(context, given, { ...result, target: `cluster "${into}"` })
      }
      const path = resolve(file ?? '')
      const imported = await read(undefined)
      await writeManifests(path, imported)
      const written = { created: imported.objects.length, existed: 0, failed: [] }
      return report(context, given, { imported, written, target: path })
    } finally {
      source.close()
    }
  },
})
