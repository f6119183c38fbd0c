/**
 * The metrics group: what nodes and pods use (upstream: staging/src/k8s.io/metrics/pkg/apis/metrics/v1beta1). The API server
 * serves it with --metrics-api.
 */
import { groupTable } from './group-table.ts'

const read = { version: 'v1beta1', verbs: ['get', 'list'], virtual: true } as const
const lifecycle = { introduced: '1.8' } as const

export const metrics = groupTable({
  stem: 'metrics',
  package: 'metrics',
  priority: 100,
  versions: { v1beta1: 100 },
  kinds: {
    nodeMetrics: { kind: 'NodeMetrics', plural: 'nodes', namespaced: false, ...read, lifecycle },
    podMetrics: { kind: 'PodMetrics', plural: 'pods', ...read, lifecycle },
  },
})
