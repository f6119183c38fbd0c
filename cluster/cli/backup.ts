/** `skiff backup` and `skiff backup verify`. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { FlagValues } from '../../components/component-base/flags.ts'
import { checkBackup } from '../backup/open-backup.ts'
import type { SealKeys, SealTo } from '../backup/seal.ts'
import { takeBackup } from '../backup/take-backup.ts'
import { ClusterError } from '../cluster-error.ts'
import { builtPrograms } from '../plan/programs.ts'
import { explained } from '../system-error.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import type { CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { withLateProgress } from './progress.ts'
import { byteSize, table } from './terminal.ts'

const passphraseVariable = 'SKIFF_BACKUP_PASSPHRASE'

/** What opens an encrypted backup. */
export const keyFlags = defineFlags({
  'passphrase-file': flag.string(
    `File whose first line is the passphrase; default: the variable ${passphraseVariable}.`,
    '',
  ),
  'identity-file': flag.string('File with keys of age, for a backup with --recipient.', ''),
})

const backupFlags = defineFlags({
  ...nameFlag,
  force: flag.bool('Replace FILE if it exists.', false),
  encrypt: flag.bool('Encrypt with a passphrase; see --passphrase-file.', false),
  'passphrase-file': keyFlags['passphrase-file'],
  recipient: flag.list('Encrypt to this public key of age (age1...). Repeatable.', []),
  ...outputFlag,
})

async function readPassphrase(
  file: string,
  { environment }: Pick<CommandContext, 'environment'>,
): Promise<string | undefined> {
  if (file === '') return environment[passphraseVariable] || undefined
  const text = await explained(file, () => readFileSync(file, 'utf8'))
  const passphrase = text.split('\n')[0]?.replace(/\r$/, '') ?? ''
  if (passphrase !== '') return passphrase
  throw new ClusterError('usage', `the first line of ${file} is empty`, {
    hint: 'write the passphrase to that line',
  })
}

async function sealToOf(
  given: FlagValues<typeof backupFlags>,
  context: CommandContext,
): Promise<SealTo | undefined> {
  const [first, ...more] = given.recipient
  const wantsPassphrase = given.encrypt || given['passphrase-file'] !== ''
  if (first !== undefined && wantsPassphrase) {
    throw new ClusterError('usage', '--recipient and a passphrase cannot be combined', {
      hint: 'omit --encrypt and --passphrase-file',
    })
  }
  if (first !== undefined) return { recipients: [first, ...more] }
  if (!wantsPassphrase) return undefined
  const passphrase = await readPassphrase(given['passphrase-file'], context)
  if (passphrase !== undefined) return { passphrase }
  throw new ClusterError('usage', '--encrypt needs a passphrase', {
    hint: `pass --passphrase-file, or set ${passphraseVariable}`,
  })
}

/** Rejects with a ClusterError for files that hold no key. */
export async function sealKeysOf(
  given: FlagValues<typeof keyFlags>,
  context: CommandContext,
): Promise<SealKeys> {
  const passphrase = await readPassphrase(given['passphrase-file'], context)
  const file = given['identity-file']
  if (file === '') return { passphrase }
  const text = await explained(file, () => readFileSync(file, 'utf8'))
  const lines = text.split('\n').map((line) => line.trim())
  return { passphrase, identities: lines.filter((line) => line !== '' && !line.startsWith('#')) }
}

const take = defineCommand({
  name: 'backup',
  summary: 'Back up a cluster to a file, for `skiff restore`',
  description:
    'Writes everything that the cluster needs to go on: all objects at one resourceVersion, its configuration,\n' +
    'certificates and keys. Works while the cluster runs, and when it is stopped. Checks: skiff backup verify FILE.\n\n' +
    'The file gives full control over the cluster: only you can read it (mode 0600), and it is not encrypted unless you\n' +
    'ask for that. It is a tar file, or one in the format of age (age-encryption.org) if it is encrypted.',
  arguments: [{ name: 'FILE' }],
  flags: backupFlags,
  handlesInterrupt: true,
  examples: [
    ['skiff backup --name shop shop.backup', 'Back up the cluster "shop"'],
    ['skiff backup --passphrase-file pass.txt default.backup', 'Encrypt it with a passphrase'],
    ['skiff backup --recipient age1... default.backup', 'Encrypt it to a public key of age'],
  ],
  run: async (context, { flags: given, args: [file = ''] }) => {
    const { terminal, clock, signal, stateRoot } = context
    const sealTo = await sealToOf(given, context)
    const result = await withLateProgress(context, 'backup', (update) =>
      takeBackup({
        name: given.name,
        file,
        force: given.force,
        sealTo,
        stateRoot,
        clock,
        signal,
        programs: builtPrograms(),
        onProgress: (count) => update(`${count} objects`),
      }),
    )
    const { objects, files, revision, bytes, encrypted } = result
    const how = encrypted ? 'encrypted' : 'not encrypted'
    terminal.out(
      given.output === 'json'
        ? `${JSON.stringify({ name: given.name, ...result })}\n`
        : `${result.file}: ${objects} objects at resourceVersion ${revision}, ${files} files, ${byteSize(bytes)}, ${how}\n`,
    )
    return exitCodes.ok
  },
})

const verify = defineCommand({
  name: 'backup verify',
  summary: 'Check that a backup is whole, and show what it holds',
  description:
    'Compares every part with its checksum. Exits with 1 and names the part that is damaged.',
  arguments: [{ name: 'FILE' }],
  flags: defineFlags({ ...keyFlags, ...outputFlag }),
  examples: [['skiff backup verify shop.backup', 'Check a backup']],
  run: async (context, { flags: given, args: [file = ''] }) => {
    const path = resolve(file)
    const keys = await sealKeysOf(given, context)
    const checked = await withLateProgress(context, 'verify', () => checkBackup({ path, keys }))
    const { manifest, summary, parts, bytes, encrypted } = checked
    const { cluster, writtenBy, takenAt, revision, dialect } = manifest
    const { resources, objects, files } = summary
    if (given.output === 'json') {
      const result = { file: path, cluster, writtenBy, takenAt, revision, dialect }
      const counts = { objects, files, resources, parts, bytes, encrypted }
      context.terminal.out(`${JSON.stringify({ ...result, ...counts })}\n`)
      return exitCodes.ok
    }
    const rows = Object.entries(resources).map(([name, count]) => [name, String(count)])
    context.terminal.out(
      `${path} is whole: ${parts} parts, ${byteSize(bytes)}, ${encrypted ? 'encrypted' : 'not encrypted'}\n` +
        `Cluster "${cluster}" at ${takenAt}, resourceVersion ${revision}, written by ${writtenBy}\n` +
        `${objects} objects, ${files} files\n\n${table([['RESOURCE', 'OBJECTS'], ...rows])}`,
    )
    return exitCodes.ok
  },
})

export const backupCommands = [take, verify]
