/** The file of --audit-policy-file: read and validated; an error names every invalid field (upstream: apis/audit/validation). */
import { readFileSync } from 'node:fs'
import type { Dialect } from '../../api/dialect.ts'
import { StartError } from '../../component-base/component.ts'
import { FieldPath } from '../../machinery/validation/field-path.ts'
import { load } from '../../machinery/values/yaml.ts'
import {
  auditLevels,
  auditStages,
  type AuditLevel,
  type AuditStage,
} from '../request/audit-record.ts'
import type { AuditPolicy, AuditResources, AuditRule } from './policy.ts'

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown, at: FieldPath, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    at.invalidWithoutValue('must be an object')
    return {}
  }
  for (const name of Object.keys(value)) {
    if (!known.includes(name)) at.child(name).forbidden('unknown field')
  }
  return value as Fields
}

function listOf(value: unknown, at: FieldPath): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  at.invalidWithoutValue('must be a list')
  return []
}

function textsOf(value: unknown, at: FieldPath): string[] {
  return listOf(value, at).map((item, index) => {
    if (typeof item === 'string') return item
    at.index(index).invalidWithoutValue('must be a string')
    return ''
  })
}

function flagOf(value: unknown, at: FieldPath): boolean | undefined {
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? undefined
  at.invalidWithoutValue('must be true or false')
  return undefined
}

function oneOf<T extends string>(
  value: unknown,
  at: FieldPath,
  known: readonly T[],
): T | undefined {
  const found = known.find((one) => one === value)
  if (found !== undefined) return found
  if (value === undefined || value === '') at.required()
  else at.unsupported(typeof value === 'string' ? value : JSON.stringify(value), known)
  return undefined
}

function stagesOf(value: unknown, at: FieldPath): AuditStage[] {
  return listOf(value, at).flatMap((item, index) => oneOf(item, at.index(index), auditStages) ?? [])
}

function resourcesOf(value: unknown, at: FieldPath): AuditResources {
  const fields = fieldsOf(value, at, ['group', 'resources', 'resourceNames'])
  const { group = '' } = fields
  if (typeof group !== 'string') at.child('group').invalidWithoutValue('must be a string')
  else if (group.includes('/')) at.child('group').invalid(group, 'must not contain a version')
  const resources = textsOf(fields['resources'], at.child('resources'))
  const resourceNames = textsOf(fields['resourceNames'], at.child('resourceNames'))
  if (resourceNames.length > 0 && resources.length === 0) {
    at.child('resourceNames').invalidWithoutValue(
      'using resourceNames requires at least one resource',
    )
  }
  return { group: typeof group === 'string' ? group : '', resources, resourceNames }
}

function checkUrls(urls: readonly string[], at: FieldPath): void {
  for (const [index, url] of urls.entries()) {
    if (url === '*') continue
    if (!url.startsWith('/')) {
      at.index(index).invalid(url, 'non-resource URLs must start with a "/"')
    }
    if (url.slice(0, -1).includes('*')) {
      const why = 'non-resource URL wildcards "*" must be the final character'
      at.index(index).invalid(url, why)
    }
  }
}

const ruleFields = [
  'level',
  'users',
  'userGroups',
  'verbs',
  'resources',
  'namespaces',
  'nonResourceURLs',
  'omitStages',
  'omitManagedFields',
]

function ruleOf(value: unknown, at: FieldPath): AuditRule {
  const fields = fieldsOf(value, at, ruleFields)
  const texts = (name: string): string[] => textsOf(fields[name], at.child(name))
  const level: AuditLevel = oneOf(fields['level'], at.child('level'), auditLevels) ?? 'None'
  const resources = listOf(fields['resources'], at.child('resources')).map((item, index) =>
    resourcesOf(item, at.child('resources').index(index)),
  )
  const namespaces = texts('namespaces')
  const nonResourceURLs = texts('nonResourceURLs')
  checkUrls(nonResourceURLs, at.child('nonResourceURLs'))
  if (nonResourceURLs.length > 0 && resources.length + namespaces.length > 0) {
    const why = 'rules cannot apply to both regular resources and non-resource URLs'
    at.child('nonResourceURLs').invalidWithoutValue(why)
  }
  return {
    level,
    users: texts('users'),
    userGroups: texts('userGroups'),
    verbs: texts('verbs'),
    resources,
    namespaces,
    nonResourceURLs,
    omitStages: stagesOf(fields['omitStages'], at.child('omitStages')),
    omitManagedFields: flagOf(fields['omitManagedFields'], at.child('omitManagedFields')),
  }
}

/** Throws an Error of one line that names every invalid field. */
export function parseAuditPolicy(text: string, dialect: Dialect): AuditPolicy {
  const root = FieldPath.root()
  const known = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields']
  const fields = fieldsOf(load(text), root, known)
  oneOf(fields['apiVersion'], root.child('apiVersion'), [`audit.${dialect.apiDomain}/v1`])
  oneOf(fields['kind'], root.child('kind'), ['Policy'])
  const rules = listOf(fields['rules'], root.child('rules')).map((item, index) =>
    ruleOf(item, root.child('rules').index(index)),
  )
  if (rules.length === 0) root.child('rules').required('a policy without rules records nothing')
  const policy = {
    rules,
    omitStages: stagesOf(fields['omitStages'], root.child('omitStages')),
    omitManagedFields:
      flagOf(fields['omitManagedFields'], root.child('omitManagedFields')) ?? false,
  }
  if (root.errors.length === 0) return policy
  const places = root.errors.map(({ field, message }) => (field ? `${field}: ${message}` : message))
  throw new Error(places.join('; '))
}

/** Throws a StartError of one line that names the file and its errors. */
export function readAuditPolicy(path: string, dialect: Dialect): AuditPolicy {
  try {
    return parseAuditPolicy(readFileSync(path, 'utf8'), dialect)
  } catch (error) {
    const [why = ''] = (error as Error).message.split('\n')
    throw new StartError(`--audit-policy-file: ${path}: ${why}`, error)
  }
}
