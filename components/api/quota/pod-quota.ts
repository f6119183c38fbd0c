/** Pods and their resources, with scopes (upstream: pkg/quota/v1/evaluator/core/pods.go; KEP-612, KEP-2249). */
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Dialect } from '../dialect.ts'
import type {
  Container,
  Pod,
  PodAffinityTerm,
  PodSpec,
  ScopedResourceSelectorRequirement,
} from '../generated/types.ts'
import { qosClassOf } from '../pod-qos.ts'
import { podAmounts } from '../pod-resources.ts'
import { isExtendedResource, isNativeResource } from '../resource-names.ts'
import { addLists, type ResourceList } from '../resource-list.ts'
import { objectCountName, type QuotaEvaluator } from './quota-evaluator.ts'

const kind = { group: '', plural: 'pods' } as const
const countName = objectCountName(kind)
const compute = ['cpu', 'memory', 'ephemeral-storage'] as const
const own = new Set([
  countName,
  'pods',
  ...compute.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
])
/** A quota of one of these needs every container to say how much it wants. */
const mustBeSaid = new Set(
  ['cpu', 'memory'].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
)

interface Asked {
  readonly requests: ResourceList
  readonly limits: ResourceList
}

/** What is counted of requests and limits, by the names that quotas use. */
function computeUsage({ requests, limits }: Asked, dialect: Dialect): ResourceList {
  const used: [string, string][] = [['pods', '1']]
  for (const name of compute) {
    const [request, limit] = [requests[name], limits[name]]
    if (request !== undefined) used.push([name, request], [`requests.${name}`, request])
    if (limit !== undefined) used.push([`limits.${name}`, limit])
  }
  for (const [name, request] of Object.entries(requests)) {
    if (name.startsWith('hugepages-')) used.push([name, request], [`requests.${name}`, request])
    if (isExtendedResource(name, dialect)) used.push([`requests.${name}`, request])
  }
  return Object.fromEntries(used)
}

/**
 * Whether the pod's resources count: not when it has finished, and not when it should have ended long ago, since its node may
 * be lost.
 */
export function isQuotaPod({ metadata, status }: Pod, nowMs: number): boolean {
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return false
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000
}

function selectsOtherNamespaces({ namespaces, namespaceSelector }: PodAffinityTerm): boolean {
  return (namespaces ?? []).length > 0 || (namespaceSelector ?? undefined) !== undefined
}

function usesCrossNamespaceAffinity({ affinity }: PodSpec): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some(
    (part) =>
      part?.requiredDuringSchedulingIgnoredDuringExecution?.some(selectsOtherNamespaces) === true ||
      part?.preferredDuringSchedulingIgnoredDuringExecution?.some(({ podAffinityTerm }) =>
        selectsOtherNamespaces(podAffinityTerm),
      ) === true,
  )
}

function matchesPriorityClass(
  { operator, values = [] }: ScopedResourceSelectorRequirement,
  className: string,
): boolean {
  if (operator === 'Exists') return className !== ''
  if (operator === 'DoesNotExist') return className === ''
  if (operator === 'In') return className !== '' && values.includes(className)
  return operator === 'NotIn' && !values.includes(className)
}

function matchesScope(selector: ScopedResourceSelectorRequirement, object: KubeObject): boolean {
  const pod = object as Pod
  const { scopeName } = selector
  const spec: Partial<PodSpec> = pod.spec ?? {}
  const isTerminating = (spec.activeDeadlineSeconds ?? -1) >= 0
  if (scopeName === 'Terminating') return isTerminating
  if (scopeName === 'NotTerminating') return !isTerminating
  if (scopeName === 'BestEffort') return qosClassOf(pod) === 'BestEffort'
  if (scopeName === 'NotBestEffort') return qosClassOf(pod) !== 'BestEffort'
  if (scopeName === 'PriorityClass') {
    return matchesPriorityClass(selector, spec.priorityClassName ?? '')
  }
  if (scopeName !== 'CrossNamespacePodAffinity' || pod.spec === undefined) return false
  return usesCrossNamespaceAffinity(pod.spec)
}

/** `must specify limits.cpu for: a,b; memory for: b`, if a container omits one of the names. */
function fault(names: readonly string[], object: KubeObject, dialect: Dialect): string | undefined {
  const { spec } = object as Pod
  const required = names.filter((name) => mustBeSaid.has(name)).toSorted()
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  const said = (container: Container): ResourceList => {
    const { requests = {}, limits = {} } = container.resources ?? {}
    return computeUsage({ requests, limits }, dialect)
  }
  const faults = required.flatMap((name) => {
    const silent = containers.filter((container) => said(container)[name] === undefined)
    const who = [...new Set(silent.map((container) => container.name))].toSorted()
    return who.length === 0 ? [] : [`${name} for: ${who.join(',')}`]
  })
  return faults.length === 0 ? undefined : `must specify ${faults.join('; ')}`
}

export function podQuota(dialect: Dialect): QuotaEvaluator {
  const isOwn = (name: string): boolean =>
    own.has(name) ||
    name.startsWith('hugepages-') ||
    name.startsWith('requests.hugepages-') ||
    (name.startsWith('requests.') && !isNativeResource(name, dialect))

  function usage(object: KubeObject, nowMs: number): ResourceList {
    const pod = object as Pod
    const counted = { [countName]: '1' }
    if (pod.spec === undefined || !isQuotaPod(pod, nowMs)) return counted
    const requests = podAmounts(pod.spec, 'requests')
    const limits = podAmounts(pod.spec, 'limits')
    return addLists(counted, computeUsage({ requests, limits }, dialect))
  }

  return {
    ...kind,
    countsOnly: false,
    changesOnUpdate: false,
    hasScopes: true,
    matchingResources: (names) => names.filter(isOwn),
    matchesScope,
    usage,
    fault: (names, object) => fault(names, object, dialect),
  }
}
