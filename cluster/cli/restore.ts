/** `skiff restore` and `skiff migrate-store`. */
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { migrateStore } from '../backup/migrate-store.ts'
import { restoreCluster } from '../backup/restore-cluster.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ExtraFlags } from '../plan/cluster-config.ts'
import { builtPrograms } from '../plan/programs.ts'
import { parseStoreTarget } from '../plan/store-place.ts'
import { nameFlagOf } from '../state/state-dir.ts'
import { keyFlags, sealKeysOf } from './backup.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withLateProgress } from './progress.ts'
import { parseExtraFlags } from './up.ts'
import { asTyped } from './terminal.ts'

const setFlag = defineFlags({
  set: flag.list(
    'api-server.FLAG=VALUE: how the API server reaches etcd, such as api-server.etcd-cafile=PATH. Repeatable.',
    [],
    { isWhole: true },
  ),
  'etcd-prefix': flag.string('Prefix of all keys in etcd; /registry by default.'),
})

function storeFlagsOf(settings: readonly string[]): ExtraFlags {
  const flags = parseExtraFlags(settings)
  const names = Object.keys(flags['api-server'] ?? {})
  const isOther = Object.keys(flags).some((program) => program !== 'api-server')
  const wrong = names.find((name) => !/^etcd-(cafile|certfile|keyfile)$/.test(name))
  if (!isOther && wrong === undefined) return flags
  throw new ClusterError('usage', `--set cannot set ${wrong ?? 'that'} here`, {
    hint: 'it takes etcd-cafile, etcd-certfile and etcd-keyfile of api-server',
  })
}

const restoreFlags = defineFlags({
  ...nameFlag,
  force: flag.bool('Put the backup in place of what a stopped cluster holds.', false),
  ...keyFlags,
  to: flag.string(
    'Store to restore into: sqlite or etcd:URL,URL. Default: as the cluster had it.',
    '',
  ),
  ...setFlag,
  ...outputFlag,
})

export const restore = defineCommand({
  name: 'restore',
  summary: 'Restore a cluster from a backup',
  description:
    'Checks the backup, and makes a stopped cluster of it that `skiff up` starts: with the same objects, certificates and\n' +
    'keys, so that its nodes and kubeconfigs go on working. With --force, puts the backup in place of the store of a cluster\n' +
    'that is stopped; the former store is kept, and the command says where.\n\n' +
    'All objects get new resourceVersions, higher than any that the cluster ever had: clients with older ones get 410 and\n' +
    'list again.',
  arguments: [{ name: 'FILE' }],
  flags: restoreFlags,
  handlesInterrupt: true,
  examples: [
    ['skiff restore --name shop shop.backup', 'Restore a cluster that is gone'],
    ['skiff restore --name shop --force shop.backup', 'Replace the store of a stopped cluster'],
    [
      'skiff restore --to etcd:http://127.0.0.1:2379 default.backup',
      'Restore it into etcd, whatever store it had',
    ],
  ],
  run: async (context, { flags: given, args: [file = ''] }) => {
    const { terminal, clock, signal, stateRoot } = context
    const target = given.to === '' ? undefined : parseStoreTarget(given.to, given['etcd-prefix'])
    const extraFlags = storeFlagsOf(given.set)
    const keys = await sealKeysOf(given, context)
    const result = await withLateProgress(context, 'restore', (update) =>
      restoreCluster({
        name: given.name,
        file,
        keys,
        force: given.force,
        target,
        extraFlags,
        stateRoot,
        clock,
        signal,
        programs: builtPrograms(),
        onProgress: (count) => update(`${count} objects`),
      }),
    )
    if (given.output === 'json') {
      terminal.out(`${JSON.stringify({ name: given.name, ...result })}\n`)
      return exitCodes.ok
    }
    const { objects, takenAt, former } = result
    const kept = former === undefined ? '' : `The former store is kept: ${former}\n`
    const start = `Start it: skiff up${nameFlagOf(given.name)}\n`
    terminal.out(
      `Cluster "${given.name}" is restored as of ${takenAt}: ${objects} objects\n${kept}` +
        asTyped(start, context.program),
    )
    return exitCodes.ok
  },
})

const migrateFlags = defineFlags({
  ...nameFlag,
  to: flag.string('Store to move to: sqlite or etcd:URL,URL.', ''),
  ...setFlag,
  ...outputFlag,
})

export const migrate = defineCommand({
  name: 'migrate-store',
  summary: 'Move what a stopped cluster holds to another store',
  description:
    'Copies all objects into a file of SQLite or into etcd, and makes the cluster use that from its next start on. The former\n' +
    'store is kept, and the command says where. Clients go on: a resourceVersion stays valid, or gets 410.',
  flags: migrateFlags,
  handlesInterrupt: true,
  examples: [
    ['skiff migrate-store --to etcd:http://127.0.0.1:2379', 'Move the cluster "default" to etcd'],
    ['skiff migrate-store --name shop --to sqlite', 'Move the cluster "shop" back to a file'],
  ],
  run: async (context, { flags: given }) => {
    const { terminal, clock, signal, stateRoot } = context
    if (given.to === '') {
      throw new ClusterError('usage', 'skiff migrate-store needs --to', {
        hint: 'use --to sqlite, or --to etcd:http://HOST:PORT',
      })
    }
    const target = parseStoreTarget(given.to, given['etcd-prefix'])
    const extraFlags = storeFlagsOf(given.set)
    const result = await withLateProgress(context, 'migrate-store', () =>
      migrateStore({
        name: given.name,
        target,
        extraFlags,
        stateRoot,
        clock,
        signal,
        programs: builtPrograms(),
      }),
    )
    const { store, objects, former } = result
    terminal.out(
      given.output === 'json'
        ? `${JSON.stringify({ name: given.name, ...result })}\n`
        : `Cluster "${given.name}" has its ${objects} objects in ${store}\nThe former store is kept: ${former}\n` +
            asTyped(`Start it: skiff up${nameFlagOf(given.name)}\n`, context.program),
    )
    return exitCodes.ok
  },
})
