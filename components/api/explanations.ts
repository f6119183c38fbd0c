/** Explanations: what the API server answers at `/explain/...`, and `skiff why` shows. Nothing in them is secret. */
import type { KubeObject } from '../machinery/objects/object.ts'
import type { PolicyRule, Subject } from './generated/types.ts'

/** A binding that gives a request what it asks for, and the rules of its role that do. */
export interface AllowingGrant {
  readonly binding: { readonly kind: string; readonly namespace?: string; readonly name: string }
  readonly role: { readonly kind: string; readonly namespace?: string; readonly name: string }
  readonly subject: Subject
  readonly rules: readonly PolicyRule[]
}

/** A way from a node over a pod that is bound to it to an object. */
export interface NodeWay {
  readonly node: string
  /** `pod a/b`, then what it names, and what that is bound to. */
  readonly path: readonly string[]
}

/** What an authorizer's opinion rests on; each fills in what it knows. */
export interface OpinionDetail {
  /** RBAC: every binding that allows it. */
  readonly grants?: readonly AllowingGrant[]
  /** Node: the rule that every node agent has, or how the object is tied to the node, or to other nodes. */
  readonly rule?: PolicyRule
  readonly way?: NodeWay
  readonly otherWays?: readonly NodeWay[]
  /** What there would have to be. */
  readonly missing?: string
  /** Webhook: whether the remote was asked now, or why not. */
  readonly call?: string
  /** ABAC: the policy that matched. */
  readonly policy?: unknown
}

export interface Opinion {
  readonly name: string
  readonly type: string
  /** `not-asked`: an earlier one had decided. */
  readonly opinion: 'allow' | 'deny' | 'no-opinion' | 'not-asked'
  readonly reason?: string
  readonly evaluationError?: string
  readonly detail?: OpinionDetail
}

export interface ExplainedUser {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** What was asked about. */
export interface ExplainedAttributes {
  readonly user: ExplainedUser
  readonly verb: string
  readonly isResourceRequest: boolean
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly path: string
}

export interface AccessExplanation {
  readonly allowed: boolean
  /** The message of the 403, when it is not allowed. */
  readonly message?: string
  readonly attributes: ExplainedAttributes
  readonly authorizers: readonly Opinion[]
  /** A role and its binding with which RBAC would allow just this. */
  readonly wouldAllow?: readonly KubeObject[]
}

/** What one authenticator said of a credential. */
export interface Trial {
  readonly name: string
  readonly result: 'user' | 'none' | 'failed'
  readonly why?: string
}

export type TokenContent =
  | {
      readonly form: 'jwt'
      readonly header: Readonly<Record<string, unknown>>
      readonly claims: Readonly<Record<string, unknown>>
    }
  /** Its first half is no secret. */
  | { readonly form: 'bootstrap token'; readonly id: string }
  | { readonly form: 'opaque'; readonly length: number }

export interface TokenExplanation {
  readonly authenticated: boolean
  readonly user?: ExplainedUser
  readonly audiences?: readonly string[]
  /** Why not. */
  readonly reason?: string
  readonly token: TokenContent
  readonly authenticators: readonly Trial[]
}

/** The admission plugin that rejected an authorized write. */
export interface AdmissionRefusal {
  /** Upstream's plugin name, as in --enable-admission-plugins. */
  readonly plugin: string
  readonly policy?: string
  readonly binding?: string
  readonly webhook?: string
}

/** A request that was answered 401 or 403, or that admission refused with any status; those that were alike count as one. */
export interface DeniedRequest {
  readonly status: number
  /** Of the newest. */
  readonly time: string
  readonly requestId: string
  readonly count: number
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly remoteAddress: string
  readonly reason: string
  /** Of a 401: what each authenticator said. */
  readonly authenticators?: readonly Trial[]
  /** Of what admission refused: by whom, and whose request it was. */
  readonly admission?: AdmissionRefusal & { readonly user: string }
}

export interface DeniedExplanations {
  /** Newest first. A 403 is explained as of now: rights may have come since. */
  readonly items: readonly (DeniedRequest & { readonly explanation?: AccessExplanation })[]
}

/** A field that a change gave another value; values as short text. */
export interface ChangedField {
  /** `status.conditions[type=Ready].status`. */
  readonly path: string
  readonly before: string
  readonly after: string
}

/** What an Event object says. */
export interface EventText {
  readonly type: string
  readonly reason: string
  readonly message: string
  /** `Pod/web-1`. */
  readonly regarding: string
  readonly count: number
}

/** One change of one object. */
export interface NamespaceChange {
  /** When it was committed. Of an `existing` object: when it was created. */
  readonly time: string
  readonly resourceVersion: string
  /** `existing`: it was created before the changes that are known. */
  readonly type: 'existing' | 'created' | 'changed' | 'deleted'
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  /** Field managers of the write; of a deletion none are known. */
  readonly managers: readonly string[]
  /** Of a `changed` object; values of Secrets are hidden. */
  readonly fields?: readonly ChangedField[]
  /** How many more fields it changed. */
  readonly moreFields?: number
  readonly event?: EventText
}

export interface ChangesExplanation {
  /** Oldest first: changes in a namespace, and of cluster-scoped objects meanwhile. */
  readonly items: readonly NamespaceChange[]
  /** How far back: to the creation of the namespace, to the beginning of the server's history, or to the limit. */
  readonly reaches: 'creation' | 'history' | 'limit'
}
