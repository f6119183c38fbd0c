/** The metrics of an agent's process and of one of its nodes, under upstream's names. */
import { servedRelease } from '../../api/lifecycle.ts'
import { createMetrics, declareProcessMetrics } from '../../component-base/metrics.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import type { ServedNode } from '../server/server.ts'

/** One process may carry many nodes, so each has a set of its own. Values are read from the node when they are shown. */
export function createNodeMetrics(
  node: Pick<ServedNode, 'name' | 'pods'>,
  showHidden: boolean,
): Metrics {
  const metrics = createMetrics({ release: servedRelease, showHidden })
  declareProcessMetrics(metrics)
  metrics
    .gauge({
      name: 'kubelet_node_name',
      help: "The node's name. The count is always 1.",
      labels: ['node'],
    })
    .with(node.name)
    .set(1)
  metrics.observed(
    { kind: 'gauge', name: 'kubelet_running_pods', help: 'Number of pods on the node.' },
    () => [{ value: node.pods().length }],
  )
  metrics.observed(
    {
      kind: 'gauge',
      name: 'kubelet_running_containers',
      help: 'Number of containers by their state.',
      labels: ['container_state'],
    },
    () => {
      const counts = { running: 0, waiting: 0, exited: 0 }
      for (const { status } of node.pods()) {
        for (const { state } of status?.containerStatuses ?? []) {
          if (state?.running !== undefined) counts.running += 1
          else if (state?.terminated !== undefined) counts.exited += 1
          else counts.waiting += 1
        }
      }
      return Object.entries(counts)
        .filter(([name, value]) => name === 'running' || value > 0)
        .map(([name, value]) => ({ labels: [name], value }))
    },
  )
  return metrics
}
