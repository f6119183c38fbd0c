/** Rules of Services (upstream: core/validation ValidateService, ValidateServiceUpdate). */
import type { Service, ServicePort, ServiceSpec } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList, goStruct, GoText } from '../../../machinery/values/go-syntax.ts'
import {
  isDualStack,
  parseIpAddress,
  validateIpAddress,
  validateIpRange,
  validateNonSpecialIp,
} from '../../../machinery/validation/ip-address.ts'
import {
  validateLabelName,
  validateLabels,
} from '../../../machinery/validation/label-validation.ts'
import { portNumber } from '../../../machinery/validation/names.ts'
import {
  validateLabel1123,
  validateOneOf,
  validatePortNumberOrName,
  validateRequiredOneOf,
  validateSubdomain,
} from '../rules/field-rules.ts'
import {
  isExternallyAccessible,
  isHeadless,
  needsClusterIp,
  needsHealthCheckPort,
} from './service-fields.ts'
import type { Change } from '../rules/strategy-checks.ts'

const nodeAgentPort = 10_250
const longestAffinitySeconds = 86_400
const serviceTypes = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const affinities = ['ClientIP', 'None']
const protocols = ['SCTP', 'TCP', 'UDP']
const families = ['IPv4', 'IPv6']
const familyPolicies = ['PreferDualStack', 'RequireDualStack', 'SingleStack']
const trafficPolicies = ['Cluster', 'Local']
const distributions = ['PreferClose']

export function validateService({ spec = {} }: Service, root: FieldPath): void {
  const at = root.child('spec')
  if (!spec.ports?.length && !isHeadless(spec) && spec.type !== 'ExternalName') {
    at.child('ports').required()
  }
  validateTypeFields(spec, at)
  const names = new Set<string>()
  for (const [i, port] of (spec.ports ?? []).entries()) {
    validatePort(port, at.child('ports').index(i), {
      names,
      requireName: (spec.ports ?? []).length > 1,
    })
  }
  validateLabels(spec.selector, at.child('selector'))
  validateAffinity(spec, at)
  validateClusterIps(spec, at)
  for (const [i, ip] of (spec.externalIPs ?? []).entries()) {
    const ipAt = at.child('externalIPs').index(i)
    const before = ipAt.errors.length
    validateIpAddress(ip, ipAt)
    if (ipAt.errors.length === before) validateNonSpecialIp(ip, ipAt)
  }
  validateRequiredOneOf(spec.type, serviceTypes, at.child('type'))
  validatePortUse(spec, at.child('ports'))
  validateBalancer(spec, at, root)
  validateExternalTraffic(spec, at)
  const internalAt = at.child('internalTrafficPolicy')
  if (!spec.internalTrafficPolicy) {
    if (needsClusterIp(spec)) internalAt.required()
  } else validateOneOf(spec.internalTrafficPolicy, trafficPolicies, internalAt)
  validateOneOf(spec.trafficDistribution, distributions, at.child('trafficDistribution'))
}

function validateTypeFields(spec: ServiceSpec, at: FieldPath): void {
  const { type } = spec
  if (type === 'LoadBalancer') {
    for (const [i, { port }] of (spec.ports ?? []).entries()) {
      if (port !== nodeAgentPort) continue
      at.child('ports')
        .index(i)
        .invalid(
          port,
          `may not expose port ${nodeAgentPort} externally since it is used by kubelet`,
        )
    }
  }
  if (type === 'LoadBalancer' || type === 'NodePort') {
    if (isHeadless(spec)) {
      at.child('clusterIPs')
        .index(0)
        .invalid(spec.clusterIPs?.[0], `may not be set to 'None' for ${type} services`)
    }
  } else if (type === 'ExternalName') {
    const forbidden = 'may not be set for ExternalName services'
    if (spec.clusterIPs?.length) at.child('clusterIPs').forbidden(forbidden)
    if (spec.ipFamilies?.length) at.child('ipFamilies').forbidden(forbidden)
    if (spec.ipFamilyPolicy !== undefined) at.child('ipFamilyPolicy').forbidden(forbidden)
    const name = (spec.externalName ?? '').replace(/\.$/, '')
    if (name === '') at.child('externalName').required()
    else validateSubdomain(name, at.child('externalName'))
  }
}

function validatePort(
  port: ServicePort,
  at: FieldPath,
  { names, requireName }: { names: Set<string>; requireName: boolean },
): void {
  const { name = '', protocol, appProtocol, targetPort } = port
  if (name !== '') {
    validateLabel1123(name, at.child('name'))
    if (names.has(name)) at.child('name').duplicate(name)
    names.add(name)
  } else if (requireName) at.child('name').required()
  at.child('port').invalidEach(port.port ?? 0, portNumber(port.port ?? 0))
  validateRequiredOneOf(protocol, protocols, at.child('protocol'))
  validatePortNumberOrName(targetPort, at.child('targetPort'))
  if (appProtocol !== undefined) validateLabelName(appProtocol, at.child('appProtocol'))
}

function validateAffinity(spec: ServiceSpec, at: FieldPath): void {
  const { sessionAffinity, sessionAffinityConfig: config } = spec
  validateRequiredOneOf(sessionAffinity, affinities, at.child('sessionAffinity'))
  const configAt = at.child('sessionAffinityConfig')
  if (sessionAffinity === 'None' && config) {
    configAt.forbidden('must not be set when session affinity is None')
  }
  if (sessionAffinity !== 'ClientIP') return
  const clientAt = configAt.child('clientIP')
  if (!config) configAt.required('when session affinity type is ClientIP')
  else if (!config.clientIP) clientAt.required('when session affinity type is ClientIP')
  else if (config.clientIP.timeoutSeconds === undefined) {
    clientAt.child('timeoutSeconds').required('when session affinity type is ClientIP')
  } else {
    const { timeoutSeconds } = config.clientIP
    if (timeoutSeconds > 0 && timeoutSeconds <= longestAffinitySeconds) return
    clientAt
      .child('timeoutSeconds')
      .invalid(
        timeoutSeconds,
        `must be greater than 0 and less than or equal to ${longestAffinitySeconds}`,
      )
  }
}

/** The addresses and their families fit together. Also run before addresses are given out. */
export function validateClusterIps(spec: ServiceSpec, at: FieldPath): void {
  if (spec.type === 'ExternalName') return
  const { clusterIP = '', clusterIPs = [], ipFamilies = [] } = spec
  const ipsAt = at.child('clusterIPs')
  const shown = goList(clusterIPs)
  if (clusterIP !== '') {
    if (clusterIPs.length === 0) ipsAt.required()
    else if (clusterIPs[0] !== clusterIP) ipsAt.invalid(shown, 'first value must match `clusterIP`')
  } else if (clusterIPs.length > 0) {
    ipsAt.invalid(shown, 'must be empty when `clusterIP` is not specified')
  }
  const seen = new Set<string>()
  for (const [i, family] of ipFamilies.entries()) {
    const familyAt = at.child('ipFamilies').index(i)
    validateOneOf(family, families, familyAt)
    if (seen.has(family)) familyAt.duplicate(family)
    seen.add(family)
  }
  validateOneOf(spec.ipFamilyPolicy, familyPolicies, at.child('ipFamilyPolicy'))

  const findings = at.errors.length
  for (const [i, ip] of clusterIPs.entries()) {
    if (i !== 0 || ip !== 'None') validateIpAddress(ip, ipsAt.index(i))
    else if (clusterIPs.length > 1) {
      ipsAt.invalid(shown, "'None' must be the first and only value")
    }
  }
  const hasInvalidIps = at.errors.length > findings
  if (clusterIPs.length > 2) ipsAt.invalid(shown, 'may only hold up to 2 values')
  if (hasInvalidIps) return
  if (clusterIPs.length > 1 && !isDualStack(clusterIPs)) {
    ipsAt.invalid(shown, 'may specify no more than one IP for each IP family')
  }
  if (isHeadless(spec)) return
  for (const [i, ip] of clusterIPs.entries()) {
    const wanted = ipFamilies[i]
    if (wanted === undefined || wanted === parseIpAddress(ip)?.family) continue
    if (!families.includes(wanted)) continue
    const article = wanted === 'IPv4' ? 'an IPv4' : 'an IPv6'
    ipsAt.index(i).invalid(ip, `expected ${article} value as indicated by \`ipFamilies[${i}]\``)
  }
}

/** What ports may say together: none twice, node ports only where the type has them. */
function validatePortUse(spec: ServiceSpec, at: FieldPath): void {
  const ports = spec.ports ?? []
  if (spec.type === 'ClusterIP') {
    for (const [i, { nodePort }] of ports.entries()) {
      if (!nodePort) continue
      at.index(i).child('nodePort').forbidden("may not be used when `type` is 'ClusterIP'")
    }
  }
  const nodePorts = new Set<string>()
  for (const [i, { nodePort, protocol }] of ports.entries()) {
    if (!nodePort) continue
    const key = `${protocol}/${nodePort}`
    if (nodePorts.has(key)) at.index(i).child('nodePort').duplicate(nodePort)
    nodePorts.add(key)
  }
  const seen = new Set<string>()
  for (const [i, port] of ports.entries()) {
    const key = `${port.protocol}/${port.port}`
    if (seen.has(key)) at.index(i).duplicate(goPort(port))
    seen.add(key)
  }
}

function goPort({ protocol = '', port = 0 }: ServicePort) {
  return goStruct('core.ServicePort', {
    Name: '',
    Protocol: protocol,
    AppProtocol: new GoText('(*string)(nil)'),
    Port: port,
    TargetPort: goStruct('intstr.IntOrString', { Type: 0, IntVal: 0, StrVal: '' }),
    NodePort: 0,
  })
}

function validateBalancer(spec: ServiceSpec, at: FieldPath, root: FieldPath): void {
  const isBalanced = spec.type === 'LoadBalancer'
  const notBalanced = "may only be used when `type` is 'LoadBalancer'"
  if (spec.loadBalancerSourceRanges?.length) {
    const rangesAt = at.child('LoadBalancerSourceRanges')
    if (!isBalanced) rangesAt.forbidden(notBalanced)
    for (const [i, range] of spec.loadBalancerSourceRanges.entries()) {
      validateIpRange(range.trim(), rangesAt.index(i))
    }
  }
  const allocate = spec.allocateLoadBalancerNodePorts
  if (allocate !== undefined && !isBalanced) {
    at.child('allocateLoadBalancerNodePorts').forbidden(notBalanced)
  }
  if (allocate === undefined && isBalanced) {
    root.child('allocateLoadBalancerNodePorts').required()
  }
  if (spec.loadBalancerClass === undefined) return
  const classAt = at.child('loadBalancerClass')
  if (isBalanced) validateLabelName(spec.loadBalancerClass, classAt)
  else classAt.forbidden(notBalanced)
}

function validateExternalTraffic(spec: ServiceSpec, at: FieldPath): void {
  const { externalTrafficPolicy: policy = '', healthCheckNodePort: port = 0 } = spec
  const policyAt = at.child('externalTrafficPolicy')
  if (isExternallyAccessible(spec)) validateRequiredOneOf(policy, trafficPolicies, policyAt)
  else if (policy !== '') {
    policyAt.invalid(policy, 'may only be set for externally-accessible services')
  }
  const portAt = at.child('healthCheckNodePort')
  if (!needsHealthCheckPort(spec)) {
    if (port === 0) return
    portAt.invalid(
      port,
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    )
  } else if (port === 0) portAt.required()
  else portAt.invalidEach(port, portNumber(port))
}

const fixed = 'may not change once set'

/** What a change may not do to addresses, families and the balancer's class. */
export function validateServiceChange({ object, old }: Change<Service>, root: FieldPath): void {
  const at = root.child('spec')
  const [now, before] = [object.spec ?? {}, old.spec ?? {}]
  if (now.type === 'LoadBalancer' && before.type === 'LoadBalancer') {
    if (now.loadBalancerClass !== before.loadBalancerClass) {
      at.child('loadBalancerClass').invalid(now.loadBalancerClass, fixed)
    }
  }
  if (now.type === 'ExternalName' || before.type === 'ExternalName') return
  if (isHeadless(now) && isHeadless(before)) return
  validateListChange(now.clusterIPs ?? [], before.clusterIPs ?? [], {
    at: at.child('clusterIPs'),
    type: 'string',
    unset: 'primary clusterIP can not be unset',
    released:
      "`ipFamilyPolicy` must be set to 'SingleStack' when releasing the secondary clusterIP",
    isSingleStack: now.ipFamilyPolicy === 'SingleStack',
  })
  validateListChange(now.ipFamilies ?? [], before.ipFamilies ?? [], {
    at: at.child('ipFamilies'),
    type: 'core.IPFamily',
    unset: 'primary ipFamily can not be unset',
    released: "`ipFamilyPolicy` must be set to 'SingleStack' when releasing the secondary ipFamily",
    isSingleStack: now.ipFamilyPolicy === 'SingleStack',
  })
}

interface ListChangeRules {
  readonly at: FieldPath
  readonly type: string
  readonly unset: string
  readonly released: string
  readonly isSingleStack: boolean
}

/** The first value is fixed. A second may be added, and removed when the Service becomes single-stack. */
function validateListChange(
  now: readonly string[],
  before: readonly string[],
  { at, type, unset, released, isSingleStack }: ListChangeRules,
): void {
  const shown = goList(now, type)
  if (now.length === before.length) {
    for (const [i, value] of before.entries()) {
      if (value !== now[i]) at.index(i).invalid(shown, fixed)
    }
    return
  }
  if (now.length < before.length && now.length === 0) at.index(0).invalid(shown, unset)
  else if (before.length > 0 && now[0] !== before[0]) at.index(0).invalid(shown, fixed)
  if (now.length < before.length && now.length === 1 && !isSingleStack) {
    at.index(1).invalid(shown, released)
  }
}
