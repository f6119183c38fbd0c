/** Flags of the scheduler, named as upstream's kube-scheduler names them. */
import { featureGateHelp } from '../api/feature-gates.ts'
import { leaderElectionFlags } from '../client/leader-election-flags.ts'
import type { ComponentDeclaration } from '../component-base/component.ts'
import { defineFlags, flag } from '../component-base/flags.ts'

export const schedulerFlags = defineFlags({
  config: flag.string(
    'File with a KubeSchedulerConfiguration, version v1, as YAML or JSON; flags of profiles, back-offs and parallelism have ' +
      'no effect beside it, and those of leader election only where they differ from their defaults. ' +
      'Or a file with flag values as a JSON object.',
    undefined,
    { mayBeDocument: true },
  ),
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
  'secure-port': flag.int('Port of the listener. 0 picks a free port, -1 opens none.', 10259),
  'tls-cert-file': flag.string(
    'Serving certificate, PEM. Without it the component opens no listener.',
  ),
  'tls-private-key-file': flag.string('Key of the serving certificate, PEM.'),
  'client-ca-file': flag.string('CAs of the client certificates that the listener accepts, PEM.'),
  ...leaderElectionFlags('Schedule', 'kube-scheduler'),
  'scheduler-name': flag.string(
    'Schedule the pods with this spec.schedulerName.',
    'default-scheduler',
  ),
  'percentage-of-nodes-to-score': flag.int(
    'Percentage of nodes to find feasible before scoring; 0 adapts to the size of the cluster.',
    0,
  ),
  parallelism: flag.int('Bindings in flight at once.', 64),
  'pod-initial-backoff-seconds': flag.int(
    'First back-off of a pod that does not fit, in seconds.',
    1,
  ),
  'pod-max-backoff-seconds': flag.int(
    'Longest back-off of a pod that does not fit, in seconds.',
    10,
  ),
  'pod-max-in-unschedulable-pods-duration': flag.duration(
    'Longest time until a pod that fits nowhere is retried.',
    300_000,
    { deprecated: 'it will be removed: events of the cluster wake such pods.' },
  ),
  'feature-gates': flag.string(
    ['Features to turn on or off: name=bool,...', ...featureGateHelp()].join('\n        '),
    '',
  ),
  'show-hidden-metrics-for-version': flag.string(
    'Also show the metrics that this release hides. The only valid value is the previous release.',
    '',
  ),
  profiling: flag.bool('Accepted and ignored: there is no profiling endpoint.', false),
})

/** As its help shows it. */
export const scheduler: ComponentDeclaration<typeof schedulerFlags> = {
  name: 'scheduler',
  description: 'Finds a node for every pod that has none.',
  examples: ['scheduler --kubeconfig scheduler.kubeconfig --leader-elect=false'],
  flags: schedulerFlags,
}
