/** Flags of the API server, spelled as upstream's kube-apiserver spells them. */
import { defineFlags, flag, type FlagValues } from '../component-base/flags.ts'

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
  dialect: flag.string('Names that carry the product name.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
  'anonymous-auth': flag.bool('Requests without credentials act as system:anonymous.', true),
  'enable-bootstrap-token-auth': flag.bool('Accept bootstrap tokens.', false),
  'service-account-key-file': flag.list(
    'Keys that verify service account tokens, PEM; repeatable.',
    [],
  ),
  'service-account-signing-key-file': flag.string('Key that signs service account tokens, PEM.'),
  'service-account-issuer': flag.string(
    'Issuer of service account tokens.',
    'https://kubernetes.default.svc.cluster.local',
  ),
  'service-account-lookup': flag.bool('Refuse tokens of deleted service accounts.', true),
  'api-audiences': flag.list('Audiences the server accepts; default: the issuer.', []),
  'authorization-mode': flag.string('Authorizers in order.', 'AlwaysAllow'),
  'enable-admission-plugins': flag.list('Admission plugins beyond the default ones.', []),
  'disable-admission-plugins': flag.list('Default admission plugins to leave out.', []),
  'service-cluster-ip-range': flag.string('Addresses of Services.', '10.96.0.0/16'),
  'service-node-port-range': flag.string('Ports of NodePort Services.', '30000-32767'),
  'kubelet-client-certificate': flag.string('Certificate shown to node agents, PEM.'),
  'kubelet-client-key': flag.string('Key of that certificate, PEM.'),
  'kubelet-certificate-authority': flag.string('Authority of node agents, PEM.'),
  'requestheader-client-ca-file': flag.string('Authority of authenticating proxies, PEM.'),
  'requestheader-allowed-names': flag.list('Common names such proxies may have; empty: any.', []),
  'requestheader-username-headers': flag.list('Headers that may hold the user name.', []),
  'requestheader-group-headers': flag.list('Headers that hold group names.', []),
  'requestheader-extra-headers-prefix': flag.list('Prefixes of headers with extra values.', []),
  'proxy-client-cert-file': flag.string('Certificate shown to extension API servers, PEM.'),
  'proxy-client-key-file': flag.string('Key of that certificate, PEM.'),
  'runtime-config': flag.string('API versions to turn on or off: key=value,...', ''),
  'feature-gates': flag.string('Features to turn on or off: name=bool,...', ''),
  'audit-log-path': flag.string('File that gets a line for each request; - for standard output.'),
  'request-timeout': flag.duration('Time a request that is not long-running may take.', 60_000),
  'max-requests-inflight': flag.int('Most reading requests at once; 0 is no limit.', 400),
  'max-mutating-requests-inflight': flag.int('Most changing requests at once; 0 is no limit.', 200),
  'event-ttl': flag.duration('How long Events are kept.', 3_600_000),
  'shutdown-delay-duration': flag.duration('Time between failing /readyz and closing.', 0),
  'livez-grace-period': flag.duration('Time start-up may take before /livez fails.', 0),
})

export type ApiServerOptions = FlagValues<typeof apiServerFlags>
