/** Nodes and their leases for tests: what the nodes' agents would report. */
import type { Node, Pod } from '../../components/api/generated/types.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { microTimestamp, timestamp } from '../../components/component-base/clock.ts'
import type { FakeCluster } from './fake-client.ts'

const reported = ['MemoryPressure', 'DiskPressure', 'PIDPressure']

/** A node that has just reported that it is ready, with its lease. */
export function addNode(
  cluster: FakeCluster,
  name: string,
  labels: Record<string, string> = {},
): void {
  const { nodes, leases } = resourcesOf(cluster.dialect)
  const now = timestamp(cluster.clock.now())
  const times = { lastHeartbeatTime: now, lastTransitionTime: now }
  cluster.seed(nodes, {
    metadata: { name, labels },
    spec: {},
    status: {
      conditions: [
        ...reported.map((type) => ({ type, status: 'False', ...times })),
        { type: 'Ready', status: 'True', reason: 'KubeletReady', ...times },
      ],
    },
  })
  cluster.seed(leases, {
    metadata: { name, namespace: cluster.dialect.nodeLeaseNamespace },
    spec: { renewTime: microTimestamp(cluster.clock.now()) },
  })
}

/** The node renews its lease. */
export function renew(cluster: FakeCluster, ...names: string[]): void {
  const { leases } = resourcesOf(cluster.dialect)
  for (const name of names) {
    cluster.change(leases, `${cluster.dialect.nodeLeaseNamespace}/${name}`, (lease) => {
      lease['spec'].renewTime = microTimestamp(cluster.clock.now())
    })
  }
}

/** The node reports its status. */
export function report(cluster: FakeCluster, name: string, statuses: Record<string, string>): void {
  const { nodes } = resourcesOf(cluster.dialect)
  const now = timestamp(cluster.clock.now())
  cluster.change(nodes, name, (node) => {
    for (const condition of node['status'].conditions as NonNullable<
      NonNullable<Node['status']>['conditions']
    >) {
      const status = statuses[condition.type] ?? condition.status
      if (status !== condition.status) condition.lastTransitionTime = now
      condition.status = status
      condition.lastHeartbeatTime = now
    }
  })
}

/** A ready pod on a node. */
export function podOn(node: string, name: string, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name, namespace: 'default' },
    spec: { containers: [], nodeName: node, ...spec },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2025-01-01T00:00:00Z' }],
    },
  }
}
