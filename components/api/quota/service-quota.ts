/** Services, their node ports and load balancers (upstream: pkg/quota/v1/evaluator/core/services.go). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Service } from '../generated/types.ts'
import type { ResourceList } from '../resource-list.ts'
import { objectCountName, ownNames, type QuotaEvaluator } from './quota-evaluator.ts'

const kind = { group: '', plural: 'services' } as const
const countName = objectCountName(kind)
const own = [countName, 'services', 'services.nodeports', 'services.loadbalancers']

/** Node ports that the Service has or will get. */
function nodePortsOf({ spec }: Service): number {
  const ports = spec?.ports ?? []
  if (spec?.type === 'NodePort') return ports.length
  if (spec?.type !== 'LoadBalancer') return 0
  if (spec.allocateLoadBalancerNodePorts !== false) return ports.length
  return ports.filter(({ nodePort }) => nodePort).length
}

function usage(object: KubeObject): ResourceList {
  const service = object as Service
  return {
    [countName]: '1',
    services: '1',
    'services.nodeports': String(nodePortsOf(service)),
    'services.loadbalancers': service.spec?.type === 'LoadBalancer' ? '1' : '0',
  }
}

export const serviceQuota: QuotaEvaluator = {
  ...kind,
  countsOnly: false,
  changesOnUpdate: true,
  hasScopes: false,
  matchingResources: (names) => ownNames(names, own),
  matchesScope: () => false,
  usage,
}
