/** Which webhooks match a request: selectors, rules, equivalent versions (upstream: plugin/webhook/generic, predicates). */
import type { NamedRuleWithOperations } from '../../../api/generated/types.ts'
import { objectKindOf } from '../../../api/object-kind.ts'
import { matchesLabels } from '../../../machinery/selectors/label-selector.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Resource } from '../../../machinery/objects/resource.ts'
import { notFound } from '../../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../../watch-cache/object-reader.ts'
import type { AdmissionRequest } from '../admission.ts'
import { namespaceOf } from './reviewed-request.ts'
import type { Webhook } from './webhook.ts'

function includes(list: readonly string[] | undefined, value: string): boolean {
  return list !== undefined && (list.includes('*') || list.includes(value))
}

function isForResource(
  rule: NamedRuleWithOperations,
  plural: string,
  subresource: string,
): boolean {
  return (rule.resources ?? []).some((pattern) => {
    const [resource = '', part = ''] = pattern.split('/')
    return (resource === '*' || resource === plural) && (part === '*' || part === subresource)
  })
}

function isInScope(
  rule: NamedRuleWithOperations,
  request: AdmissionRequest,
  at: Resource,
): boolean {
  const isNamespace = at.group === '' && at.plural === 'namespaces'
  const isClusterWide = isNamespace || request.namespace === ''
  if (rule.scope === 'Namespaced') return !isClusterWide
  return rule.scope !== 'Cluster' || isClusterWide
}

function isForRequest(
  rule: NamedRuleWithOperations,
  request: AdmissionRequest,
  resource: Resource,
): boolean {
  const names = rule.resourceNames ?? []
  return (
    (names.length === 0 || names.includes(request.name)) &&
    includes(rule.operations, request.operation) &&
    includes(rule.apiGroups, resource.group) &&
    includes(rule.apiVersions, resource.version) &&
    isForResource(rule, resource.plural, request.subresource) &&
    isInScope(rule, request, resource)
  )
}

export interface RuleMatchOptions {
  readonly rules: readonly NamedRuleWithOperations[]
  readonly matchesEquivalent: boolean
  /** Every served resource, to find equivalent versions. */
  readonly served: readonly Resource[]
}

/** The version by which the rules match: the request's own or, by the policy Equivalent, another of the same objects. */
export function matchRules(
  request: AdmissionRequest,
  options: RuleMatchOptions,
): Resource | undefined {
  const { rules, matchesEquivalent, served } = options
  const { resource } = request
  if (rules.some((rule) => isForRequest(rule, request, resource))) return resource
  if (!matchesEquivalent) return undefined
  const equivalents = objectKindOf(resource)
    .versions(served)
    .filter((one) => one !== resource && !one.virtual === !resource.virtual)
  for (const rule of rules) {
    const found = equivalents.find((one) => isForRequest(rule, request, one))
    if (found !== undefined) return found
  }
  return undefined
}

/** Labels of the request's namespace; for a Namespace its new labels. Throws NotFound. */
function namespaceLabels(
  request: AdmissionRequest,
  at: { reader: ObjectReader; namespaces: Resource },
): KubeObject['metadata']['labels'] {
  const { resource, operation, subresource, object } = request
  const { reader, namespaces } = at
  const isWritten = operation === 'CREATE' || operation === 'UPDATE'
  if (resource.storagePrefix === namespaces.storagePrefix && isWritten && subresource === '') {
    return object?.metadata.labels ?? {}
  }
  const name = namespaceOf(request)
  const found = reader.get(namespaces, '', name)
  if (found === undefined) throw notFound(namespaces, name)
  return found.metadata.labels ?? {}
}

function areLabelsSelected(webhook: Pick<Webhook, 'objectSelector'>, request: AdmissionRequest) {
  const { objectSelector } = webhook
  if (objectSelector.length === 0) return true
  return [request.object, request.old].some(
    (object) => object !== undefined && matchesLabels(objectSelector, object.metadata?.labels),
  )
}

/** The version in which the request matches; undefined if it does not. Throws NotFound for its namespace. */
export function matchWebhook(
  webhook: Pick<Webhook, 'rules' | 'matchesEquivalent' | 'namespaceSelector' | 'objectSelector'>,
  request: AdmissionRequest,
  at: { reader: ObjectReader; namespaces: Resource; served: readonly Resource[] },
): Resource | undefined {
  if (!areLabelsSelected(webhook, request)) return undefined
  const { rules, matchesEquivalent, namespaceSelector } = webhook
  const matched = matchRules(request, { rules, matchesEquivalent, served: at.served })
  if (matched === undefined || namespaceSelector.length === 0) return matched
  if (namespaceOf(request) === '') return matched
  return matchesLabels(namespaceSelector, namespaceLabels(request, at)) ? matched : undefined
}
