/**
 * Flags of the kube-apiserver that envtest starts: those of our API server, four of upstream's that find files and the store, and
 * upstream's others, which have no effect. Names and kinds as in release 1.32 (upstream: cmd/kube-apiserver/app/options,
 * pkg/controlplane/apiserver/options, staging apiserver pkg/server/options, component-base logs and metrics).
 */
import { apiServer, apiServerFlags } from '../components/api-server/configuration/options.ts'
import type { ComponentDeclaration } from '../components/component-base/component.ts'
import { defineFlags, flag } from '../components/component-base/flags.ts'
import { idleFlags } from './idle-flags.ts'
import type { IdleFlagNames } from './idle-flags.ts'

const auditBackends = ['log', 'webhook']

export const idleServerFlags: IdleFlagNames = {
  switches: [
    'allow-privileged',
    'contention-profiling',
    'disable-http2-serving',
    'enable-garbage-collector',
    'enable-logs-handler',
    'log-json-split-stream',
    'log-text-split-stream',
    'permit-address-sharing',
    'permit-port-sharing',
    'profiling',
    'service-account-extend-token-expiration',
    'watch-cache',
    ...auditBackends.flatMap((name) => [
      `audit-${name}-batch-throttle-enable`,
      `audit-${name}-truncate-enabled`,
    ]),
  ],
  values: [
    'admission-control',
    'allow-metric-labels',
    'allow-metric-labels-manifest',
    'audit-log-batch-max-size',
    'audit-webhook-batch-initial-backoff',
    ...auditBackends.flatMap((name) => [
      `audit-${name}-batch-buffer-size`,
      `audit-${name}-batch-max-wait`,
      `audit-${name}-batch-throttle-burst`,
      `audit-${name}-batch-throttle-qps`,
      `audit-${name}-truncate-max-batch-size`,
      `audit-${name}-truncate-max-event-size`,
      `audit-${name}-version`,
    ]),
    'cloud-config',
    'cloud-provider',
    'cors-allowed-origins',
    'debug-socket-path',
    'default-not-ready-toleration-seconds',
    'default-unreachable-toleration-seconds',
    'default-watch-cache-size',
    'delete-collection-workers',
    'disabled-metrics',
    'emulated-version',
    'etcd-cafile',
    'etcd-certfile',
    'etcd-keyfile',
    'etcd-prefix',
    'etcd-servers-overrides',
    'external-hostname',
    'http2-max-streams-per-connection',
    // Gone since 1.24; older suites pass them.
    'insecure-bind-address',
    'insecure-port',
    'kubelet-port',
    'kubelet-preferred-address-types',
    'kubelet-read-only-port',
    'kubelet-timeout',
    'kubernetes-service-node-port',
    'log-flush-frequency',
    'log-json-info-buffer-size',
    'log-text-info-buffer-size',
    'logging-format',
    'max-connection-bytes-per-sec',
    'min-request-timeout',
    'peer-advertise-ip',
    'peer-advertise-port',
    'peer-ca-file',
    'service-account-jwks-uri',
    'service-account-max-token-expiration',
    'service-account-signing-endpoint',
    'storage-backend',
    'storage-initialization-timeout',
    'storage-media-type',
    'strict-transport-security-directives',
    'tls-cipher-suites',
    'tls-min-version',
    'tls-sni-cert-key',
    'tracing-config-file',
    'vmodule',
    'watch-cache-sizes',
  ],
}

export const kubeApiServerFlags = defineFlags({
  ...apiServerFlags,
  'advertise-address': flag.string(
    'Address members of the cluster reach the server at; default --bind-address, unless that is all addresses.',
    '',
  ),
  'etcd-servers': flag.list(
    'URLs of the etcd of the same folder, whose data folder holds the store. Default: --store.',
    [],
  ),
  'cert-dir': flag.string(
    'Folder with apiserver.crt and apiserver.key, when --tls-cert-file names none; a self-signed pair is made if they are missing.',
  ),
  'with-controllers': flag.bool(
    'Run the controller manager, the scheduler and a simulated node beside the server.',
    false,
  ),
  ...idleFlags(idleServerFlags),
})

export const kubeApiServer: ComponentDeclaration<typeof kubeApiServerFlags> = {
  ...apiServer,
  name: 'kube-apiserver',
  examples: [
    'kube-apiserver --etcd-servers=http://127.0.0.1:2379 --cert-dir=/tmp/certificates --secure-port=6443',
  ],
  flags: kubeApiServerFlags,
}
