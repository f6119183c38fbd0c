/** Shared files: what every machine of a control plane has the same, by the name of its entry in the Secret. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAuthority } from '../../certs/authority.ts'
import type { Authority } from '../../certs/authority.ts'
import { parsePrivateKey, publicKeyPem } from '../../certs/keys.ts'
import type { SharedPki } from '../../certs/pki.ts'
import { ClusterError } from '../cluster-error.ts'
import { knownServers } from '../etcd/known-members.ts'
import { urlHost } from '../plan/cluster-config.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { etcdClientFiles, etcdPkiFolder } from '../plan/etcd-config.ts'
import type { StatePaths } from '../state/state-dir.ts'

/** Settings that have to be the same everywhere. */
export interface SharedSettings extends Pick<
  ClusterConfig,
  'dialect' | 'serviceRange' | 'extraFlags'
> {
  readonly etcdServers: readonly string[]
  /** HOST:PORT of the API servers, or of the load balancers in front of them. */
  readonly apiServers: readonly string[]
}

/** Texts by entry: `ca.crt`, `settings.json`. */
export type SharedFiles = Readonly<Record<string, string>>

const settingsEntry = 'settings.json'
const pkiEntries = ['ca.crt', 'ca.key', 'front-proxy-ca.crt', 'front-proxy-ca.key', 'sa.key']
/** Entry -> file below the pki folder of the machine that joins. */
export const etcdEntries: Readonly<Record<string, string>> = {
  'etcd-ca.crt': 'etcd/ca.crt',
  'etcd-client.crt': 'apiserver-etcd-client.crt',
  'etcd-client.key': 'apiserver-etcd-client.key',
}

/** Reads them from a cluster's files. Throws a ClusterError for a cluster whose store others cannot share. */
export function readSharedFiles(config: ClusterConfig, paths: StatePaths): SharedFiles {
  const { etcd, dialect, serviceRange, extraFlags, address, port, peers = [] } = config
  if (etcd === undefined) {
    throw new ClusterError('usage', `cluster "${config.name}" keeps its state in a file`, {
      hint: 'only clusters on etcd can have API servers on other machines: skiff up --store etcd',
    })
  }
  const { caFile, certFile, keyFile } = etcdClientFiles(etcd, paths)
  const files = [
    ...pkiEntries.map((entry) => [entry, join(paths.pki, entry)] as const),
    ...([
      ['etcd-ca.crt', caFile],
      ['etcd-client.crt', certFile],
      ['etcd-client.key', keyFile],
      // A further machine issues the certificates of its member with it.
      ['etcd-ca.key', etcd.own && join(paths.pki, etcdPkiFolder, 'ca.key')],
    ] as const),
  ]
  const settings: SharedSettings = {
    dialect,
    serviceRange,
    extraFlags,
    etcdServers: etcd.own === undefined ? etcd.servers : knownServers({ config, paths }),
    apiServers: [`${urlHost(address)}:${port}`, ...peers],
  }
  const texts = files.flatMap(([entry, path]) =>
    path === undefined ? [] : [[entry, readFileSync(path, 'utf8')] as const],
  )
  return { ...Object.fromEntries(texts), [settingsEntry]: JSON.stringify(settings) }
}

/** The authorities and keys, and the settings. Throws a ClusterError when an entry is missing. */
export function parseSharedFiles(files: SharedFiles): {
  readonly pki: SharedPki
  readonly settings: SharedSettings
  /** File below the pki folder -> text. */
  readonly etcdFiles: Readonly<Record<string, string>>
  /** Of an etcd that the cluster runs itself. */
  readonly etcdAuthority: Authority | undefined
} {
  const text = (entry: string): string => {
    const found = files[entry]
    if (found !== undefined) return found
    throw new ClusterError('failed', `the shared certificates have no entry ${entry}`, {
      hint: 'upload them again on the cluster: skiff token create --control-plane',
    })
  }
  const authority = (name: string) =>
    loadAuthority({ certificatePem: text(`${name}.crt`), privateKeyPem: text(`${name}.key`) })
  const tokenKey = text('sa.key')
  const etcdFiles = Object.entries(etcdEntries).flatMap(([entry, file]) => {
    const found = files[entry]
    return found === undefined ? [] : [[file, found] as const]
  })
  return {
    pki: {
      authority: authority('ca'),
      frontProxyAuthority: authority('front-proxy-ca'),
      serviceAccountKey: {
        privateKeyPem: tokenKey,
        publicKeyPem: publicKeyPem(parsePrivateKey(tokenKey).publicKey),
      },
    },
    settings: JSON.parse(text(settingsEntry)) as SharedSettings,
    etcdFiles: Object.fromEntries(etcdFiles),
    etcdAuthority: files['etcd-ca.key'] === undefined ? undefined : authority('etcd-ca'),
  }
}
