/** Explanations: asks the API server's /explain/ endpoints why requests are allowed or denied. */
import type {
  AccessExplanation,
  DeniedExplanations,
  TokenExplanation,
} from '../../components/api/explanations.ts'
import type { Client } from '../../components/client/client.ts'
import type { ServerResources } from '../../components/client/server-resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { apiVersionOf } from '../../components/machinery/objects/resource.ts'
import { ClusterError } from '../cluster-error.ts'
import { resourceNamed } from './named-resource.ts'
import { verbFault } from './request-verbs.ts'

/** The user of a question. */
export interface Somebody {
  readonly user: string
  readonly groups: readonly string[]
  readonly uid?: string
}

/** The spec of a SubjectAccessReview. */
export type AccessSpec = Readonly<Record<string, unknown>>

export type Explained =
  | { readonly kind: 'access'; readonly explanation: AccessExplanation }
  | { readonly kind: 'token'; readonly explanation: TokenExplanation }

const serviceAccountForm = /^system:serviceaccount:([^:]+):[^:]+$/

/** Adds the groups that every user of that name has, as for an impersonated user. */
export function withUsualGroups(somebody: Somebody): Somebody {
  const { user, groups } = somebody
  const [, namespace] = serviceAccountForm.exec(user) ?? []
  const own =
    namespace === undefined || groups.length > 0
      ? []
      : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
  const usual = user === 'system:anonymous' ? 'system:unauthenticated' : 'system:authenticated'
  return { ...somebody, groups: [...new Set([...groups, ...own, usual])] }
}

function specOf(who: Somebody, attributes: AccessSpec): AccessSpec {
  const { user, groups, uid } = who
  return { user, groups, ...(uid === undefined ? {} : { uid }), ...attributes }
}

/** The question behind `VERB RESOURCE[/NAME]` or `VERB /path`; calls `warn` for a resource that the server does not have. */
export async function accessSpec(
  client: Client,
  asked: {
    readonly who: Somebody
    readonly verb: string
    readonly target: string
    readonly subresource: string
    /** '' for all of them. */
    readonly namespace: string
    readonly warn: (text: string) => void
  },
): Promise<AccessSpec> {
  const { who, verb, target, subresource, namespace, warn } = asked
  if (target.startsWith('/')) return specOf(who, { nonResourceAttributes: { path: target, verb } })
  const [type = '', name = '', ...more] = target.split('/')
  if (type === '' || more.length > 0) {
    throw new ClusterError('usage', `"${target}" is neither RESOURCE[/NAME] nor a path`, {
      hint: 'pass a subresource with --subresource',
    })
  }
  const resource = type === '*' ? undefined : await resourceNamed(client, type)
  if (resource === undefined && type !== '*') {
    warn(`the server has no resource "${type}"; asking about that name unchanged`)
  }
  const [plural = '', ...group] = type.split('.')
  return specOf(who, {
    resourceAttributes: {
      verb,
      group: resource?.group ?? (type === '*' ? '*' : group.join('.')),
      version: resource?.version ?? '*',
      resource: resource?.plural ?? plural,
      ...(subresource === '' ? {} : { subresource }),
      ...(resource?.namespaced === false || namespace === '' ? {} : { namespace }),
      ...(name === '' ? {} : { name }),
    },
  })
}

const accessReviews = ['SubjectAccessReview', 'LocalSubjectAccessReview', 'SelfSubjectAccessReview']

/** What a SubjectAccessReview asks; `group` is how v1beta1 spelled `groups`. */
function reviewSpec(review: KubeObject, who: Somebody | undefined): AccessSpec {
  const { group, ...spec } = (review['spec'] ?? {}) as Record<string, unknown>
  if (review.kind === 'SelfSubjectAccessReview') return specOf(neededUser(who, review.kind), spec)
  return group === undefined ? spec : { ...spec, groups: group }
}

function neededUser(who: Somebody | undefined, what: string): Somebody {
  if (who !== undefined) return who
  throw new ClusterError('usage', `${what}: the user is missing: pass --as USER`, {
    hint: 'see: skiff why --help',
  })
}

/** Whether the user may create the object. */
function creationSpec(
  object: KubeObject,
  by: {
    readonly who: Somebody
    readonly namespace: string
    readonly resources: ServerResources
  },
): AccessSpec {
  const { kind = '', apiVersion = '' } = object
  const resource = by.resources.all.find(
    (one) => one.kind === kind && apiVersionOf(one) === apiVersion,
  )
  if (resource === undefined) {
    throw new ClusterError('failed', `the server has no ${kind} in version ${apiVersion}`, {
      hint: 'see: kubectl api-resources',
    })
  }
  const { group, version, plural, namespaced } = resource
  const namespace = object.metadata?.namespace ?? by.namespace
  return specOf(by.who, {
    resourceAttributes: {
      verb: 'create',
      group,
      version,
      resource: plural,
      ...(namespaced ? { namespace } : {}),
    },
  })
}

function faultOf({ resourceAttributes, nonResourceAttributes }: AccessSpec): string | undefined {
  const verbOf = (attributes: unknown): unknown =>
    (attributes as { verb?: unknown } | undefined)?.verb
  const [ofResource, ofPath] = [verbOf(resourceAttributes), verbOf(nonResourceAttributes)]
  if (typeof ofResource === 'string' && ofResource !== '') return verbFault(ofResource, 'resource')
  return typeof ofPath === 'string' && ofPath !== '' ? verbFault(ofPath, 'path') : undefined
}

/** A verb that no request has gets a warning through `warn`, and no suggested role. */
export async function explainAccess(
  client: Client,
  spec: AccessSpec,
  warn: (text: string) => void,
): Promise<Explained> {
  const explanation = await client.rest.json({
    method: 'POST',
    path: '/explain/access',
    body: { spec },
  })
  const { wouldAllow, ...rest } = explanation as AccessExplanation
  const fault = faultOf(spec)
  if (fault !== undefined) warn(fault)
  const remedy = fault === undefined && wouldAllow !== undefined ? { wouldAllow } : {}
  return { kind: 'access', explanation: { ...rest, ...remedy } }
}

export async function explainToken(
  client: Client,
  spec: { readonly token: string; readonly audiences: readonly string[] },
): Promise<Explained> {
  const explanation = await client.rest.json({
    method: 'POST',
    path: '/explain/token',
    body: { spec },
  })
  return { kind: 'token', explanation: explanation as TokenExplanation }
}

/** A review is asked as it stands; of any other object, whether the user may create it. */
export async function explainManifest(
  client: Client,
  object: KubeObject,
  by: {
    readonly who: Somebody | undefined
    readonly namespace: string
    readonly resources: ServerResources
    readonly warn: (text: string) => void
  },
): Promise<Explained> {
  const { kind = '' } = object
  if (accessReviews.includes(kind))
    return await explainAccess(client, reviewSpec(object, by.who), by.warn)
  if (kind === 'TokenReview') {
    const { token = '', audiences = [] } = (object['spec'] ?? {}) as {
      token?: string
      audiences?: string[]
    }
    return await explainToken(client, { token, audiences })
  }
  const who = neededUser(by.who, kind)
  return await explainAccess(client, creationSpec(object, { ...by, who }), by.warn)
}

/** The last denied requests, newest first. */
export async function explainDenied(client: Client, limit: number): Promise<DeniedExplanations> {
  const path = `/explain/denied?limit=${limit}`
  return (await client.rest.json({ method: 'GET', path })) as DeniedExplanations
}
