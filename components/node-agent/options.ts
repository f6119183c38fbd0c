/** Flags of the node agent, named as upstream's kubelet (and kubeadm join) names them. */
import type { ComponentDeclaration } from '../component-base/component.ts'
import { featureGateHelp } from '../api/feature-gates.ts'
import { defineFlags, flag } from '../component-base/flags.ts'

export const nodeAgentFlags = defineFlags({
  dialect: flag.string(
    'Dialect of the cluster: the names of its API groups, labels and namespaces.',
    'kubernetes',
    {
      choices: ['kubernetes', 'svc'],
    },
  ),

  'node-name': flag.string('Name of the node; default --hostname-override.'),
  'hostname-override': flag.string('Name of the node; default the host name, in lower case.'),
  nodes: flag.int(
    'Number of simulated nodes in this process: NODE-NAME-0, NODE-NAME-1 and so on.',
    0,
  ),

  kubeconfig: flag.string(
    'Kubeconfig of the agent, written after a join. Default: kubeconfig in --root-dir.',
  ),
  'bootstrap-kubeconfig': flag.string('Kubeconfig with the bootstrap token to join with.'),
  server: flag.string('URL of the API server to join.'),
  'tls-server-name': flag.string(
    "Name that the API server's certificate must hold. Default: the host of its URL.",
  ),
  'bootstrap-token': flag.string(
    'Bootstrap token to join with, ID.SECRET. Prefer the --config file, which other users cannot read.',
  ),
  'discovery-token-ca-cert-hash': flag.list(
    "Hash of the CA's public key, sha256:HEX (SubjectPublicKeyInfo). Repeatable.",
    [],
  ),
  'rotate-certificates': flag.bool('Renew the client certificate before it expires.', true),
  'rotate-server-certificates': flag.bool(
    'Request the serving certificate from the cluster; the request needs approval.',
    false,
  ),

  'root-dir': flag.string("Folder of the agent's files.", '/var/lib/kubelet'),
  'cert-dir': flag.string('Folder of its certificates; default pki in --root-dir.'),

  address: flag.string('Address its server listens on.', '127.0.0.1'),
  port: flag.int('Port of its server; 0 picks a free one.', 10250),
  'tls-cert-file': flag.string('Serving certificate; default a self-signed one.'),
  'tls-private-key-file': flag.string('Its key.'),
  'client-ca-file': flag.string(
    "CAs of the client certificates that its server accepts, PEM. Default: the cluster's CA.",
  ),

  'node-ip': flag.string('Address reported for the node; default --address.'),
  'node-labels': flag.map('Labels to register with, such as topology and instance type.', {}),
  'register-node': flag.bool('Register the node with the API server.', true),
  'register-with-taints': flag.list('Taints to register with: key=value:Effect.', []),
  'register-schedulable': flag.bool('Register as schedulable.', true, {
    deprecated: 'give --register-with-taints instead.',
  }),
  'provider-id': flag.string('Identity of the node at its provider.'),
  'max-pods': flag.int('Most pods on the node.', 110),
  'pod-cidr': flag.string("Range of pod addresses; default the node's spec.podCIDR."),
  capacity: flag.map(
    "Capacity of a simulated node, such as cpu=4,memory=8Gi. Default: the host's.",
    {},
  ),
  'system-reserved': flag.map('Resources reserved for the system.', {}),
  'kube-reserved': flag.map('Resources reserved for the agent.', {}),
  'eviction-hard': flag.string(
    'Eviction thresholds: memory.available, nodefs.available, pid.available.',
    'memory.available<100Mi',
  ),

  'usage-file': flag.string(
    'File of rules for what simulated containers use whose pods have no annotation for it, read again when it changes.',
  ),

  'allowed-unsafe-sysctls': flag.list(
    'Unsafe sysctls that pods may set: names, or prefixes that end with *.',
    [],
  ),

  'node-status-update-frequency': flag.duration(
    'How often the agent checks the node; it writes a status that has changed.',
    10_000,
  ),
  'node-lease-duration-seconds': flag.int(
    "Duration of the node's lease in seconds. The agent renews it four times in that time.",
    40,
  ),
  'event-qps': flag.int('Most events a second; 0 means no limit.', 50),
  'event-burst': flag.int('Most events in a burst.', 100),
  'show-hidden-metrics-for-version': flag.string(
    'Also show the metrics that this release hides. The only valid value is the previous release.',
    '',
  ),
  'feature-gates': flag.string(
    ['Gate=true or false, comma separated.', ...featureGateHelp()].join('\n        '),
    '',
  ),
})

/** As its help shows it. */
export const nodeAgent: ComponentDeclaration<typeof nodeAgentFlags> = {
  name: 'node-agent',
  description:
    'Joins a cluster as a node, or as many simulated ones, and runs the pods bound to it.',
  examples: [
    'node-agent --server https://127.0.0.1:6443 --bootstrap-token abcdef.0123456789abcdef ' +
      '--discovery-token-ca-cert-hash sha256:... --node-name n1 --root-dir ./n1',
  ],
  flags: nodeAgentFlags,
}
