/** Rules of a Pod's spec, for Pods and for templates of them (upstream: core/validation ValidatePodSpec). */
import type { HostAlias, PodDNSConfig, PodSpec } from '../../../../api/generated/types.ts'
import type { FieldPath } from '../../../../machinery/validation/field-path.ts'
import { goList } from '../../../../machinery/values/go-syntax.ts'
import { validateIpAddress } from '../../../../machinery/validation/ip-address.ts'
import { validateLabels } from '../../../../machinery/validation/label-validation.ts'
import { qualifiedName, rangeMessage, subdomain } from '../../../../machinery/validation/names.ts'
import {
  validateLabel1123,
  validateRequiredOneOf,
  validateSubdomain,
} from '../../rules/field-rules.ts'
import { validateResourceRequirements } from '../../rules/resource-list.ts'
import {
  validateAffinity,
  validateTolerations,
  validateTopologySpread,
} from './affinity-validation.ts'
import {
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from './container-validation.ts'
import { validatePodClaims } from './pod-claim-validation.ts'
import { validatePodOs } from './pod-os-validation.ts'
import type { PodRules } from './pod-rules.ts'
import { validatePodSecurityContext } from './security-context-validation.ts'
import { validateVolumes } from './volume-validation.ts'

const restartPolicies = ['Always', 'OnFailure', 'Never']
const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']
export const preemptionPolicies = ['PreemptLowerPriority', 'Never']
const maxInt32 = 2 ** 31 - 1

export function validatePodSpec(spec: PodSpec, at: FieldPath, rules: PodRules): void {
  const volumes = validateVolumes(spec.volumes ?? [], at.child('volumes'), rules)
  const claims = validatePodClaims(
    spec.resourceClaims ?? [],
    at.child('resourceClaims'),
    rules.podName,
  )
  const surroundings = {
    rules,
    volumes,
    claims,
    gracePeriodSeconds: spec.terminationGracePeriodSeconds ?? 0,
    podRestartPolicy: spec.restartPolicy,
  }
  const regular = spec.containers ?? []
  const init = spec.initContainers ?? []
  validateContainers(regular, at.child('containers'), surroundings)
  if (init.length > 0) {
    validateInitContainers(init, at.child('initContainers'), { ...surroundings, regular })
  }
  if (spec.ephemeralContainers?.length) {
    const others = [...regular, ...init]
    validateEphemeralContainers(spec.ephemeralContainers, at.child('ephemeralContainers'), {
      ...surroundings,
      others,
    })
  }
  if (spec.hostNetwork) validateHostNetworkPorts(spec, at.child('containers'), rules)
  validateRequiredOneOf(spec.restartPolicy, restartPolicies, at.child('restartPolicy'))
  validateRequiredOneOf(spec.dnsPolicy, dnsPolicies, at.child('dnsPolicy'))
  if (spec.nodeSelector) validateLabels(spec.nodeSelector, at.child('nodeSelector'))
  validatePodSecurityContext(spec, at.child('securityContext'))
  if (spec.affinity) validateAffinity(spec.affinity, at.child('affinity'))
  validateDns(spec.dnsConfig, spec.dnsPolicy, at.child('dnsConfig'))
  for (const [i, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    const gateAt = at.child('readinessGates').index(i).child('conditionType')
    gateAt.invalidEach(conditionType, qualifiedName(conditionType ?? ''))
  }
  if (spec.schedulingGates) {
    validateSchedulingGates(spec.schedulingGates, at.child('schedulingGates'))
  }
  if (spec.topologySpreadConstraints) {
    validateTopologySpread(spec.topologySpreadConstraints, at.child('topologySpreadConstraints'))
  }
  if (spec.hostUsers === false) validateOwnUsers(spec, at)
  validateNames(spec, at)
  const { activeDeadlineSeconds: deadline } = spec
  if (deadline !== undefined && (deadline < 1 || deadline > maxInt32)) {
    at.child('activeDeadlineSeconds').invalid(deadline, rangeMessage(1, maxInt32))
  }
  if (spec.tolerations) validateTolerations(spec.tolerations, at.child('tolerations'))
  if (spec.hostAliases) validateHostAliases(spec.hostAliases, at.child('hostAliases'))
  if (spec.preemptionPolicy !== undefined) {
    validateRequiredOneOf(spec.preemptionPolicy, preemptionPolicies, at.child('preemptionPolicy'))
  }
  if (spec.overhead) {
    validateResourceRequirements({ limits: spec.overhead }, at.child('overhead'), rules.dialect)
  }
  if (spec.os || hasWindowsOptions(spec)) validatePodOs(spec, at)
}

/** Most Pods have none, and are not looked at any further. */
function hasWindowsOptions(spec: PodSpec): boolean {
  if (spec.securityContext?.windowsOptions) return true
  const lists = [spec.containers, spec.initContainers, spec.ephemeralContainers]
  return lists.some((list) => list?.some(({ securityContext }) => securityContext?.windowsOptions))
}

/** Names of other objects, and the Pod's own names in DNS. */
function validateNames(spec: PodSpec, at: FieldPath): void {
  const references = ['serviceAccountName', 'nodeName', 'priorityClassName'] as const
  for (const field of references) {
    const name = spec[field]
    if (!name) continue
    const messages = subdomain(name)
    if (messages.length > 0) at.child(field).invalidEach(name, messages)
  }
  if (spec.runtimeClassName !== undefined) {
    validateSubdomain(spec.runtimeClassName, at.child('runtimeClassName'))
  }
  if (spec.hostname) validateLabel1123(spec.hostname, at.child('hostname'))
  if (spec.subdomain) validateLabel1123(spec.subdomain, at.child('subdomain'))
}

/** On the host's network a container's port is the host's; a template may leave the host's out. */
function validateHostNetworkPorts(spec: PodSpec, at: FieldPath, { isPod }: PodRules): void {
  for (const [i, container] of (spec.containers ?? []).entries()) {
    for (const [j, { hostPort = 0, containerPort }] of (container.ports ?? []).entries()) {
      if (hostPort === containerPort || (!isPod && hostPort === 0)) continue
      at.index(i)
        .child('ports')
        .index(j)
        .child('hostPort')
        .invalid(hostPort, 'must match `containerPort` when `hostNetwork` is true')
    }
  }
}

const maxNameservers = 3
const maxSearchPaths = 32
const maxSearchListLength = 2048

function validateDns(
  config: PodDNSConfig | undefined,
  policy: string | undefined,
  at: FieldPath,
): void {
  if (policy === 'None') {
    if (config === undefined) {
      at.required('must provide `dnsConfig` when `dnsPolicy` is None')
      return
    }
    if ((config.nameservers ?? []).length === 0) {
      at.child('nameservers').required(
        'must provide at least one DNS nameserver when `dnsPolicy` is None',
      )
      return
    }
  }
  const { nameservers = [], searches = [], options = [] } = config ?? {}
  if (nameservers.length > maxNameservers) {
    at.child('nameservers').invalid(
      goList(nameservers),
      `must not have more than ${maxNameservers} nameservers`,
    )
  }
  for (const [i, server] of nameservers.entries()) {
    validateIpAddress(server, at.child('nameservers').index(i))
  }
  if (searches.length > maxSearchPaths) {
    at.child('searches').invalid(
      goList(searches),
      `must not have more than ${maxSearchPaths} search paths`,
    )
  }
  if (searches.join(' ').length > maxSearchListLength) {
    at.child('searches').invalid(
      goList(searches),
      `must not have more than ${maxSearchListLength} characters (including spaces) in the search list`,
    )
  }
  for (const [i, search] of searches.entries()) {
    const name = search.endsWith('.') ? search.slice(0, -1) : search
    validateSubdomain(name, at.child('searches').index(i))
  }
  for (const [i, { name }] of options.entries()) {
    if (!name) at.child('options').index(i).required('must not be empty')
  }
}

function validateSchedulingGates(gates: NonNullable<PodSpec['schedulingGates']>, at: FieldPath) {
  const seen = new Set<string>()
  for (const [i, { name }] of gates.entries()) {
    at.index(i).invalidEach(name, qualifiedName(name ?? ''))
    if (seen.has(name)) at.index(i).duplicate(name)
    seen.add(name)
  }
}

/** With its own user namespace a Pod shares none of the host's others. */
function validateOwnUsers(spec: PodSpec, at: FieldPath): void {
  const why = 'when `pod.Spec.HostUsers` is false'
  if (spec.hostNetwork) at.child('hostNetwork').forbidden(why)
  if (spec.hostPID) at.child('HostPID').forbidden(why)
  if (spec.hostIPC) at.child('HostIPC').forbidden(why)
}

function validateHostAliases(aliases: readonly HostAlias[], at: FieldPath): void {
  for (const [i, { ip, hostnames = [] }] of aliases.entries()) {
    validateIpAddress(ip, at.index(i).child('ip'))
    for (const [j, name] of hostnames.entries()) {
      validateSubdomain(name, at.index(i).child('hostnames').index(j))
    }
  }
}
