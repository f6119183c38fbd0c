/** Preparing a cluster: its certificates, client configurations and token files, written where the plan says. */
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Credential, CredentialName, Pki } from '../../certs/pki.ts'
import { writeEtcdPki } from '../../certs/etcd-pki.ts'
import type { EtcdPki } from '../../certs/etcd-pki.ts'
import { writeFileAtomically, writePki } from '../../certs/pki-files.ts'
import type { ApiServerNames } from '../../certs/profiles.ts'
import { formatIpAddress, parseIpRange } from '../../components/machinery/validation/ip-address.ts'
import { ClusterError } from '../cluster-error.ts'
import { dialectOf, serverNameOf, serverUrl } from './cluster-config.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { etcdPkiFolder } from './etcd-config.ts'
import { formatKubeconfig } from '../../components/client/kubeconfig.ts'
import { adminKubeconfig, namedKubeconfig } from '../state/kubeconfig.ts'
import type { ComponentSpec } from './component-spec.ts'
import type { StatePaths } from '../state/state-dir.ts'

/** The first usable address of a service range, 10.96.0.1 of 10.96.0.0/16: that of the API server's own Service. */
function firstServiceIp(range: string): string {
  const parsed = parseIpRange(range)
  if (parsed === undefined) {
    throw new ClusterError('usage', `invalid service range "${range}": it is not a CIDR`, {
      hint: 'use a range such as 10.96.0.0/16',
    })
  }
  return formatIpAddress({ family: parsed.family, value: parsed.base + 1n })
}

/** The address in HOST:PORT, if it is one. */
function addressesIn(peer: string): string[] {
  const address = peer.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 ? [] : [address]
}

/** The names and addresses the API server's certificate must hold. */
export function apiServerNames(
  config: Pick<ClusterConfig, 'dialect' | 'serviceRange' | 'address' | 'apiServers' | 'peers'>,
): ApiServerNames {
  const { address, apiServers = [], peers = [] } = config
  // Clients of the machine that this one joined verify its address, whose load balancer passes on to here.
  const others = peers.flatMap((peer) => addressesIn(peer))
  return {
    serviceName: dialectOf(config).apiServerService,
    serviceIp: firstServiceIp(config.serviceRange),
    ipAddresses: [...new Set([address, ...apiServers.map((one) => one.address), ...others])],
  }
}

/** Writes the file with an agent's bootstrap token; without one, the file says nothing (a joined agent needs none). */
export async function writeTokenFile(path: string, token: string | undefined): Promise<void> {
  const content = token === undefined ? {} : { 'bootstrap-token': token }
  await writeFileAtomically(path, `${JSON.stringify(content)}\n`, 0o600)
}

/** The text of a component's kubeconfig; it names the files of its certificate. */
export function credentialKubeconfig(
  credential: CredentialName,
  { config, paths }: { readonly config: ClusterConfig; readonly paths: StatePaths },
): Promise<string> {
  const pkiFile = (name: string): string => join(paths.pki, name)
  const kubeconfig = namedKubeconfig(credential, {
    server: serverUrl(config),
    serverName: serverNameOf(config),
    ca: { file: pkiFile('ca.crt') },
    credentials: {
      certFile: pkiFile(`${credential}.crt`),
      keyFile: pkiFile(`${credential}.key`),
    },
  })
  // A component reads JSON without loading a YAML package.
  return formatKubeconfig(kubeconfig, 'json')
}

/** Creates the folders of the components and writes their files. */
export async function writePlannedFiles(
  specs: readonly ComponentSpec[],
  options: { config: ClusterConfig; paths: StatePaths; token: string | undefined },
): Promise<void> {
  const { token } = options
  await Promise.all(
    specs.flatMap((spec) =>
      spec.folders.map((path) => mkdir(path, { recursive: true, mode: 0o700 })),
    ),
  )
  await Promise.all(
    specs
      .flatMap((spec) => spec.files)
      .map(async (file) => {
        if (file.kind === 'text') {
          if (!existsSync(file.path)) await writeFileAtomically(file.path, file.text, 0o600)
          return
        }
        if (file.kind === 'bootstrap-token') return writeTokenFile(file.path, token)
        const text = await credentialKubeconfig(file.credential, options)
        return writeFileAtomically(file.path, text, 0o600)
      }),
  )
}

/** Writes the owner's kubeconfig, with everything embedded. */
export async function writeAdminKubeconfig(
  { config, paths }: { readonly config: ClusterConfig; readonly paths: StatePaths },
  from: { readonly authorityPem: string; readonly credential: Credential },
): Promise<void> {
  const server = { server: serverUrl(config), serverName: serverNameOf(config) }
  const kubeconfig = adminKubeconfig(config.name, { ...server, ...from })
  await writeFileAtomically(paths.adminKubeconfig, await formatKubeconfig(kubeconfig), 0o600)
}

/** The pki of a cluster, with that of its own etcd. */
export interface ClusterPki extends Pki {
  readonly etcd?: EtcdPki
  /** Of an existing etcd: file below the pki folder -> text. */
  readonly etcdFiles?: Readonly<Record<string, string>>
}

/** Only the folder that `etcd/ca.crt` needs is made. */
async function writeEtcdFiles(
  folder: string,
  files: NonNullable<ClusterPki['etcdFiles']>,
): Promise<void> {
  await mkdir(join(folder, etcdPkiFolder), { recursive: true, mode: 0o700 })
  await Promise.all(
    Object.entries(files).map(([file, text]) =>
      writeFileAtomically(join(folder, file), text, 0o600),
    ),
  )
}

/** Writes everything a new cluster's processes read: the pki, the owner's kubeconfig, and the files of the plan. */
export async function prepareCluster(
  specs: readonly ComponentSpec[],
  options: { config: ClusterConfig; paths: StatePaths; pki: ClusterPki; token: string },
): Promise<void> {
  const { paths, pki } = options
  const authorityPem = pki.authority.certificatePem
  await Promise.all([
    writePki(paths.pki, pki),
    pki.etcd === undefined ? undefined : writeEtcdPki(paths.pki, pki.etcd),
    pki.etcdFiles === undefined ? undefined : writeEtcdFiles(paths.pki, pki.etcdFiles),
    writeAdminKubeconfig(options, { authorityPem, credential: pki.credentials.admin }),
    writePlannedFiles(specs, options),
  ])
}
