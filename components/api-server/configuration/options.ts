/** Flags of the API server, spelled as upstream's kube-apiserver spells them. */
import type { ComponentDeclaration } from '../../component-base/component.ts'
import { featureGateHelp } from '../../api/feature-gates.ts'
import { defineFlags, flag, type FlagValues } from '../../component-base/flags.ts'
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
  'client-ca-file': flag.string('Authorities whose client certificates are accepted, PEM.'),
  store: flag.string('Where state is kept: sqlite:PATH or memory:.', 'memory:'),
  'quota-backend-bytes': flag.int(
    "Most bytes of the store's file; objects are refused beyond it. 0 is 2 GiB, a negative number no limit.",
    0,
  ),
  'watch-history-bytes': flag.int(
    'Most bytes of history that is kept in memory for watches and exact reads, beside its five minutes.',
    defaultHistoryBytes,
    { least: 0 },
  ),
  'etcd-healthcheck-timeout': flag.duration('Time the store has to answer the check etcd.', 2000),
  'etcd-readycheck-timeout': flag.duration(
    'Time the store has to answer the check etcd-readiness.',
    2000,
  ),
  'encryption-provider-config': flag.string(
    'EncryptionConfiguration: what is encrypted in the store, and with which keys.',
  ),
  'encryption-provider-config-automatic-reload': flag.bool(
    'Follow changes of that file without a restart.',
    false,
  ),
  dialect: flag.string('Names that carry the product name.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
  'anonymous-auth': flag.bool(
    'Requests without credentials act as system:anonymous; default: on, unless authorization is AlwaysAllow.',
  ),
  'authentication-config': flag.string(
    'AuthenticationConfiguration: issuers of tokens, and anonymous access; followed without a restart.',
  ),
  'egress-selector-config-file': flag.string(
    'EgressSelectorConfiguration: proxies between this server and nodes or webhooks.',
  ),
  'token-auth-file': flag.string('Static tokens: CSV of token, user name, uid and groups.'),
  'oidc-issuer-url': flag.string('OpenID Connect: the issuer, https only.'),
  'oidc-client-id': flag.string('OpenID Connect: the audience all tokens must be issued for.'),
  'oidc-username-claim': flag.string('OpenID Connect: the claim with the user name.', 'sub'),
  'oidc-username-prefix': flag.string(
    'OpenID Connect: text before user names; - for none; default: the issuer and #, unless the claim is email.',
  ),
  'oidc-groups-claim': flag.string('OpenID Connect: the claim with the groups.'),
  'oidc-groups-prefix': flag.string('OpenID Connect: text before group names.'),
  'oidc-required-claim': flag.list(
    'OpenID Connect: key=value that a token must hold; repeatable.',
    [],
  ),
  'oidc-ca-file': flag.string(
    "OpenID Connect: authority of the issuer, PEM; default: the host's own.",
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
  'service-account-lookup': flag.bool('Refuse tokens of deleted service accounts.', true),
  'api-audiences': flag.list('Audiences the server accepts; default: the issuer.', []),
  'authorization-mode': flag.string(
    'Authorizers in order: Node, RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny; default: AlwaysAllow.',
  ),
  'authorization-config': flag.string(
    'AuthorizationConfiguration: the authorizers, in place of the mode; followed without a restart.',
  ),
  'authorization-policy-file': flag.string('Policies of the mode ABAC, one JSON object a line.'),
  'authorization-webhook-config-file': flag.string(
    'Client configuration of the remote service of the mode Webhook.',
  ),
  'authorization-webhook-version': flag.string(
    'Version of the SubjectAccessReviews that are sent.',
    'v1beta1',
    { choices: ['v1', 'v1beta1'] },
  ),
  'authorization-webhook-cache-authorized-ttl': flag.duration(
    'How long a permission of the remote service is kept.',
    300_000,
  ),
  'authorization-webhook-cache-unauthorized-ttl': flag.duration(
    'How long another answer of the remote service is kept.',
    30_000,
  ),
  'authentication-token-webhook-config-file': flag.string(
    'Client configuration of the remote service that knows bearer tokens.',
  ),
  'authentication-token-webhook-version': flag.string(
    'Version of the TokenReviews that are sent.',
    'v1beta1',
    { choices: ['v1', 'v1beta1'] },
  ),
  'authentication-token-webhook-cache-ttl': flag.duration(
    'How long an answer about a token is kept.',
    120_000,
  ),
  'enable-admission-plugins': flag.list('Admission plugins beyond the default ones.', []),
  'disable-admission-plugins': flag.list('Default admission plugins to leave out.', []),
  'admission-control-config-file': flag.string(
    'AdmissionConfiguration: what admission plugins are told.',
  ),
  'service-cluster-ip-range': flag.string('Addresses of Services.', '10.96.0.0/16'),
  'service-node-port-range': flag.string('Ports of NodePort Services.', '30000-32767'),
  'kubelet-client-certificate': flag.string('Certificate shown to node agents, PEM.'),
  'kubelet-client-key': flag.string('Key of that certificate, PEM.'),
  'kubelet-certificate-authority': flag.string('Authority of node agents, PEM.'),
  'requestheader-client-ca-file': flag.string('Authority of authenticating proxies, PEM.'),
  'requestheader-allowed-names': flag.list('Common names such proxies may have; empty: any.', []),
  'requestheader-username-headers': flag.list('Headers that may hold the user name.', []),
  'requestheader-uid-headers': flag.list(
    'Headers that may hold the uid of the user; with the gate RemoteRequestHeaderUID.',
    [],
  ),
  'requestheader-group-headers': flag.list('Headers that hold group names.', []),
  'requestheader-extra-headers-prefix': flag.list('Prefixes of headers with extra values.', []),
  'proxy-client-cert-file': flag.string('Certificate shown to extension API servers, PEM.'),
  'proxy-client-key-file': flag.string('Key of that certificate, PEM.'),
  'enable-aggregator-routing': flag.bool(
    "Reach extension API servers at their endpoints instead of their Services' addresses.",
    false,
  ),
  'aggregator-reject-forwarding-redirect': flag.bool(
    'Answer 502 when an extension API server redirects.',
    true,
  ),
  'runtime-config': flag.string('API versions to turn on or off: key=value,...', ''),
  'feature-gates': flag.string(
    ['Features to turn on or off: name=bool,...', ...featureGateHelp()].join('\n        '),
    '',
  ),
  'show-hidden-metrics-for-version': flag.string(
    'The previous release, to show metrics that are hidden since this one.',
    '',
  ),
  'audit-log-path': flag.string('File that gets a line for each request; - for standard output.'),
  'audit-policy-file': flag.string(
    'What is recorded of which requests: a Policy. Without it: the metadata of every request.',
  ),
  'audit-log-format': flag.string('Form of the lines.', 'json', { choices: ['json', 'legacy'] }),
  'audit-log-mode': flag.string(
    'Whether answers wait for their records, and requests are refused without one (strict).',
    'blocking',
    { choices: ['batch', 'blocking', 'blocking-strict'] },
  ),
  'audit-log-maxsize': flag.int('Megabytes after which the file is set aside; 0 is 100.', 0),
  'audit-log-maxbackup': flag.int('How many files set aside are kept; 0 is all.', 0),
  'audit-log-maxage': flag.int('How many days they are kept; 0 is for ever.', 0),
  'audit-webhook-config-file': flag.string(
    'Client configuration of a service that gets the records, as EventLists.',
  ),
  'audit-webhook-mode': flag.string('As --audit-log-mode, for the webhook.', 'batch', {
    choices: ['batch', 'blocking', 'blocking-strict'],
  }),
  'audit-webhook-initial-backoff': flag.duration('How soon a failed call is repeated.', 10_000),
  'audit-webhook-batch-max-size': flag.int('The most records of one call.', 400),
  'audit-log-compress': flag.bool('Compress files set aside with gzip.', false),
  'request-timeout': flag.duration('Time a request that is not long-running may take.', 60_000),
  'max-requests-inflight': flag.int('Most reading requests at once; 0 is no limit.', 400),
  'max-mutating-requests-inflight': flag.int('Most changing requests at once; 0 is no limit.', 200),
  'enable-priority-and-fairness': flag.bool(
    'Both numbers together are shared out by FlowSchemas and PriorityLevelConfigurations, and requests may wait.',
    true,
  ),
  'event-ttl': flag.duration('How long Events are kept.', 3_600_000),
  'shutdown-delay-duration': flag.duration('Time between failing /readyz and closing.', 0),
  'livez-grace-period': flag.duration('Time start-up may take before /livez fails.', 0),
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
