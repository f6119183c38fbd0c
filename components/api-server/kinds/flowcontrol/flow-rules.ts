/** Rules of FlowSchemas: whose requests, and which. */
import type {
  FlowcontrolSubject,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import { label1123, subdomain } from '../../../machinery/validation/names.ts'

const verbs = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'proxy',
  'update',
  'watch',
]

function validateVerbs(given: readonly string[], at: FieldPath): void {
  if (given.length === 0) at.required('verbs must contain at least one value')
  else if (given.includes('*')) {
    if (given.length > 1) {
      at.invalid(goList(given), "if '*' is present, must not specify other verbs")
    }
  } else if (!given.every((verb) => verbs.includes(verb))) at.unsupported(goList(given), verbs)
}

function validateSubject(subject: FlowcontrolSubject, at: FieldPath): void {
  const fields = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const
  const kind = subject.kind as keyof typeof fields
  if (!Object.hasOwn(fields, kind)) {
    at.child('kind').unsupported(kind, ['Group', 'ServiceAccount', 'User'])
    return
  }
  const own = fields[kind]
  const named = subject[own]
  if (!named) at.child(own).required(`${own} is required when subject kind is '${kind}'`)
  else if (!named.name) at.child(own).child('name').required()
  if (own === 'serviceAccount' && subject.serviceAccount) {
    const { name, namespace } = subject.serviceAccount
    const accountAt = at.child('serviceAccount')
    if (name && name !== '*') accountAt.child('name').invalidEach(name, subdomain(name))
    const namespaceAt = accountAt.child('namespace')
    if (!namespace) namespaceAt.required('must specify namespace for service account')
    else namespaceAt.invalidEach(namespace, label1123(namespace))
  }
  for (const [otherKind, field] of Object.entries(fields)) {
    if (field === own || !subject[field]) continue
    at.child(field).forbidden(`${field} is forbidden when subject kind is not '${otherKind}'`)
  }
}

function validateResources(rule: ResourcePolicyRule, at: FieldPath): void {
  const { apiGroups, resources, clusterScope } = rule
  const namespaces = rule.namespaces ?? []
  validateVerbs(rule.verbs ?? [], at.child('verbs'))
  if (!apiGroups?.length) {
    at.child('apiGroups').required('resource rules must supply at least one api group')
  } else if (apiGroups.length > 1 && apiGroups.includes('*')) {
    const why = "if '*' is present, must not specify other api groups"
    at.child('apiGroups').invalid(goList(apiGroups), why)
  }
  if (!resources?.length) {
    at.child('resources').required('resource rules must supply at least one resource')
  } else if (resources.length > 1 && resources.includes('*')) {
    const why = "if '*' is present, must not specify other resources"
    at.child('resources').invalid(goList(resources), why)
  }
  const namespacesAt = at.child('namespaces')
  if (namespaces.length === 0 && !clusterScope) {
    namespacesAt.required(
      'resource rules that are not cluster scoped must supply at least one namespace',
    )
  } else if (namespaces.includes('*')) {
    if (namespaces.length === 1) return
    const why = "if '*' is present, must not specify other namespaces"
    namespacesAt.invalid(goList(namespaces), why)
  } else {
    for (const [i, namespace] of namespaces.entries()) {
      for (const fault of label1123(namespace)) {
        const why = `each member of this list must be '*' or a DNS-1123 label; ${fault}`
        namespacesAt.index(i).invalid(namespace, why)
      }
    }
  }
}

/** Why a pattern of URL paths is invalid. */
function urlFault(path: string): string | undefined {
  if (path === '') return 'must not be empty'
  if (path === '/') return undefined
  if (!path.startsWith('/')) return 'must start with slash'
  if (path.includes(' ')) return 'must not contain white-space'
  if (path.includes('//')) return 'must not contain double slash'
  const stars = path.split('*').length - 1
  if (stars > 1 || (stars === 1 && !path.endsWith('/*'))) {
    return 'wildcard can only do suffix matching'
  }
  return undefined
}

function validateUrls(rule: NonResourcePolicyRule, at: FieldPath): void {
  validateVerbs(rule.verbs ?? [], at.child('verbs'))
  const urls = rule.nonResourceURLs ?? []
  const urlsAt = at.child('nonResourceURLs')
  if (urls.length === 0) urlsAt.required('nonResourceURLs must contain at least one value')
  else if (urls.includes('*')) {
    if (urls.length === 1) return
    const why = "if '*' is present, must not specify other non-resource URLs"
    urlsAt.invalid(goList(urls), why)
  } else {
    for (const [i, url] of urls.entries()) {
      const fault = urlFault(url)
      if (fault !== undefined) urlsAt.index(i).invalid(url, fault)
    }
  }
}

export function validateFlowRule(rule: PolicyRulesWithSubjects, at: FieldPath): void {
  const [subjects, resourceRules] = [rule.subjects ?? [], rule.resourceRules ?? []]
  const urlRules = rule.nonResourceRules ?? []
  if (subjects.length === 0) {
    at.child('subjects').required('subjects must contain at least one value')
  }
  for (const [i, subject] of subjects.entries()) {
    validateSubject(subject, at.child('subjects').index(i))
  }
  if (resourceRules.length === 0 && urlRules.length === 0) {
    at.required('at least one of resourceRules and nonResourceRules has to be non-empty')
  }
  for (const [i, resources] of resourceRules.entries()) {
    validateResources(resources, at.child('resourceRules').index(i))
  }
  for (const [i, urls] of urlRules.entries()) {
    validateUrls(urls, at.child('nonResourceRules').index(i))
  }
}
