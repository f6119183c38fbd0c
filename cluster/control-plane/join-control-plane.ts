/** Joining: the configuration and the pki of a further machine of a control plane. */
import { isIP } from 'node:net'
import { join as joinPath } from 'node:path'
import { issuePki } from '../../certs/pki.ts'
import type { Clock } from '../../components/component-base/clock.ts'
import { ClusterError } from '../cluster-error.ts'
import type { ClusterConfig } from '../plan/cluster-config.ts'
import { caHashOf } from '../plan/ca-hash.ts'
import { choosePort, freePorts } from '../plan/ports.ts'
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
  readonly paths: StatePaths
  readonly clock: Clock
}

/**
 * One API server on the cluster's etcd, behind a load balancer of this machine that passes on to those of the other machines,
 * too: components and nodes that use it survive the loss of any of them.
 */
export async function joinControlPlane(
  options: JoinOptions,
): Promise<{ config: ClusterConfig; pki: ClusterPki }> {
  const { name, join, paths, clock, address } = options
  if (address === undefined || isIP(address) === 0) {
    throw new ClusterError('usage', 'skiff up --control-plane needs --address', {
      hint: 'give it the address of this machine at which the others reach it',
    })
  }
  const { pki, settings, etcdFiles } = parseSharedFiles(await fetchCertificates(join, clock))
  const port = await choosePort(address, options.port)
  const [own = 0] = await freePorts(address, 1)
  const file = (path: string): string | undefined =>
    etcdFiles[path] === undefined ? undefined : joinPath(paths.pki, path)
  const { etcdServers, apiServers, ...same } = settings
  const config: ClusterConfig = {
    name,
    id: clock.uuid(),
    ...same,
    address,
    port,
    caHash: caHashOf(pki.authority),
    nodes: [],
    etcd: {
      servers: etcdServers,
      files: {
        caFile: file('etcd/ca.crt'),
        certFile: file('apiserver-etcd-client.crt'),
        keyFile: file('apiserver-etcd-client.key'),
      },
    },
    apiServers: [{ address, port: own }],
    peers: apiServers,
  }
  const issued = issuePki(pki, { apiServer: apiServerNames(config), nowMs: clock.now() })
  return { config, pki: { ...issued, etcdFiles } }
}
