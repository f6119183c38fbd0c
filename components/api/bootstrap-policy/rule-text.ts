/**
 * The short notation of the default roles. A rule is words: `<verbs> <groups> <resources> [<names>]`, or
 * `<verbs> <paths>` for non-resource URLs; the parts of a word are joined by commas.
 */
import type { Dialect } from '../dialect.ts'
import { apiGroup } from '../dialect.ts'
import type { PolicyRule } from '../generated/types.ts'

/** Role name to rules. `{api}` and `{label}` stand for the dialect's domains, in names and in rules. */
export type RoleTable = Readonly<Record<string, readonly string[]>>

const verbSets: Readonly<Record<string, readonly string[]>> = {
  read: ['get', 'list', 'watch'],
  write: ['create', 'delete', 'deletecollection', 'patch', 'update'],
  full: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
}

/** Every controller may report events. */
export const eventsRule = 'create,patch,update core,events events'

/** Fills in the dialect's domains. */
export function inDialect(text: string, dialect: Dialect): string {
  return text.replaceAll('{api}', dialect.apiDomain).replaceAll('{label}', dialect.labelDomain)
}

function groupName(stem: string, dialect: Dialect): string {
  if (stem === 'core') return ''
  return stem === '*' ? stem : apiGroup(dialect, stem)
}

/** Reads one rule. Throws on a wrong number of words: the tables are our own. */
export function parseRule(text: string, dialect: Dialect): PolicyRule {
  const words = inDialect(text, dialect).split(' ')
  const [verbWord = '', second = '', resources, names] = words
  if (words.length < 2 || words.length > 4) throw new Error(`not a rule: ${text}`)
  const verbs = [...(verbSets[verbWord] ?? verbWord.split(','))]
  if (resources === undefined) return { verbs, nonResourceURLs: second.split(',') }
  return {
    verbs,
    apiGroups: second.split(',').map((stem) => groupName(stem, dialect)),
    resources: resources.split(','),
    ...(names === undefined ? {} : { resourceNames: names.split(',') }),
  }
}
