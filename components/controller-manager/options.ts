/** Flags of the controller manager, named as upstream's kube-controller-manager names them. */
import { featureGateHelp } from '../api/feature-gates.ts'
import { leaderElectionFlags } from '../client/leader-election-flags.ts'
import type { ComponentDeclaration } from '../component-base/component.ts'
import { defineFlags, flag } from '../component-base/flags.ts'
import type { FlagValues } from '../component-base/flags.ts'

const hour = 3_600_000

const generalFlags = defineFlags({
  dialect: flag.string(
    'Dialect of the cluster: the names of its API groups, labels and namespaces.',
    'kubernetes',
    {
      choices: ['kubernetes', 'svc'],
    },
  ),
  kubeconfig: flag.string('Kubeconfig with the API server and the credentials.'),
  master: flag.string('URL of the API server; overrides the one in --kubeconfig.'),
  'bind-address': flag.string('Address of the listener for health and metrics.', '127.0.0.1'),
  'secure-port': flag.int('Port of the listener. 0 picks a free port, -1 opens none.', 10257),
  'tls-cert-file': flag.string(
    'Serving certificate, PEM. Without it the component opens no listener.',
  ),
  'tls-private-key-file': flag.string('Key of the serving certificate, PEM.'),
  'client-ca-file': flag.string('CAs of the client certificates that the listener accepts, PEM.'),
  controllers: flag.list(
    "Controllers to run: '*' for all that are on by default, 'NAME' to add one, '-NAME' to leave one out. Names and aliases " +
      'are upstream’s; the log says why a chosen one does not run.',
    ['*'],
  ),
  'use-service-account-credentials': flag.bool(
    'Give each controller its own service account.',
    false,
  ),
  ...leaderElectionFlags('Run controllers', 'kube-controller-manager'),
  'feature-gates': flag.string(
    ['Features to turn on or off: name=bool,...', ...featureGateHelp()].join('\n        '),
    '',
  ),
  'show-hidden-metrics-for-version': flag.string(
    'Also show the metrics that this release hides. The only valid value is the previous release.',
    '',
  ),
})

const credentialFlags = defineFlags({
  'cluster-signing-cert-file': flag.string('CA that signs the certificates of all signers, PEM.'),
  'cluster-signing-key-file': flag.string('Its key.'),
  'cluster-signing-kubelet-serving-cert-file': flag.string(
    'CA of the signer kubelet-serving alone, PEM.',
  ),
  'cluster-signing-kubelet-serving-key-file': flag.string('Its key.'),
  'cluster-signing-kubelet-client-cert-file': flag.string(
    'CA of the signer kube-apiserver-client-kubelet alone, PEM.',
  ),
  'cluster-signing-kubelet-client-key-file': flag.string('Its key.'),
  'cluster-signing-kube-apiserver-client-cert-file': flag.string(
    'CA of the signer kube-apiserver-client alone, PEM.',
  ),
  'cluster-signing-kube-apiserver-client-key-file': flag.string('Its key.'),
  'cluster-signing-legacy-unknown-cert-file': flag.string(
    'CA of the signer legacy-unknown alone, PEM.',
  ),
  'cluster-signing-legacy-unknown-key-file': flag.string('Its key.'),
  'cluster-signing-duration': flag.duration(
    'Longest lifetime of signed certificates.',
    8760 * hour,
  ),
  'root-ca-file': flag.string('CA that the controller manager publishes in every namespace, PEM.'),
  'service-account-private-key-file': flag.string(
    'Key that signs the service account tokens in Secrets, PEM.',
  ),
})

const nodeFlags = defineFlags({
  'node-monitor-period': flag.duration(
    'How often the controller checks the health of nodes.',
    5000,
  ),
  'node-monitor-grace-period': flag.duration(
    'How long a node may be silent before it is marked unhealthy.',
    50_000,
  ),
  'node-startup-grace-period': flag.duration(
    'How long a new node may be silent before it is marked unhealthy.',
    60_000,
  ),
  'node-eviction-rate': flag.float(
    'Nodes a second whose pods are evicted, in a healthy zone.',
    0.1,
  ),
  'secondary-node-eviction-rate': flag.float(
    'Nodes a second whose pods are evicted, in an unhealthy zone.',
    0.01,
  ),
  'unhealthy-zone-threshold': flag.float(
    'Share of unhealthy nodes that makes a zone unhealthy.',
    0.55,
  ),
  'large-cluster-size-threshold': flag.int(
    'An unhealthy zone with at most this many nodes evicts nothing.',
    50,
  ),
  'allocate-node-cidrs': flag.bool(
    'Give each node a range of pod addresses out of --cluster-cidr.',
    false,
  ),
  'cluster-cidr': flag.list(
    'Ranges of pod addresses of the cluster: one, or one of each IP family. Needed with --allocate-node-cidrs.',
    [],
  ),
  'cidr-allocator-type': flag.string(
    'How ranges of pod addresses are given to nodes.',
    'RangeAllocator',
    { choices: ['RangeAllocator'] },
  ),
  'node-cidr-mask-size': flag.int(
    'Prefix length of a node’s range of addresses in a cluster of one IP family; default 24 for IPv4, 64 for IPv6.',
  ),
  'node-cidr-mask-size-ipv4': flag.int(
    'Prefix length of a node’s range of IPv4 addresses; default 24.',
  ),
  'node-cidr-mask-size-ipv6': flag.int(
    'Prefix length of a node’s range of IPv6 addresses; default 64.',
  ),
  'service-cluster-ip-range': flag.string(
    'Ranges of service addresses, comma separated: one, or one of each IP family. No node gets a range that overlaps them.',
  ),
})

const workloadFlags = defineFlags({
  'concurrent-deployment-syncs': flag.int('Deployments worked on at once.', 5),
  'concurrent-replicaset-syncs': flag.int('ReplicaSets worked on at once.', 5),
  'concurrent-rc-syncs': flag.int('ReplicationControllers worked on at once.', 5),
  'concurrent-statefulset-syncs': flag.int('StatefulSets worked on at once.', 5),
  'concurrent-daemonset-syncs': flag.int('DaemonSets worked on at once.', 2),
  'concurrent-job-syncs': flag.int('Jobs worked on at once.', 5),
  'concurrent-cron-job-syncs': flag.int('CronJobs worked on at once.', 5),
  'concurrent-endpoint-syncs': flag.int('Endpoints worked on at once.', 5),
  'concurrent-service-endpoint-syncs': flag.int('Services with slices worked on at once.', 5),
  'concurrent-service-syncs': flag.int('Services of type LoadBalancer worked on at once.', 1),
  'simulated-load-balancer-range': flag.list(
    'Ranges, one of each IP family, of the addresses that Services of type LoadBalancer get. The load balancer is simulated: ' +
      'nothing listens at the addresses. Without a range such Services stay pending, for a controller of your own.',
    [],
  ),
  'concurrent-namespace-syncs': flag.int('Namespaces worked on at once.', 10),
  'concurrent-gc-syncs': flag.int('Objects garbage collected at once.', 20),
  'concurrent-resource-quota-syncs': flag.int('Quotas worked on at once.', 5),
  'concurrent-ttl-after-finished-syncs': flag.int('Finished jobs worked on at once.', 5),
  'concurrent-horizontal-pod-autoscaler-syncs': flag.int('Autoscalers worked on at once.', 5),
  'concurrent-serviceaccount-token-syncs': flag.int('Token Secrets worked on at once.', 5),
  'garbage-collector-discovery-period': flag.duration(
    'How often the garbage collector looks for new and removed resource types.',
    30_000,
  ),
  'namespace-sync-period': flag.duration('Longest time between two syncs of a namespace.', 300_000),
  'resource-quota-sync-period': flag.duration('Time between two full counts of a quota.', 300_000),
  'horizontal-pod-autoscaler-sync-period': flag.duration('Time between scaling decisions.', 15_000),
  'horizontal-pod-autoscaler-downscale-stabilization': flag.duration(
    'For this long an autoscaler without a window of its own does not scale below a recommendation.',
    300_000,
  ),
  'horizontal-pod-autoscaler-tolerance': flag.float(
    'Smallest change of the ratio of usage to target that scales.',
    0.1,
  ),
  'horizontal-pod-autoscaler-cpu-initialization-period': flag.duration(
    'For this long after its start a pod’s CPU counts only while it is ready.',
    300_000,
  ),
  'horizontal-pod-autoscaler-initial-readiness-delay': flag.duration(
    'A pod that becomes unready within this time of its start counts as never ready.',
    30_000,
  ),
  'enable-garbage-collector': flag.bool('Run the garbage collector.', true),
  'terminated-pod-gc-threshold': flag.int('Most finished pods that are kept.', 12_500),
  'max-endpoints-per-slice': flag.int('Addresses in one EndpointSlice.', 100),
  'endpoint-updates-batch-period': flag.duration(
    'How long changes are batched before they are written.',
    0,
  ),
  'endpointslice-updates-batch-period': flag.duration(
    'How long changes are batched before they are written.',
    0,
  ),
  'legacy-service-account-token-clean-up-period': flag.duration(
    'Token Secrets unused for this long are marked, and later removed.',
    8760 * hour,
  ),
})

const volumeFlags = defineFlags({
  'pvclaimbinder-sync-period': flag.duration(
    'Time between two looks at all claims and volumes.',
    15_000,
  ),
  'enable-dynamic-provisioning': flag.bool('Ask provisioners for volumes.', true),
  'attach-detach-reconcile-sync-period': flag.duration(
    'Accepted and ignored: attachments follow the pods at once.',
    60_000,
  ),
  'disable-attach-detach-reconcile-sync': flag.bool(
    'Accepted and ignored: there is no periodic sync of attachments.',
    false,
  ),
  'concurrent-ephemeralvolume-syncs': flag.int('Pods with ephemeral volumes worked on at once.', 5),
})

export const controllerManagerFlags = defineFlags({
  ...generalFlags,
  ...credentialFlags,
  ...nodeFlags,
  ...workloadFlags,
  ...volumeFlags,
  profiling: flag.bool('Accepted and ignored: there is no profiling endpoint.', false, {
    hidden: true,
  }),
})

export type ControllerManagerOptions = FlagValues<typeof controllerManagerFlags>

/** As its help shows it. */
export const controllerManager: ComponentDeclaration<typeof controllerManagerFlags> = {
  name: 'controller-manager',
  description: 'Moves the cluster from its state to the wanted state, one controller per concern.',
  examples: [
    'controller-manager --kubeconfig controller-manager.kubeconfig --leader-elect=false',
    "controller-manager --kubeconfig k --controllers='*,bootstrapsigner,tokencleaner'",
  ],
  flags: controllerManagerFlags,
}
