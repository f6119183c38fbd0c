/** Flags of the node agent, named as upstream's kubelet (and kubeadm join) names them. */
import type { ComponentDeclaration } from '../component-base/component.ts'
import { featureGateHelp } from '../api/feature-gates.ts'
import { defineFlags, flag } from '../component-base/flags.ts'

export const nodeAgentFlags = defineFlags({
  dialect: flag.string('Whose names the cluster uses.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),

  'node-name': flag.string('Name of the node; default --hostname-override.'),
  'hostname-override': flag.string('Name of the node; default the host name, in lower case.'),
  nodes: flag.int(
    'How many simulated nodes this process carries, named <node-name>-0 and so on.',
    0,
  ),

  kubeconfig: flag.string(
    'Server and credentials; written after a join. Default kubeconfig in --root-dir.',
  ),
  'bootstrap-kubeconfig': flag.string('Kubeconfig with a token, to join with.'),
  server: flag.string('URL of the API server to join.'),
  'bootstrap-token': flag.string('Token to join with: id.secret. Better in the --config file.'),
  'discovery-token-ca-cert-hash': flag.list(
    "Pin of the cluster's authority: sha256:<hex of its SubjectPublicKeyInfo>. Repeatable.",
    [],
  ),
  'rotate-certificates': flag.bool('Renew the client certificate in time.', true),
  'rotate-server-certificates': flag.bool(
    'Have the serving certificate signed by the cluster (the request needs approval).',
    false,
  ),

  'root-dir': flag.string("Folder of the agent's files.", '/var/lib/kubelet'),
  'cert-dir': flag.string('Folder of its certificates; default pki in --root-dir.'),

  address: flag.string('Address its server listens on.', '127.0.0.1'),
  port: flag.int('Port of its server; 0 picks a free one.', 10250),
  'tls-cert-file': flag.string('Serving certificate; default a self-signed one.'),
  'tls-private-key-file': flag.string('Its key.'),
  'client-ca-file': flag.string(
    "Authorities of client certificates that its server accepts; default the cluster's.",
  ),

  'node-ip': flag.string('Address reported for the node; default --address.'),
  'node-labels': flag.map('Labels to register with, such as topology and instance type.', {}),
  'register-node': flag.bool('Register the node with the API server.', true),
  'register-with-taints': flag.list('Taints to register with: key=value:Effect.', []),
  'register-schedulable': flag.bool('Register as schedulable.', true, {
    deprecated: 'give --register-with-taints instead.',
  }),
  'provider-id': flag.string('Identity of the node at its provider.'),
  'max-pods': flag.int('How many pods the node takes.', 110),
  'pod-cidr': flag.string("Range of pod addresses; default the node's spec.podCIDR."),
  capacity: flag.map('What a simulated node has, such as cpu=4,memory=8Gi; default the host.', {}),
  'system-reserved': flag.map('Resources kept from pods for the system.', {}),
  'kube-reserved': flag.map('Resources kept from pods for the agent.', {}),
  'eviction-hard': flag.string(
    'Thresholds of pressure: memory.available, nodefs.available, pid.available.',
    'memory.available<100Mi',
  ),

  'allowed-unsafe-sysctls': flag.list(
    'Unsafe sysctls that pods may set: names, or beginnings that end with *.',
    [],
  ),

  'node-status-update-frequency': flag.duration('How often the node is looked at.', 10_000),
  'node-lease-duration-seconds': flag.int(
    "How long the node's lease holds; it is renewed four times in that time.",
    40,
  ),
  'event-qps': flag.int('Events a second at most; 0 means no limit.', 50),
  'event-burst': flag.int('Events at once at most.', 100),
  'show-hidden-metrics-for-version': flag.string(
    'The previous release, to show metrics that are hidden since this one.',
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
