/** Flags of the load balancer. */
import type { ComponentDeclaration } from '../component-base/component.ts'
import { defineFlags, flag } from '../component-base/flags.ts'

export const loadBalancerFlags = defineFlags({
  'bind-address': flag.string('Address that it listens on for clients.', '127.0.0.1'),
  port: flag.int('Port that it listens on for clients; 0 picks a free port.', 6443, { least: 0 }),
  'backends-file': flag.string(
    'File with the API servers, one HOST:PORT a line; # begins a comment. Read again when it changes.',
  ),
  'certificate-authority': flag.string(
    'CAs of the API servers, PEM, which readiness checks verify. Read when it starts.',
  ),
  'tls-server-name': flag.string(
    'Name or address that the certificate of an API server must hold: what clients of the balancer verify. Default: the host in the file.',
  ),
  'check-interval': flag.duration('Time between readiness checks of a backend.', 500, {
    least: 10,
  }),
  'check-timeout': flag.duration('How long a backend may take to answer a check.', 2000, {
    least: 10,
  }),
  'healthy-threshold': flag.int('Checks in a row after which a backend is ready again.', 1, {
    least: 1,
  }),
  'unhealthy-threshold': flag.int(
    'Failed checks in a row after which a backend gets no new connections.',
    2,
    { least: 1 },
  ),
  'connect-timeout': flag.duration(
    'How long a connection to a backend may take before the next backend is tried.',
    2000,
    { least: 10 },
  ),
  'max-connections': flag.int('Open connections of clients; further ones are closed.', 10_000, {
    least: 1,
  }),
  'drain-timeout': flag.duration(
    'How long connections may go on after it was asked to stop; then they are cut.',
    5000,
    { least: 0 },
  ),
  'metrics-bind-address': flag.string(
    'HOST:PORT of /metrics, /healthz and /readyz, over plain HTTP; port 0 picks a free one.',
    '127.0.0.1:0',
  ),
})

/** As its help shows it. */
export const loadBalancer: ComponentDeclaration<typeof loadBalancerFlags> = {
  name: 'load-balancer',
  description:
    'Passes TCP connections on to the API servers that are ready. TLS ends at the API server, which sees the client certificate.',
  examples: [
    'load-balancer --port 6443 --backends-file backends.txt --certificate-authority pki/ca.crt',
  ],
  flags: loadBalancerFlags,
}
