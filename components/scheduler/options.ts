/** Flags of the scheduler, named as upstream's kube-scheduler names them. */
import type { ComponentDeclaration } from '../component-base/component.ts'
import { defineFlags, flag } from '../component-base/flags.ts'

export const schedulerFlags = defineFlags({
  dialect: flag.string('Whose names the cluster uses.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
  kubeconfig: flag.string('File with the server to talk to and the credentials to use.'),
  master: flag.string('URL of the API server; overrides the one in --kubeconfig.'),
  'bind-address': flag.string('Address of the listener for health and metrics.', '127.0.0.1'),
  'secure-port': flag.int('Port of the listener; 0 picks a free one, -1 opens none.', 10259),
  'tls-cert-file': flag.string("The listener's certificate; without it there is no listener."),
  'tls-private-key-file': flag.string("The listener's key."),
  'client-ca-file': flag.string('Authorities of client certificates that the listener accepts.'),
  'leader-elect': flag.bool('Schedule only while holding the lease of the leader.', true),
  'leader-elect-lease-duration': flag.duration('How long a lost lease stays taken.', 15_000),
  'leader-elect-renew-deadline': flag.duration('A leader gives up after this long.', 10_000),
  'leader-elect-retry-period': flag.duration('Time between tries for the lease.', 2000),
  'leader-elect-identity': flag.string(
    'Part of the identity in the lease after the host name; default a new UUID. A process that comes back under its ' +
      'old one leads again at once: give one only where something sees to it that no two run.',
  ),
  'leader-elect-resource-name': flag.string('Name of the lease.', 'kube-scheduler'),
  'leader-elect-resource-namespace': flag.string(
    'Namespace of the lease; default the system namespace.',
  ),
  'scheduler-name': flag.string(
    'Pods with this spec.schedulerName are scheduled.',
    'default-scheduler',
  ),
  'percentage-of-nodes-to-score': flag.int(
    'Share of nodes that is enough to choose from; 0 adapts to the size of the cluster.',
    0,
  ),
  parallelism: flag.int('Bindings in flight at once.', 64),
  'pod-initial-backoff-seconds': flag.int('First wait of a pod that could not be placed.', 1),
  'pod-max-backoff-seconds': flag.int('Longest such wait.', 10),
  'pod-max-in-unschedulable-pods-duration': flag.duration(
    'A pod that fits nowhere is tried again after this long at the latest.',
    300_000,
    { deprecated: 'it will be removed: events of the cluster wake such pods.' },
  ),
  'show-hidden-metrics-for-version': flag.string(
    'The previous release, to show metrics that are hidden since this one.',
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
