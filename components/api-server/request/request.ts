/** The values that a request carries through the chain: its user, its target and the answer. */
import type { Dialect } from '../../api/dialect.ts'
import type { Answer, HttpRequest } from '../../component-base/http.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { AuditRecord } from './audit-record.ts'
import type { Cbor } from '../encoding/cbor-form.ts'
import type { YamlBodies } from '../encoding/yaml-bodies.ts'

export type {
  Answer,
  HttpRequest,
  PeerCertificate,
  ResponseSink,
} from '../../component-base/http.ts'

/** Who a request acts for. Opaque to authentication, interpreted by authorization. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** One selector requirement as authorizers see it. */
export interface SelectorRequirement {
  readonly key: string
  readonly operator: string
  readonly values: readonly string[]
}

/** The attributes by which authorizers decide (spec: "Authorization"). */
export interface AuthorizationAttributes {
  readonly user: UserInfo
  readonly verb: string
  readonly isResourceRequest: boolean
  /** Set for resource requests. `resource` is the plural without the sub-resource. */
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  /** The URL path, for non-resource requests. */
  readonly path: string
  readonly fieldSelector?: readonly SelectorRequirement[]
  readonly labelSelector?: readonly SelectorRequirement[]
}

/** The parsed target of a request (upstream: apiserver pkg/endpoints/request RequestInfo). */
export interface RequestInfo {
  readonly isResourceRequest: boolean
  /** Path without the query, percent-encoding kept. */
  readonly path: string
  readonly query: URLSearchParams
  /** Request verb: get, list, watch, create, update, patch, delete, deletecollection, proxy; else the lower-case method. */
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly namespace: string
  /** The plural in the path, '' for non-resource requests. */
  readonly plural: string
  readonly name: string
  readonly subresource: string
  /** Path segments after the sub-resource (proxy). */
  readonly rest: readonly string[]
}

/** Filters fill it in, in chain order; handlers read it. */
export interface RequestContext {
  readonly http: HttpRequest
  readonly dialect: Dialect
  readonly id: string
  readonly receivedAtMs: number
  info: RequestInfo
  user: UserInfo
  /** The served resource, once routed; undefined for non-resource requests. */
  resource: Resource | undefined
  /** CBOR in and out, when its feature gate is on. */
  readonly cbor?: Cbor | undefined
  readonly yaml: Pick<YamlBodies, 'read' | 'write'>
  /** Set when the body is large: processing it takes several turns of the event loop. */
  isLarge?: boolean
  /** Set for watches and followers of the request journal: aborts when the caller's credential or permission becomes invalid. */
  lost?: AbortSignal
  /** Set for watches that begin with the present state: resolves once all of it was taken from the cache to be sent. */
  started?: Promise<void>
  /** Extra headers of the response, successful or not. */
  answerHeaders?: Readonly<Record<string, string>>
  /** Texts for `Warning` response headers, in order. */
  warnings: string[]
  /** Annotations for the audit record: `part/name` gets the dialect's domain; a name with a leading slash is complete. */
  annotations: Record<string, string>
  /** Which authenticator accepted the credential; undefined for an anonymous user. */
  authenticator?: string
  /** The user that impersonates `user`. */
  impersonator?: string
  /** What the request has written. */
  made?: MadeRevisions
  /** Of an update: the resourceVersion in its body, '' for one without. Of a create: undefined. */
  sentVersion?: string
  /** Of a create: whether its body names an owner. */
  isOwned?: boolean
  /** The write changes the status, where that takes a request to the sub-resource `status`: what it says of the status is ignored. */
  isStatusIgnored?: boolean
  /** The write is a dry run, as its options say. */
  isDryRun?: boolean
  /** The message of the Status that answers it. */
  failure?: string
  /** How the body names its object, for the audit record; undefined without an audit record. */
  named?: NamedObject
  /** The audit record; undefined without one. */
  audit?: AuditRecord
  /** Undefined when the lab had no faults as it came. */
  faults?: MetFaults
}

/** The commits of one request. */
export interface MadeRevisions {
  /** Of the newest: `namespace/name` or `name`. */
  key: string
  /** Oldest first. */
  readonly revisions: number[]
}

const mostRevisions = 1000

/** Notes a commit of the request. */
export function noteMade(
  context: Pick<RequestContext, 'made'>,
  key: string,
  revision: number,
): void {
  const { made } = context
  if (made === undefined) {
    context.made = { key, revisions: [revision] }
    return
  }
  made.key = key
  if (made.revisions.length === mostRevisions) made.revisions.shift()
  made.revisions.push(revision)
}

/** How a request's body names its object (upstream: audit.LogRequestObject). */
export interface NamedObject {
  name?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
}

/** Keeps how the sent object names itself, before defaults are set. */
export function noteNamed(context: RequestContext, { metadata }: KubeObject): void {
  if (context.named === undefined) return
  const { name, namespace, uid, resourceVersion } = metadata
  if (name) context.named.name = name
  if (namespace) context.named.namespace = namespace
  if (uid) context.named.uid = uid
  if (resourceVersion) context.named.resourceVersion = resourceVersion
}

/** What faults of the lab do to one request. */
export interface MetFaults {
  /** The ids of those that have fired for it, each once. */
  readonly fired: readonly string[]
  /** Called once, when the user is known: delays the request, rejects it, or passes it on. */
  meet(context: RequestContext, next: Next): Promise<Answer>
  /** By how much the state that a read shows is old; undefined for the newest. The handler that can show it asks once. */
  staleMs(): number | undefined
}

/** The next step of the chain. */
export type Next = (context: RequestContext) => Promise<Answer>

/** One step that every request takes. */
export type Filter = (context: RequestContext, next: Next) => Promise<Answer>
