/** The etcd members that a cluster runs: flags of etcd itself, with TLS and client certificates on every port but that of health. */
import { join } from 'node:path'
import { urlHost } from './cluster-config.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { argsOf } from './component-spec.ts'
import type { ComponentSpec } from './component-spec.ts'
import { etcdPkiFolder, etcdServersPath, etcdServersText } from './etcd-config.ts'
import type { EtcdMember } from './etcd-config.ts'
import type { StatePaths } from '../state/state-dir.ts'

export function planEtcd(config: ClusterConfig, paths: StatePaths): ComponentSpec[] {
  const { own, servers = [] } = config.etcd ?? {}
  if (own === undefined) return []
  const host = urlHost(config.address)
  const clientUrl = ({ clientPort }: EtcdMember): string => `https://${host}:${clientPort}`
  const peerUrl = ({ peerPort }: EtcdMember): string => `https://${host}:${peerPort}`
  const pki = (file: string): string => join(paths.pki, etcdPkiFolder, file)
  const ca = pki('ca.crt')
  const serversFile: ComponentSpec['files'] = [
    { kind: 'text', path: etcdServersPath(paths), text: etcdServersText(servers) },
  ]
  return own.members.map((member, index) => {
    const { name, metricsPort } = member
    const data = join(paths.dir, 'etcd', name)
    const metricsUrl = `http://127.0.0.1:${metricsPort}`
    const flags = {
      name,
      'data-dir': data,
      'listen-client-urls': clientUrl(member),
      'advertise-client-urls': clientUrl(member),
      'listen-peer-urls': peerUrl(member),
      'initial-advertise-peer-urls': peerUrl(member),
      'initial-cluster':
        own.joined ?? own.members.map((one) => `${one.name}=${peerUrl(one)}`).join(),
      'initial-cluster-state': own.joined === undefined ? 'new' : 'existing',
      'initial-cluster-token': config.id,
      'listen-metrics-urls': metricsUrl,
      'cert-file': pki('server.crt'),
      'key-file': pki('server.key'),
      'trusted-ca-file': ca,
      'client-cert-auth': 'true',
      'peer-cert-file': pki('peer.crt'),
      'peer-key-file': pki('peer.key'),
      'peer-trusted-ca-file': ca,
      'peer-client-cert-auth': 'true',
      logger: 'zap',
    }
    return {
      name,
      program: 'etcd',
      executable: own.binary,
      healthUrl: `${metricsUrl}/health`,
      nodeOptions: [],
      args: argsOf('etcd', flags, config),
      files: index === 0 ? serversFile : [],
      folders: [data],
      certificates: ['etcd/server', 'etcd/peer'],
      dependsOn: [],
    }
  })
}
