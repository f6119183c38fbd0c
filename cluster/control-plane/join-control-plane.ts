/** Joining: the configuration and the pki of a further machine of a control plane. */
import { isIP } from 'node:net'
import { join as joinPath } from 'node:path'
import { createEtcdPki } from '../../certs/etcd-pki.ts'
import { issuePki } from '../../certs/pki.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { caHashOf } from '../plan/ca-hash.ts'
import type { EtcdConfig } from '../plan/etcd-config.ts'
import { choosePort, freePorts, wishedPorts } from '../plan/ports.ts'
import { apiServerNames } from '../plan/prepare.ts'
import type { ClusterPki } from '../plan/prepare.ts'
import type { StatePaths } from '../state/state-dir.ts'
import { fetchCertificates } from './fetch-certificates.ts'
import type { ControlPlaneJoin } from './fetch-certificates.ts'
import { parseSharedFiles } from './shared-files.ts'

export interface JoinOptions {
  readonly name: string
  readonly join: ControlPlaneJoin
  /** Of this machine; others reach its load balancer there. */
  readonly address: string | undefined
  readonly port: number | undefined
  /** 0: no member of etcd here. Default: one where the cluster runs its etcd itself. */
  readonly etcdMembers: number | undefined
  readonly etcdBinary: string | undefined
  readonly paths: StatePaths
  readonly clock: Clock
}

/** The shared files, as a machine reads them. */
type Shared = ReturnType<typeof parseSharedFiles>

/** A member of etcd on this machine, or the etcd that is there. */
async function etcdOf(
  { settings, etcdFiles, etcdAuthority }: Shared,
  options: JoinOptions & { readonly address: string; readonly port: number },
): Promise<{ readonly etcd: EtcdConfig; readonly made: Pick<ClusterPki, 'etcd' | 'etcdFiles'> }> {
  const { address, port, etcdMembers, etcdBinary: binary, clock, paths } = options
  const { etcdServers: servers } = settings
  const isAsked = etcdMembers === 1 || binary !== undefined
  if (etcdAuthority === undefined && isAsked) {
    throw new ClusterError('usage', 'the cluster uses an etcd whose members it does not manage', {
      hint: 'omit --etcd-members and --etcd-binary, and add a member with: etcdctl member add',
    })
  }
  if (etcdAuthority !== undefined && etcdMembers !== 0) {
    const pki = createEtcdPki({
      addresses: [address],
      nowMs: clock.now(),
      authority: etcdAuthority,
    })
    const { joinEtcd } = await import('../etcd/join-etcd.ts')
    const etcd = await joinEtcd({ address, port, servers, pki, binary, clock })
    return { etcd, made: { etcd: pki } }
  }
  const file = (path: string): string | undefined =>
    etcdFiles[path] === undefined ? undefined : joinPath(paths.pki, path)
  const files = {
    caFile: file('etcd/ca.crt'),
    certFile: file('apiserver-etcd-client.crt'),
    keyFile: file('apiserver-etcd-client.key'),
  }
  return { etcd: { servers, files }, made: { etcdFiles } }
}

/**
 * One API server on the cluster's etcd, behind a load balancer of this machine that passes on to those of the other machines,
 * too: components and nodes that use it survive the loss of any of them.
 */
export async function joinControlPlane(
  options: JoinOptions,
): Promise<{ config: ClusterConfig; pki: ClusterPki }> {
  const { name, join, clock, address } = options
  if (address === undefined || isIP(address) === 0) {
    throw new ClusterError('usage', 'skiff up --control-plane needs --address', {
      hint: 'give it the address of this machine at which the others reach it',
    })
  }
  const shared = parseSharedFiles(await fetchCertificates(join, clock))
  const { pki, settings } = shared
  const port = await choosePort(address, options.port)
  const [own = 0] = await freePorts(address, wishedPorts({ address, port }, { apiServers: 1 }))
  const { etcdServers: _, apiServers, ...same } = settings
  const { etcd, made } = await etcdOf(shared, { ...options, address, port })
  const config: ClusterConfig = {
    name,
    id: clock.uuid(),
    ...same,
    address,
    port,
    caHash: caHashOf(pki.authority),
    nodes: [],
    etcd,
    apiServers: [{ address, port: own }],
    peers: apiServers,
  }
  const issued = issuePki(pki, { apiServer: apiServerNames(config), nowMs: clock.now() })
  return { config, pki: { ...issued, ...made } }
}
