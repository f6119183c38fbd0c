/** Flags of the etcd that envtest starts, as etcd spells them (upstream: etcd server/embed/config.go). */
import type { ComponentDeclaration } from '../components/component-base/component.ts'
import { defineFlags, flag } from '../components/component-base/flags.ts'
import { idleFlags } from './idle-flags.ts'
import type { IdleFlagNames } from './idle-flags.ts'

export const idleEtcdFlags: IdleFlagNames = {
  switches: [
    'auto-tls',
    'client-cert-auth',
    'enable-pprof',
    'force-new-cluster',
    'peer-auto-tls',
    'peer-client-cert-auth',
    'pre-vote',
    'strict-reconfig-check',
  ],
  values: [
    'advertise-client-urls',
    'auto-compaction-mode',
    'auto-compaction-retention',
    'backend-batch-interval',
    'backend-batch-limit',
    'backend-bbolt-freelist-type',
    'cert-file',
    'cipher-suites',
    'cors',
    'election-timeout',
    'grpc-keepalive-interval',
    'grpc-keepalive-min-time',
    'grpc-keepalive-timeout',
    'heartbeat-interval',
    'host-whitelist',
    'initial-advertise-peer-urls',
    'initial-cluster',
    'initial-cluster-state',
    'initial-cluster-token',
    'key-file',
    'listen-metrics-urls',
    'listen-peer-urls',
    'log-format',
    'log-outputs',
    'logger',
    'max-concurrent-streams',
    'max-request-bytes',
    'max-snapshots',
    'max-txn-ops',
    'max-wals',
    'metrics',
    'name',
    'peer-cert-file',
    'peer-key-file',
    'peer-trusted-ca-file',
    'quota-backend-bytes',
    'snapshot-count',
    'tls-min-version',
    'trusted-ca-file',
    'wal-dir',
  ],
}

export const etcdFlags = defineFlags({
  'listen-client-urls': flag.list('URLs at which it tells its health; http only.', [
    'http://localhost:2379',
  ]),
  'data-dir': flag.string(
    'Folder of the data, in which the API server keeps its store.',
    'default.etcd',
  ),
  'unsafe-no-fsync': flag.bool('The API server does not wait until writes are on the disk.', false),
  ...idleFlags(idleEtcdFlags),
})

export const etcd: ComponentDeclaration<typeof etcdFlags> = {
  name: 'etcd',
  description:
    'Stands where envtest starts etcd. It holds no keys: it tells its health, and kube-apiserver where to keep its store.',
  examples: ['etcd --listen-client-urls=http://127.0.0.1:2379 --data-dir=/tmp/data'],
  flags: etcdFlags,
}
