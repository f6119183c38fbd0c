/** `skiff certs ...`: what certificates a cluster has, new ones in time, and one for a browser. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { inspectCertificates } from '../../certs/inspect.ts'
import type { CertificateReport } from '../../certs/inspect.ts'
import { credentialNames } from '../../certs/pki.ts'
import type { CredentialName } from '../../certs/pki.ts'
import { readCredential, writeFileAtomically } from '../../certs/pki-files.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { readClusterConfig } from '../cluster-config.ts'
import type { ClusterConfig } from '../cluster-config.ts'
import { ClusterError } from '../cluster-error.ts'
import { connectControl } from '../control-client.ts'
import { planCluster } from '../plan.ts'
import { renewCertificates } from '../renew-certificates.ts'
import { checkClusterName, lockHolder, stateDirExists, statePaths } from '../state-dir.ts'
import type { StatePaths } from '../state-dir.ts'
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
  checkClusterName(name)
  const paths = statePaths(context.stateRoot, name)
  const config = stateDirExists(paths) ? readClusterConfig(paths) : undefined
  if (config !== undefined) return { paths, config }
  throw new ClusterError('not-found', `there is no cluster "${name}"`)
}

interface Row extends CertificateReport {
  readonly file: string
}

/** Every certificate below the state directory: the cluster's and those its nodes were given. */
async function allCertificates(paths: StatePaths, nowMs: number): Promise<Row[]> {
  const files = [paths.pki, paths.nodes]
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    .filter((file) => /\.(crt|pem)$/.test(file) && statSync(file).isFile())
    .toSorted()
  const reports = await Promise.all(
    files.map(async (file) => {
      const text = readFileSync(file, 'utf8')
      if (!text.includes('BEGIN CERTIFICATE')) return []
      const certificates = await inspectCertificates(text, nowMs)
      return certificates.map((one) => ({ file: relative(paths.dir, file), ...one }))
    }),
  )
  return reports.flat()
}

function isBad(row: Row): boolean {
  return row.remainingMs <= 0
}

const check = defineCommand({
  name: 'certs check',
  summary: 'List every certificate: whose it is, who signed it, what for, how long it lasts',
  description: 'Exits with 1 when one has expired.',
  flags: checkFlags,
  examples: [['skiff certs check', 'All certificates of the cluster and its nodes']],
  run: async (context, { flags: given }) => {
    const { paths } = found(context, given.name)
    const rows = await allCertificates(paths, context.clock.now())
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
    return rows.some(isBad) ? exitCodes.failed : exitCodes.ok
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
    const [password = ''] = readFileSync(given['password-file'], 'utf8').split('\n')
    const { createPkcs12 } = await import('../../certs/pkcs12.ts')
    const bundle = await createPkcs12({
      credential: await readCredential(paths.pki, name),
      friendlyName: `${config.name} ${name}`,
      password,
      authoritiesPem: readFileSync(join(paths.pki, 'ca.crt'), 'utf8'),
    })
    const file = resolve(given.p12)
    await writeFileAtomically(file, bundle, 0o600)
    context.terminal.out(`${basename(file)} written\n`)
    return exitCodes.ok
  },
})

export const certsCommands = [check, renew, exportP12]
