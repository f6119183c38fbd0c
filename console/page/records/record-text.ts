/** record-text: a request of the journal in words. Pure. */
import type { RequestCause, RequestRecord } from '../../../components/api/request-record.ts'

/** `deployments.apps`: as causes name resources. */
export function resourceOf({ group, resource }: Pick<RequestRecord, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`
}

/** `default/web`, `web` for what has no namespace, or the namespace of a collection. */
export function keyOf({ namespace, name }: Pick<RequestRecord, 'namespace' | 'name'>): string {
  return namespace === '' || name === '' ? `${namespace}${name}` : `${namespace}/${name}`
}

/** `pods default/web-1`, or the path of a non-resource request. */
export function targetOf(record: RequestRecord): string {
  if (record.resource === '') return record.path
  return [resourceOf(record), keyOf(record)].filter((part) => part !== '').join(' ')
}

/** The user without what all components share: `deployment-controller`, `node node-1`, `jane`. */
export function actorOf({ user, userAgent }: Pick<RequestRecord, 'user' | 'userAgent'>): string {
  const account = /^system:serviceaccount:[^:]+:(.+)$/.exec(user)?.[1]
  if (account !== undefined) return account
  const node = /^system:node:(.+)$/.exec(user)?.[1]
  if (node !== undefined) return `node ${node}`
  if (user.startsWith('system:kube-')) return user.slice('system:'.length)
  if (user.startsWith('system:bootstrap:')) return 'a node that joins'
  return user === '' ? (userAgent.split('/')[0] ?? '') : user
}

export function causeText(cause: RequestCause): string {
  if (cause.kind === 'start') return 'it had just started'
  if (cause.kind === 'timer') return `timer: ${cause.what}`
  return `it saw ${cause.what} ${cause.key ?? ''} at ${cause.revision ?? ''}`
}

/** `create`, `apply`, `update of status`. */
export function verbOf({ verb, isApply, subresource }: RequestRecord): string {
  const what = isApply === true ? 'apply' : verb
  return subresource === '' ? what : `${what} of ${subresource}`
}

/** Of the day, with milliseconds, in the viewer's time zone. */
export function clockText(atMs: number): string {
  const date = new Date(atMs)
  const time = date.toLocaleTimeString('en-GB')
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
