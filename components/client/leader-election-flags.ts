/** Flags of leader election, shared by the components that elect a leader (upstream: component-base/config/options/leaderelectionconfig.go). */
import { defineFlags, flag } from '../component-base/flags.ts'

/** `work` says what only the leader does; `leaseName` is the default name of the lease. */
export function leaderElectionFlags(work: string, leaseName: string) {
  return defineFlags({
    'leader-elect': flag.bool(`${work} only while this process holds the leader's lease.`, true),
    'leader-elect-lease-duration': flag.duration(
      'How long other candidates wait for a leader that no longer renews the lease.',
      15_000,
    ),
    'leader-elect-renew-deadline': flag.duration(
      'How long a leader tries to renew the lease before it gives up.',
      10_000,
    ),
    'leader-elect-retry-period': flag.duration(
      'Time between two attempts to acquire or renew the lease.',
      2000,
    ),
    'leader-elect-identity': flag.string(
      'Part of the identity in the lease after the host name; default a new UUID. A process that restarts with its ' +
        'old identity leads again at once: set it only where no two processes can run with the same one.',
    ),
    'leader-elect-resource-name': flag.string('Name of the lease.', leaseName),
    'leader-elect-resource-namespace': flag.string(
      'Namespace of the lease; default the system namespace.',
    ),
  })
}
