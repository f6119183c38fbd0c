/** `skiff certs ...`: checks, renews and exports the certificates of a cluster. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { etcdCredentialNames } from '../../certs/etcd-pki.ts'
import { inspectCertificates } from '../../certs/inspect.ts'
import type { CertificateReport } from '../../certs/inspect.ts'
import { credentialNames, stageRunnerCredential } from '../../certs/pki.ts'
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
  restart: flag.bool('Restart the running components whose certificates changed.', true),
})
const exportFlags = defineFlags({
  ...nameFlag,
  p12: flag.string('PKCS#12 file to write.', ''),
  'password-file': flag.string('File whose first line is the password of the bundle.', ''),
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

/** Every certificate of the cluster and its nodes, and the files that should contain one but do not. */
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
      damaged.push(file) // not a certificate; the library gives no reason
    }
  }
  return { rows, damaged }
}

function damageOf(paths: StatePaths, files: readonly string[]): ClusterError {
  const [first = ''] = files
  const isOfNode = first.startsWith(paths.nodes)
  const more = files.length > 1 ? `, and ${files.length - 1} more` : ''
  return new ClusterError('failed', `${first} is damaged: it contains no certificate${more}`, {
    hint: isOfNode
      ? `restart its node, which then requests a new one: skiff restart NODE${nameFlagOf(basename(paths.dir))}`
      : hintFor(paths, basename(first).replace(/\.\w+$/, '')),
  })
}

function isBad(row: Row): boolean {
  return row.remainingMs <= 0
}

const check = defineCommand({
  name: 'certs check',
  summary: 'List every certificate with its subject, issuer, usages and remaining lifetime',
  description: 'Exits with 1 when a certificate has expired, or a certificate or key is damaged.',
  flags: checkFlags,
  examples: [['skiff certs check', 'List all certificates of the cluster and its nodes']],
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

/** The certificates that a cluster's processes have. */
function namesOf({ stages }: ClusterConfig): readonly CredentialName[] {
  return stages === undefined ? credentialNames : [...credentialNames, stageRunnerCredential]
}

const renew = defineCommand({
  name: 'certs renew',
  summary: 'Create new keys and certificates for the control plane; keep the CAs',
  description:
    `Renews the named certificates, or all of them: ${credentialNames.join(', ')}.\n` +
    'Without names, those of an etcd that the cluster runs, too. Node agents renew their own certificates. If you merged the kubeconfig into yours, merge it again.',
  arguments: [{ name: 'NAME', isOptional: true, isRepeated: true }],
  flags: renewFlags,
  examples: [
    ['skiff certs renew', 'Renew all certificates of the control plane'],
    ['skiff certs renew admin', "Renew only the administrator's certificate"],
  ],
  run: async (context, { flags: given, args }) => {
    const { paths, config } = found(context, given.name)
    const known = namesOf(config)
    const unknown = args.find((name) => !known.includes(name as CredentialName))
    if (unknown !== undefined) {
      throw new ClusterError('usage', `there is no certificate "${unknown}"`, {
        hint: `certificates: ${known.join(', ')}`,
      })
    }
    const names = args.length === 0 ? known : (args as CredentialName[])
    const withEtcd = args.length === 0 && config.etcd?.own !== undefined
    await renewCertificates({ config, paths, names, withEtcd, nowMs: context.clock.now() })
    const renewed = new Set<string>([...names, ...(withEtcd ? etcdCredentialNames : [])])
    const { terminal } = context
    terminal.out(`renewed: ${[...renewed].join(', ')}\n`)
    if (!given.restart || lockHolder(paths) === undefined) return exitCodes.ok
    const control = await connectControl(paths)
    try {
      for (const spec of planCluster(config, paths)) {
        if (!spec.certificates.some((name) => renewed.has(name))) continue
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
  summary: 'Write a certificate and its key as PKCS#12, for a browser or keychain',
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
    if (!namesOf(config).includes(name as CredentialName)) {
      throw new ClusterError('usage', `there is no certificate "${name}"`, {
        hint: `certificates: ${namesOf(config).join(', ')}`,
      })
    }
    if (given.p12 === '' || given['password-file'] === '') {
      throw new ClusterError('usage', 'skiff certs export needs --p12 and --password-file', {
        hint: 'put the password in a file: other users can see a command line',
      })
    }
    const passwordFile = given['password-file']
    const text = await explained(passwordFile, () => readFileSync(passwordFile, 'utf8'))
    const password = text.split('\n')[0]?.replace(/\r$/, '') ?? ''
    if (password === '') {
      throw new ClusterError('usage', `the first line of ${passwordFile} is empty`, {
        hint: 'write the password of the bundle to that line',
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
