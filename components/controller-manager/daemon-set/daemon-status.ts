/** The status of a DaemonSet (upstream: daemon_controller.go updateDaemonSetStatus). Pure. */
import type { DaemonSetStatus } from '../../api/generated/types.ts'
import { nonZero } from '../non-zero.ts'
import { isReady } from '../pod-state.ts'
import { podHash } from './daemon-pods.ts'
import type { DaemonFacts } from './node-pods.ts'
import { desiredDaemons, isAvailable } from './node-pods.ts'

/** On a node with several pods the oldest counts. */
export function daemonStatus(facts: DaemonFacts, collisions: number): DaemonSetStatus {
  const { set, nodes, hash } = facts
  const isScheduled = ({ pods }: { pods: readonly unknown[] }): boolean => pods.length > 0
  const oldest = nodes
    .filter(({ shouldRun }) => shouldRun)
    .map(({ pods }) => pods[0])
    .filter((pod) => pod !== undefined)
  const desired = desiredDaemons(facts)
  const available = oldest.filter((pod) => isReady(pod) && isAvailable(facts, pod)).length
  const { conditions, collisionCount } = set.status ?? {}
  return {
    currentNumberScheduled: oldest.length,
    numberMisscheduled: nodes.filter((node) => node.exists && !node.shouldRun && isScheduled(node))
      .length,
    desiredNumberScheduled: desired,
    numberReady: oldest.filter(isReady).length,
    ...nonZero({
      observedGeneration: set.metadata.generation ?? 0,
      updatedNumberScheduled: oldest.filter((pod) => podHash(pod) === hash).length,
      numberAvailable: available,
      numberUnavailable: desired - available,
    }),
    ...(collisions > 0 || collisionCount !== undefined ? { collisionCount: collisions } : {}),
    ...(conditions === undefined ? {} : { conditions }),
  }
}
