/** The mode ABAC: a policy file with one JSON object a line; any line that matches allows (spec: "ABAC policy file"). */
import type { Dialect } from '../../api/dialect.ts'
import { document, flag, struct, text } from '../../machinery/configuration/config-schema.ts'
import { readConfiguration } from '../../machinery/configuration/read-configuration.ts'
import type { AuthorizationAttributes, UserInfo } from '../request/request.ts'
import type { Authorizer, Decision, NonResourceRule, ResourceRule } from './authorizer.ts'

interface Policy {
  readonly user?: string
  readonly group?: string
  readonly apiGroup?: string
  readonly namespace?: string
  readonly resource?: string
  readonly nonResourcePath?: string
  readonly readonly?: boolean
}

const schema = document('Policy', {
  spec: struct('PolicySpec', {
    user: text,
    group: text,
    apiGroup: text,
    namespace: text,
    resource: text,
    nonResourcePath: text,
    readonly: flag,
  }),
})

/** Reads a policy file; blank lines and lines that start with # are ignored. Throws an Error that names the line. */
export function parsePolicies(source: string, dialect: Dialect): readonly Policy[] {
  const policies: Policy[] = []
  for (const [at, raw] of source.split('\n').entries()) {
    const line = raw.trim()
    if (line === '' || line.startsWith('#')) continue
    try {
      if (!line.startsWith('{')) throw new Error('a line holds one JSON object')
      const { spec } = readConfiguration<{ spec?: Policy }>(line, {
        kind: 'Policy',
        group: `abac.authorization.${dialect.labelDomain}`,
        versions: ['v1beta1'],
        schema,
      })
      policies.push(spec ?? {})
    } catch (error) {
      throw new Error(`line ${at + 1}: ${(error as Error).message}`, { cause: error })
    }
  }
  return policies
}

/** User and group must match if given; a policy without both matches no user. */
function matchesSubject({ user = '', group = '' }: Policy, who: UserInfo): boolean {
  if (user === '' && group === '') return false
  const isUser = user === '' || user === '*' || user === who.name
  const isGroup = group === '' || group === '*' || who.groups.includes(group)
  return isUser && isGroup
}

const reading = ['get', 'list', 'watch']

function matchesResource(policy: Policy, asked: AuthorizationAttributes): boolean {
  const { namespace = '', resource = '', apiGroup = '' } = policy
  return (
    (namespace === '*' || namespace === asked.namespace) &&
    (resource === '*' || resource === asked.resource) &&
    (apiGroup === '*' || apiGroup === asked.group)
  )
}

function matchesPath({ nonResourcePath = '' }: Policy, path: string): boolean {
  if (nonResourcePath === '') return false
  if (nonResourcePath.endsWith('*')) return path.startsWith(nonResourcePath.slice(0, -1))
  return nonResourcePath === path
}

function matches(policy: Policy, asked: AuthorizationAttributes): boolean {
  if (!matchesSubject(policy, asked.user)) return false
  if (policy.readonly === true && !reading.includes(asked.verb)) return false
  return asked.isResourceRequest ? matchesResource(policy, asked) : matchesPath(policy, asked.path)
}

const allowed: Decision = { decision: 'allow', reason: '' }
const noneMatched: Decision = { decision: 'no-opinion', reason: 'No policy matched.' }

export function abacAuthorizer(policies: readonly Policy[]): Authorizer {
  return {
    name: 'ABAC',
    authorize: (asked) =>
      policies.some((policy) => matches(policy, asked)) ? allowed : noneMatched,
    explain(asked) {
      const policy = policies.find((one) => matches(one, asked))
      return policy === undefined
        ? { decision: noneMatched, detail: { missing: 'no line of the policy file allows it' } }
        : { decision: allowed, detail: { policy } }
    },
    rulesFor(user, namespace) {
      const resourceRules: ResourceRule[] = []
      const nonResourceRules: NonResourceRule[] = []
      for (const policy of policies) {
        if (!matchesSubject(policy, user)) continue
        const { resource = '', apiGroup = '', nonResourcePath = '' } = policy
        const isHere = policy.namespace === '*' || policy.namespace === namespace
        const verbs = policy.readonly === true ? reading : ['*']
        if (resource !== '' && isHere) {
          resourceRules.push({ verbs, apiGroups: [apiGroup], resources: [resource] })
        }
        if (nonResourcePath !== '') {
          nonResourceRules.push({ verbs, nonResourceURLs: [nonResourcePath] })
        }
      }
      return { resourceRules, nonResourceRules, incomplete: false }
    },
  }
}
