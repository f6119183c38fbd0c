/** Flags of the API server, spelled as upstream's kube-apiserver spells them. */
import { admissionPlugins, defaultAdmissionPlugins } from '../../api/admission-plugins.ts'
import type { ComponentDeclaration } from '../../component-base/component.ts'
import { featureGateHelp } from '../../api/feature-gates.ts'
import { defineFlags, flag, type FlagValues } from '../../component-base/flags.ts'
import { savedForms } from '../../store/saved-cluster.ts'
import { defaultHistoryBytes } from '../watch-cache/history.ts'

export const apiServerFlags = defineFlags({
  'secure-port': flag.int('Port of the HTTPS listener; 0 picks a free one.', 6443),
  'bind-address': flag.string('Address the listener binds to.', '127.0.0.1'),
  'advertise-address': flag.string(
    'Address members of the cluster reach the server at.',
    '127.0.0.1',
  ),
  'tls-cert-file': flag.string('Serving certificate, PEM.'),
  'tls-private-key-file': flag.string('Key of the serving certificate, PEM.'),
  'client-ca-file': flag.string('CAs of the client certificates that the server accepts, PEM.'),
  store: flag.string(
    "Store of the cluster's state: sqlite:PATH, etcd:URL,URL or memory:. Default: memory:, without --etcd-servers.",
  ),
  'etcd-servers': flag.list(
    'Addresses of the members of an etcd that holds the state, as https://HOST:PORT; as --store=etcd:.',
    [],
  ),
  'etcd-servers-file': flag.string(
    'File with such addresses, one a line, in place of those of --etcd-servers; read again when it changes.',
  ),
  'etcd-prefix': flag.string('Prefix of all keys in etcd.', '/registry'),
  'etcd-cafile': flag.string("CAs of etcd's certificates, PEM."),
  'etcd-certfile': flag.string('Client certificate for etcd, PEM.'),
  'etcd-keyfile': flag.string('Key of that client certificate, PEM.'),
  'etcd-servers-overrides': flag.list(
    'Built-in resources that lie in another etcd: group/resource#URL;URL, such as /events#https://127.0.0.1:2389. The core group has no name.',
    [],
  ),
  'etcd-compaction-interval': flag.duration(
    'How long the store keeps history, at least; 0 keeps all of it, or leaves compaction of etcd to others.',
    300_000,
  ),
  'etcd-count-metric-poll-period': flag.duration(
    'How often objects are counted for metrics; they are always up to date, and 0 turns the metric off.',
    60_000,
  ),
  'etcd-db-metric-poll-interval': flag.duration(
    "How often the store's size is asked for, for metrics; 0 turns the metric off.",
    30_000,
  ),
  'lease-reuse-duration-seconds': flag.int(
    'How long a lease of etcd is used for new Events, at most; they may live longer by that time.',
    60,
    { least: 0 },
  ),
  'storage-media-type': flag.string(
    'Form of built-in kinds in the store: application/json, or application/vnd.kubernetes.protobuf, the default in etcd. Either is read.',
  ),
  'quota-backend-bytes': flag.int(
    "Largest size of the store's file in bytes; a full store rejects writes of objects. 0 means 2 GiB, a negative number no limit.",
    0,
  ),
  'initial-state': flag.string(
    'Saved cluster (`skiff save`) that an empty store is filled with before the server starts.',
  ),
  'base-image': flag.string(
    'Base image of the build (`base-image-with-controllers.txt`), whose objects an empty store begins with; else the server writes them one by one. Only with flags that ask for the same objects.',
  ),
  'initial-state-only': flag.bool('Exit when --initial-state is stored.', false),
  'print-state': flag.string(
    'Write the content of the store to standard output, as a saved cluster without compression, and exit. The store is not changed.',
    undefined,
    { choices: savedForms },
  ),
  'unsafe-no-fsync': flag.bool(
    'Do not wait until writes are on the disk: for tests. A crash of the machine can damage the file.',
    false,
  ),
  'watch-history-bytes': flag.int(
    'Most bytes of history in memory for watches and exact reads; history also ends after five minutes.',
    defaultHistoryBytes,
    { least: 0 },
  ),
  'etcd-healthcheck-timeout': flag.duration('Timeout of the health check etcd.', 2000),
  'etcd-readycheck-timeout': flag.duration('Timeout of the health check etcd-readiness.', 2000),
  'encryption-provider-config': flag.string(
    'File with the EncryptionConfiguration: which resources are encrypted in the store, with which keys.',
  ),
  'encryption-provider-config-automatic-reload': flag.bool(
    'Reload that file when it changes.',
    false,
  ),
  dialect: flag.string('Dialect: the names of API groups, labels and namespaces.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
  'anonymous-auth': flag.bool(
    'Requests without credentials act as system:anonymous; default: on, unless authorization is AlwaysAllow.',
  ),
  'authentication-config': flag.string(
    'File with the AuthenticationConfiguration: token issuers and anonymous access. Reloaded when it changes.',
  ),
  'egress-selector-config-file': flag.string(
    'File with the EgressSelectorConfiguration: proxies between this server and nodes or webhooks.',
  ),
  'token-auth-file': flag.string(
    'File with static tokens: CSV of token, user name, uid and groups.',
  ),
  'oidc-issuer-url': flag.string('OpenID Connect: the issuer, https only.'),
  'oidc-client-id': flag.string(
    'OpenID Connect: the audience that every token must be issued for.',
  ),
  'oidc-username-claim': flag.string('OpenID Connect: the claim with the user name.', 'sub'),
  'oidc-username-prefix': flag.string(
    'OpenID Connect: prefix of user names; - means none. Default: the issuer and #, unless the claim is email.',
  ),
  'oidc-groups-claim': flag.string('OpenID Connect: the claim with the groups.'),
  'oidc-groups-prefix': flag.string('OpenID Connect: prefix of group names.'),
  'oidc-required-claim': flag.list(
    'OpenID Connect: key=value that a token must hold; repeatable.',
    [],
  ),
  'oidc-ca-file': flag.string(
    'OpenID Connect: CA of the issuer, PEM. Default: the CAs of the host.',
  ),
  'oidc-signing-algs': flag.list('OpenID Connect: accepted algorithms; default RS256.', []),
  'enable-bootstrap-token-auth': flag.bool('Accept bootstrap tokens.', false),
  'service-account-key-file': flag.list(
    'Keys that verify service account tokens, PEM; repeatable.',
    [],
  ),
  'service-account-signing-key-file': flag.string('Key that signs service account tokens, PEM.'),
  'service-account-issuer': flag.list(
    "Issuer of service account tokens; repeatable: the first signs, all are accepted; default: the URL of the API server's Service.",
    [],
  ),
  'service-account-lookup': flag.bool('Reject tokens of deleted service accounts.', true),
  'api-audiences': flag.list('Audiences the server accepts; default: the issuer.', []),
  'authorization-mode': flag.string(
    'Authorizers in order: Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny; default: AlwaysAllow.',
  ),
  'authorization-config': flag.string(
    'File with the AuthorizationConfiguration, instead of --authorization-mode. Reloaded when it changes.',
  ),
  'authorization-policy-file': flag.string(
    'File with the policies of the mode ABAC, one JSON object a line.',
  ),
  'authorization-webhook-config-file': flag.string(
    'Kubeconfig of the webhook of the mode Webhook.',
  ),
  'authorization-webhook-version': flag.string(
    'Version of the SubjectAccessReviews that the server sends.',
    'v1beta1',
    { choices: ['v1', 'v1beta1'] },
  ),
  'authorization-webhook-cache-authorized-ttl': flag.duration(
    "How long the webhook's permissions are cached.",
    300_000,
  ),
  'authorization-webhook-cache-unauthorized-ttl': flag.duration(
    "How long the webhook's other answers are cached.",
    30_000,
  ),
  'authentication-token-webhook-config-file': flag.string(
    'Kubeconfig of the webhook that authenticates bearer tokens.',
  ),
  'authentication-token-webhook-version': flag.string(
    'Version of the TokenReviews that the server sends.',
    'v1beta1',
    { choices: ['v1', 'v1beta1'] },
  ),
  'authentication-token-webhook-cache-ttl': flag.duration(
    "How long the webhook's answers are cached.",
    120_000,
  ),
  'enable-admission-plugins': flag.list(
    `Admission plugins to switch on besides the default ones, which are ${defaultAdmissionPlugins.join(', ')}. Plugins: ${admissionPlugins.join(', ')}. Their order here does not matter.`,
    [],
  ),
  'disable-admission-plugins': flag.list(
    `Default admission plugins to switch off: any of ${defaultAdmissionPlugins.join(', ')}.`,
    [],
  ),
  'admission-control-config-file': flag.string(
    'File with the AdmissionConfiguration: the configuration of admission plugins.',
  ),
  'service-cluster-ip-range': flag.string('IP range of Services.', '10.96.0.0/16'),
  'service-node-port-range': flag.string('Port range of NodePort Services.', '30000-32767'),
  'kubelet-client-certificate': flag.string('Client certificate for requests to node agents, PEM.'),
  'kubelet-client-key': flag.string('Key of that certificate, PEM.'),
  'kubelet-certificate-authority': flag.string("CA of the node agents' serving certificates, PEM."),
  'requestheader-client-ca-file': flag.string(
    'CA of the client certificates of authenticating proxies, PEM.',
  ),
  'requestheader-allowed-names': flag.list(
    'Common names of those certificates; empty allows any.',
    [],
  ),
  'requestheader-username-headers': flag.list('Headers that may hold the user name.', []),
  'requestheader-uid-headers': flag.list(
    'Headers that may hold the uid of the user; with the gate RemoteRequestHeaderUID.',
    [],
  ),
  'requestheader-group-headers': flag.list('Headers that hold group names.', []),
  'requestheader-extra-headers-prefix': flag.list('Prefixes of headers with extra values.', []),
  'proxy-client-cert-file': flag.string(
    'Client certificate for requests to extension API servers, PEM.',
  ),
  'proxy-client-key-file': flag.string('Key of that certificate, PEM.'),
  'enable-aggregator-routing': flag.bool(
    "Reach extension API servers at their endpoints instead of their Services' addresses.",
    false,
  ),
  'aggregator-reject-forwarding-redirect': flag.bool(
    'Answer 502 when an extension API server redirects.',
    true,
  ),
  'metrics-api': flag.bool(
    'Serve the metrics group, for which the server asks the node agents. Off where a metrics server brings it.',
    false,
  ),
  'runtime-config': flag.string('API versions to switch on or off: KEY=VALUE,...', ''),
  'feature-gates': flag.string(
    ['Features to turn on or off: name=bool,...', ...featureGateHelp()].join('\n        '),
    '',
  ),
  'show-hidden-metrics-for-version': flag.string(
    'Also show the metrics that this release hides. The only valid value is the previous release.',
    '',
  ),
  'audit-log-path': flag.string(
    'File of the audit log, one line a request; - means standard output.',
  ),
  'audit-policy-file': flag.string(
    'File with the audit Policy. Default: record the metadata of every request.',
  ),
  'audit-log-format': flag.string('Format of the lines.', 'json', { choices: ['json', 'legacy'] }),
  'audit-log-mode': flag.string(
    'batch: do not wait for records; blocking: answer after the record; blocking-strict: also reject a request that cannot be recorded.',
    'blocking',
    { choices: ['batch', 'blocking', 'blocking-strict'] },
  ),
  'audit-log-maxsize': flag.int('Size in megabytes at which the file is rotated; 0 means 100.', 0),
  'audit-log-maxbackup': flag.int('Number of rotated files to keep; 0 keeps all.', 0),
  'audit-log-maxage': flag.int('Days to keep rotated files; 0 keeps them for ever.', 0),
  'audit-webhook-config-file': flag.string(
    'Kubeconfig of the webhook that gets the records, as EventLists.',
  ),
  'audit-webhook-mode': flag.string('As --audit-log-mode, for the webhook.', 'batch', {
    choices: ['batch', 'blocking', 'blocking-strict'],
  }),
  'audit-webhook-initial-backoff': flag.duration('First back-off after a failed call.', 10_000),
  'audit-webhook-batch-max-size': flag.int('Most records in one call.', 400),
  'audit-log-compress': flag.bool('Compress rotated files with gzip.', false),
  'request-timeout': flag.duration('Timeout of requests, except long-running ones.', 60_000),
  'max-requests-inflight': flag.int(
    'Most read requests in flight; 0 means no limit. With priority and fairness, a part of all seats.',
    400,
  ),
  'max-mutating-requests-inflight': flag.int(
    'Most mutating requests in flight; 0 means no limit. With priority and fairness, the other part of all seats.',
    200,
  ),
  'enable-priority-and-fairness': flag.bool(
    'Share the sum of both limits out by FlowSchemas and PriorityLevelConfigurations, and queue requests.',
    true,
  ),
  'event-ttl': flag.duration('How long Events are kept.', 3_600_000),
  'endpoint-reconciler-type': flag.string(
    "Who is in the endpoints of the API server's Service, of several servers on an etcd: lease: those that are alive; master-count: the last --apiserver-count; none: they are not written.",
    'lease',
    { choices: ['lease', 'master-count', 'none'] },
  ),
  'apiserver-count': flag.int(
    'Number of API servers, with --endpoint-reconciler-type=master-count.',
    1,
    {
      least: 1,
    },
  ),
  'shutdown-delay-duration': flag.duration(
    'How long the server goes on serving after /readyz fails on shutdown.',
    0,
  ),
  'shutdown-send-retry-after': flag.bool(
    'On shutdown, go on listening until all requests in flight are answered, and answer new ones with 429 and Retry-After.',
    false,
  ),
  'shutdown-watch-termination-grace-period': flag.duration(
    'On shutdown, end watches one after another over most of this time, so that their clients do not all come to another server at once.',
    0,
    { least: 0 },
  ),
  'goaway-chance': flag.float(
    'Share of HTTP/2 requests whose connection is ended with GOAWAY, so that clients spread over several servers; 0 to 0.02.',
    0,
    { least: 0 },
  ),
  'livez-grace-period': flag.duration('How long the start may take before /livez fails.', 0),
})

export type ApiServerOptions = FlagValues<typeof apiServerFlags>

/** As its help shows it. */
export const apiServer: ComponentDeclaration<typeof apiServerFlags> = {
  name: 'api-server',
  description:
    'Serves the API over HTTPS and keeps its state in a store. Its health is at /livez and /readyz, its metrics at /metrics;\n' +
    '/healthz is deprecated since 1.16 and still served.',
  examples: [
    'api-server --store=sqlite:state.db --tls-cert-file=apiserver.crt --tls-private-key-file=apiserver.key --client-ca-file=ca.crt',
  ],
  flags: apiServerFlags,
}
