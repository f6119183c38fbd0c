/** Service (upstream: pkg/registry/core/service, pkg/apis/core/v1 SetDefaults_Service). */
import type { Service, ServiceSpec } from '../../../api/generated/types.ts'
import { parseIpAddress, validateIpAddress } from '../../../machinery/validation/ip-address.ts'
import { validateConditions } from '../../../machinery/validation/label-validation.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { validateOneOf, validateSubdomain } from '../rules/field-rules.ts'
import { allocateForCreate, allocateForUpdate } from './service-allocation.ts'
import { claimValues, giveBack } from './service-claims.ts'
import {
  isExternallyAccessible,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePort,
  sameTexts,
} from './service-fields.ts'
import { validateService, validateServiceChange } from './service-validation.ts'
import { serviceWarnings } from './service-warnings.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, validation } from '../rules/strategy-checks.ts'

const defaultAffinitySeconds = 10_800

function defaultService(service: Service): void {
  const spec = (service.spec ??= {})
  spec.sessionAffinity ||= 'None'
  if (spec.sessionAffinity === 'None') delete spec.sessionAffinityConfig
  if (spec.sessionAffinity === 'ClientIP') {
    const timeoutSeconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds
    if (timeoutSeconds === undefined) {
      spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: defaultAffinitySeconds } }
    }
  }
  spec.type ||= 'ClusterIP'
  for (const port of spec.ports ?? []) {
    port.protocol ||= 'TCP'
    if (!port.targetPort) port.targetPort = port.port
  }
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ||= 'Cluster'
  if (needsClusterIp(spec)) spec.internalTrafficPolicy ??= 'Cluster'
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true
  for (const ingress of service.status?.loadBalancer?.ingress ?? []) {
    if (spec.type === 'LoadBalancer' && ingress.ip) ingress.ipMode ??= 'VIP'
  }
}

/** Clients that know only `clusterIP` get `clusterIPs` filled in after it. */
function syncClusterIps(spec: ServiceSpec, before?: ServiceSpec): void {
  if (before === undefined) {
    if (spec.clusterIP && !spec.clusterIPs?.length) spec.clusterIPs = [spec.clusterIP]
    return
  }
  const same = spec.clusterIP === before.clusterIP
  if (same && before.clusterIPs?.length && !spec.clusterIPs?.length) {
    spec.clusterIPs = [...before.clusterIPs]
  }
  if (same || !sameTexts(spec.clusterIPs, before.clusterIPs)) return
  if (spec.clusterIP) spec.clusterIPs = [spec.clusterIP]
  else if (before.clusterIP) delete spec.clusterIPs
}

/** Values the server gave out stay when a client leaves them out. */
function keepAllocated(spec: ServiceSpec, before: ServiceSpec): void {
  if (needsClusterIp(spec) && needsClusterIp(before)) {
    if (!spec.clusterIP && before.clusterIP) spec.clusterIP = before.clusterIP
    if (!spec.clusterIPs?.length && before.clusterIPs) spec.clusterIPs = [...before.clusterIPs]
  }
  if (needsNodePort(spec) && needsNodePort(before)) {
    const now = new Set((spec.ports ?? []).map(({ nodePort = 0 }) => nodePort))
    const used = new Set<number>()
    const byName = new Map<string, number>()
    for (const { name = '', nodePort = 0 } of before.ports ?? []) {
      if (now.has(nodePort)) used.add(nodePort)
      byName.set(name, nodePort)
    }
    for (const port of spec.ports ?? []) {
      const known = byName.get(port.name ?? '') ?? 0
      if (port.nodePort || known === 0 || used.has(known)) continue
      port.nodePort = known
      used.add(known)
    }
  }
  if (needsHealthCheckPort(spec) && needsHealthCheckPort(before) && !spec.healthCheckNodePort) {
    if (before.healthCheckNodePort) spec.healthCheckNodePort = before.healthCheckNodePort
  }
}

/** Fields that the new type has no use for and that the client did not touch go away. */
function dropUnusedFields(service: Service, spec: ServiceSpec, before: ServiceSpec): void {
  if (needsClusterIp(before) && !needsClusterIp(spec)) {
    if (spec.clusterIP === before.clusterIP && sameTexts(spec.clusterIPs, before.clusterIPs)) {
      delete spec.clusterIP
      delete spec.clusterIPs
    }
    if (sameTexts(spec.ipFamilies, before.ipFamilies)) delete spec.ipFamilies
    if (spec.ipFamilyPolicy === before.ipFamilyPolicy) delete spec.ipFamilyPolicy
  }
  if (needsNodePort(before) && !needsNodePort(spec)) {
    const portsOf = ({ ports = [] }: ServiceSpec) =>
      ports.map(({ nodePort = 0 }) => String(nodePort)).toSorted()
    if (sameTexts(portsOf(spec), portsOf(before))) {
      for (const port of spec.ports ?? []) delete port.nodePort
    }
  }
  if (needsHealthCheckPort(before) && !needsHealthCheckPort(spec)) {
    if (spec.healthCheckNodePort === before.healthCheckNodePort) delete spec.healthCheckNodePort
  }
  if (spec.type !== 'LoadBalancer') {
    if (before.type === 'LoadBalancer') {
      for (const field of ['allocateLoadBalancerNodePorts', 'loadBalancerClass'] as const) {
        if (spec[field] === before[field]) delete spec[field]
      }
    }
    if (service.status) service.status = { ...service.status, loadBalancer: {} }
  }
  if (isExternallyAccessible(before) && !isExternallyAccessible(spec)) {
    if (spec.externalTrafficPolicy === before.externalTrafficPolicy) {
      delete spec.externalTrafficPolicy
    }
  }
}

function allocationOf(draft: KubeObject, context: StrategyContext) {
  const { serviceAllocator: allocator, dryRun } = context
  if (allocator === undefined) return undefined
  return { allocator, request: { draft, dryRun, random: () => context.random() } }
}

export const serviceStrategy: Strategy = {
  nameForm: 'label-1035',
  applyDefaults(object) {
    defaultService(object as Service)
  },
  prepareForCreate(object, context) {
    const service = object as Service
    object['status'] = { loadBalancer: {} }
    if (service.spec) syncClusterIps(service.spec)
    const allocation = allocationOf(object, context)
    if (allocation) allocateForCreate(service, allocation)
  },
  prepareForUpdate(object, old, context) {
    const service = object as Service
    const before = (old as Service).spec ?? {}
    const { spec } = service
    if (!spec) return
    keepAllocated(spec, before)
    syncClusterIps(spec, before)
    const allocation = allocationOf(object, context)
    if (allocation) allocateForUpdate(service, old as Service, allocation)
    dropUnusedFields(service, spec, before)
  },
  ...validation<Service>(validateService, validateServiceChange),
  release(draft, { serviceAllocator }) {
    serviceAllocator?.addresses.release(draft)
    serviceAllocator?.nodePorts.release(draft)
  },
  begin(object, old, context) {
    const allocation = allocationOf(object, context)
    if (allocation?.allocator.claims === undefined) return undefined
    return claimValues({ object: object as Service, old: old as Service | undefined }, allocation)
  },
  async afterDelete(object, { serviceAllocator }) {
    if (serviceAllocator !== undefined) await giveBack(object as Service, serviceAllocator)
  },
  warnings: (object, _, { dialect }) => [...serviceWarnings(object as Service, dialect)],
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation<Service>(({ object, old }, root) => {
        const { loadBalancer, conditions } = object.status ?? {}
        const at = root.child('status').child('loadBalancer').child('ingress')
        const isBalanced = object.spec?.type === 'LoadBalancer' || old.spec?.type === 'LoadBalancer'
        if (!isBalanced && loadBalancer?.ingress?.length) {
          at.forbidden("may only be used when `spec.type` is 'LoadBalancer'")
        }
        for (const [i, { ip, hostname, ipMode }] of (loadBalancer?.ingress ?? []).entries()) {
          const ipAt = at.index(i)
          if (ip) validateIpAddress(ip, ipAt.child('ip'))
          if (ip && ipMode === undefined)
            ipAt.child('ipMode').required('must be specified when `ip` is set')
          if (!ip && ipMode !== undefined)
            ipAt.child('ipMode').forbidden('may not be specified when `ip` is not set')
          validateOneOf(ipMode, ['Proxy', 'VIP'], ipAt.child('ipMode'))
          if (!hostname) continue
          validateSubdomain(hostname, ipAt.child('hostname'))
          if (parseIpAddress(hostname)) {
            ipAt.child('hostname').invalid(hostname, 'must be a DNS name, not an IP address')
          }
        }
        validateConditions(conditions, root.child('status').child('conditions'))
      }),
    },
  },
}
