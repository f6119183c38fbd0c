/** Etcd configuration: the etcd that holds a cluster's state: members of the cluster's own, or an existing one. */
import { join } from 'node:path'
import type { StatePaths } from '../state/state-dir.ts'

/** A member that the cluster runs on this machine. All listen at the cluster's address. */
export interface EtcdMember {
  /** `etcd-1`: of the component, and in etcd. */
  readonly name: string
  readonly clientPort: number
  readonly peerPort: number
  /** Of health and metrics, over plain HTTP on a loopback address. */
  readonly metricsPort: number
}

/** Files of a client of etcd, by absolute path. */
export interface EtcdClientFiles {
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

export interface EtcdConfig {
  /** Client URLs of the members when the cluster was made, such as https://127.0.0.1:2379. */
  readonly servers: readonly string[]
  /** Of an existing etcd; those of the cluster's own are in its pki. */
  readonly files?: EtcdClientFiles
  /** Absent: an existing etcd, which the cluster neither starts nor stops. */
  readonly own?: {
    readonly binary: string
    readonly members: readonly EtcdMember[]
    /** Of a machine whose member joined those of others: all of them then, as etcd's `initial-cluster`. */
    readonly joined?: string
  }
}

/** The file that names the members to the API servers, those of other machines too. */
export function etcdServersPath({ dir }: StatePaths): string {
  return join(dir, 'etcd-servers.txt')
}

export function etcdServersText(servers: readonly string[]): string {
  return servers.map((server) => `${server}\n`).join('')
}

/** Folder of the pki with what members need: kubeadm's names. */
export const etcdPkiFolder = 'etcd'

export function etcdMemberNames(etcd: EtcdConfig | undefined): string[] {
  return (etcd?.own?.members ?? []).map(({ name }) => name)
}

/** What an API server shows to etcd, and how it knows etcd. */
export function etcdClientFiles(etcd: EtcdConfig, { pki }: StatePaths): EtcdClientFiles {
  if (etcd.own === undefined) return etcd.files ?? {}
  return {
    caFile: join(pki, etcdPkiFolder, 'ca.crt'),
    certFile: join(pki, 'apiserver-etcd-client.crt'),
    keyFile: join(pki, 'apiserver-etcd-client.key'),
  }
}
