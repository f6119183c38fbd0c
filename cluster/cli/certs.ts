/** `skiff certs ...`: what certificates a cluster has, new ones in time, and one for a browser. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { inspectCertificates } from '../../certs/inspect.ts'
import type { CertificateReport } from '../../certs/inspect.ts'
import { credentialNames } from '../../certs/pki.ts'
import type { CredentialName } from '../../certs/pki.ts'
import { writeFileAtomically } from '../../certs/pki-files.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { checkPki, hintFor, readAuthorityPem, readCheckedCredential } from '../state/check-pki.ts'
import { readClusterConfig } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { ClusterError } from '../cluster-error.ts'
import { connectControl } from '../control-client.ts'
import { planCluster } from '../plan/plan.ts'
import { explained } from '../system-error.ts'
import { renewCertificates } from '../plan/renew-certificates.ts'
import { lockHolder } from '../state/lock.ts'
import { nameFlagOf, noSuchCluster, stateDirExists, statePaths } from '../state/state-dir.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { defineCommand, nameFlag, outputFlag } from './command.ts'
import type { CommandContext } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { shortDuration, table } from './terminal.ts'

const checkFlags = defineFlags({ ...nameFlag, ...outputFlag })
const renewFlags = defineFlags({
  ...nameFlag,
  restart: flag.bool('Restart the components whose certificates changed, if they run.', true),
})
const exportFlags = defineFlags({
  ...nameFlag,
  p12: flag.string('The PKCS#12 file to write.', ''),
  'password-file': flag.string('File whose first line protects the bundle.', ''),
})

function found(
  context: CommandContext,
  name: string,
): { paths: StatePaths; config: ClusterConfig } {
  const paths = statePaths(context.stateRoot, name)
  const config = stateDirExists(paths) ? readClusterConfig(paths) : undefined
  if (config !== undefined) return { paths, config }
  throw noSuchCluster(name)
}

interface Row extends CertificateReport {
  readonly file: string
}

/** Every certificate below the state directory, the cluster's and those its nodes were given; and the files that hold none. */
async function allCertificates(
  paths: StatePaths,
  nowMs: number,
): Promise<{ rows: Row[]; damaged: string[] }> {
  const files = [paths.pki, paths.nodes]
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => /\.(crt|pem)$/.test(file) && statSync(file).isFile())
    .toSorted()
  const rows: Row[] = []
  const damaged: string[] = []
  for (const file of files) {
    try {
      const certificates = await inspectCertificates(readFileSync(file, 'utf8'), nowMs)
      if (certificates.length === 0) damaged.push(file)
      rows.push(...certificates.map((one) => ({ file: relative(paths.dir, file), ...one })))
    } catch {
      damaged.push(file) // what it holds is no certificate; more the library does not say
    }
  }
  return { rows, damaged }
}

function damageOf(paths: StatePaths, files: readonly string[]): ClusterError {
  const [first = ''] = files
  const isOfNode = first.startsWith(paths.nodes)
  const more = files.length > 1 ? `, and ${files.length - 1} more` : ''
  return new ClusterError('failed', `${first} is damaged: it holds no certificate${more}`, {
    hint: isOfNode
      ? `its node gets a new one when it starts again: skiff restart NODE${nameFlagOf(basename(paths.dir))}`
      : hintFor(paths, basename(first).replace(/\.\w+$/, '')),
  })
}

function isBad(row: Row): boolean {
  return row.remainingMs <= 0
}

const check = defineCommand({
  name: 'certs check',
  summary: 'List every certificate: subject, signer, usage and expiry',
  description: 'Exits with 1 when one has expired or is damaged, or the key of one is.',
  flags: checkFlags,
  examples: [['skiff certs check', 'All certificates of the cluster and its nodes']],
  run: async (context, { flags: given }) => {
    const { paths } = found(context, given.name)
    const { rows, damaged } = await allCertificates(paths, context.clock.now())
    const { terminal } = context
    if (given.output === 'json') terminal.out(`${JSON.stringify(rows)}\n`)
    else {
      const oneLine = (name: string): string => name.replaceAll('\n', ', ')
      const lines = rows.map((row) => [
        row.file,
        oneLine(row.subject),
        oneLine(row.issuer),
        row.remainingMs <= 0 ? 'EXPIRED' : shortDuration(row.remainingMs),
        row.usages.join(', '),
        row.alternativeNames.map((name) => name.replace(/^IP Address:/, 'IP:')).join(' ') || '-',
      ])
      terminal.out(table([['FILE', 'SUBJECT', 'ISSUER', 'LEFT', 'USAGES', 'NAMES'], ...lines]))
    }
    if (damaged.length > 0) throw damageOf(paths, damaged)
    if (rows.some(isBad)) return exitCodes.failed
    await checkPki(paths, context.clock.now())
    return exitCodes.ok
  },
})

const renew = defineCommand({
  name: 'certs renew',
  summary: 'Make new keys and certificates for the control plane; the CAs stay',
  description:
    `Renews the named ones, or all: ${credentialNames.join(', ')}.\n` +
    'Node agents renew their own in time. A kubeconfig that was merged into yours has to be merged again.',
  arguments: [{ name: 'NAME', isOptional: true, isRepeated: true }],
  flags: renewFlags,
  examples: [
    ['skiff certs renew', 'All of the control plane'],
    ['skiff certs renew admin', "Only the administrator's"],
  ],
  run: async (context, { flags: given, args }) => {
    const { paths, config } = found(context, given.name)
    const unknown = args.find((name) => !credentialNames.includes(name as CredentialName))
    if (unknown !== undefined) {
      throw new ClusterError('usage', `there is no certificate "${unknown}"`, {
        hint: `there are: ${credentialNames.join(', ')}`,
      })
    }
    const names = args.length === 0 ? credentialNames : (args as CredentialName[])
    await renewCertificates({ config, paths, names, nowMs: context.clock.now() })
    const { terminal } = context
    terminal.out(`renewed: ${names.join(', ')}\n`)
    if (!given.restart || lockHolder(paths) === undefined) return exitCodes.ok
    const control = await connectControl(paths)
    try {
      for (const spec of planCluster(config, paths)) {
        if (!spec.certificates.some((name) => names.includes(name))) continue
        await control.call('restart', { name: spec.name })
        terminal.out(`${spec.name} restarted\n`)
      }
    } finally {
      control.close()
    }
    return exitCodes.ok
  },
})

const exportP12 = defineCommand({
  name: 'certs export',
  summary: 'Write a certificate with its key as PKCS#12, for a browser or keychain',
  arguments: [{ name: 'NAME', isOptional: true }],
  flags: exportFlags,
  examples: [
    [
      'skiff certs export --p12 admin.p12 --password-file secret.txt',
      'Open the API in a browser as administrator',
    ],
  ],
  run: async (context, { flags: given, args: [name = 'admin'] }) => {
    const { paths, config } = found(context, given.name)
    if (!credentialNames.includes(name as CredentialName)) {
      throw new ClusterError('usage', `there is no certificate "${name}"`, {
        hint: `there are: ${credentialNames.join(', ')}`,
      })
    }
    if (given.p12 === '' || given['password-file'] === '') {
      throw new ClusterError('usage', 'skiff certs export needs --p12 and --password-file', {
        hint: 'the password is read from a file, since a command line can be seen by others',
      })
    }
    const passwordFile = given['password-file']
    const text = await explained(passwordFile, () => readFileSync(passwordFile, 'utf8'))
    const password = text.split('\n')[0]?.replace(/\r$/, '') ?? ''
    if (password === '') {
      throw new ClusterError('usage', `the first line of ${passwordFile} is empty`, {
        hint: 'a bundle with a private key wants a password',
      })
    }
    const { createPkcs12 } = await import('../../certs/pkcs12.ts')
    const bundle = await createPkcs12({
      credential: readCheckedCredential(paths, name),
      friendlyName: `${config.name} ${name}`,
      password,
      authoritiesPem: readAuthorityPem(paths),
    })
    const file = resolve(given.p12)
    await explained(file, () => writeFileAtomically(file, bundle, 0o600))
    context.terminal.out(`${basename(file)} written\n`)
    return exitCodes.ok
  },
})

export const certsCommands = [check, renew, exportP12]
