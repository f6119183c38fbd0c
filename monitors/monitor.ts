/**
 * Monitor: a rule that must hold at every moment of a cluster's life, as a value. It judges events alone: it does no I/O, has no clock
 * but the events' times, and keeps no more than a few facts for each object that exists.
 */
import type { Dialect } from '../components/api/dialect.ts'
import type { RequestRecord } from '../components/api/request-record.ts'
import { apiVersionOf, type Resource } from '../components/machinery/objects/resource.ts'
import type { Change } from './change.ts'

/** The object that a violation is about. */
export interface ViolatingObject {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly uid?: string
}

/** A violation as a rule finds it. */
export interface Finding {
  readonly object: ViolatingObject
  /** The resourceVersions that show it, oldest first. */
  readonly revisions: readonly string[]
  /** One sentence that names the objects and what is wrong. */
  readonly text: string
}

/** Who wrote a revision. */
export interface Writer {
  readonly revision: string
  /** Undefined where the request journal does not know the revision. */
  readonly user?: string
  readonly userAgent?: string
  readonly verb?: string
  readonly subresource?: string
  /** Field managers of the write, where the journal does not know the revision. */
  readonly managers?: readonly string[]
}

export interface Violation extends Finding {
  /** Name of the monitor. */
  readonly monitor: string
  /** When it was found, in milliseconds since the epoch by the cluster's clock. */
  readonly atMs: number
  /** Of the revisions that are known. */
  readonly writers: readonly Writer[]
}

/** What a rule may ask. */
export interface RuleContext {
  readonly dialect: Dialect
  /** Every kind whose changes are reported: an owner of such a kind that is not known does not exist. */
  readonly watched: () => readonly Pick<Resource, 'group' | 'version' | 'plural' | 'kind'>[]
  /** The request that made a revision; undefined where the journal does not know it. */
  readonly authorOf: (revision: number) => RequestRecord | undefined
}

/** One use of a monitor. It is given all changes of the watched kinds in the order of their revisions. */
export interface Rule {
  /** Violations that this change shows. */
  take?(change: Change): Finding[]
  /** Violations that this request shows. */
  request?(record: RequestRecord): Finding[]
  /** Violations that show when all changes up to `nowMs` have been taken. Each is reported once. */
  rest?(nowMs: number): Finding[]
}

export interface Monitor {
  readonly name: string
  /** One line: what it promises. */
  readonly summary: string
  /** Whether the monitor needs this kind's objects. */
  readonly watches: (resource: Resource) => boolean
  /** Without the request journal: `nothing` it does not work, `part` it sees less, in the words of `withoutJournal`. */
  readonly journal: 'unused' | 'part' | 'needed'
  readonly withoutJournal?: string
  start(context: RuleContext): Rule
}

/** How a finding names the object of a change. */
export function objectOf({
  resource,
  object,
}: Pick<Change, 'resource' | 'object'>): ViolatingObject {
  const { namespace, name = '', uid } = object.metadata
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(uid === undefined ? {} : { uid }),
  }
}

/** A finding about the object of a change; further revisions are older than the change's own. */
export function findingOf(change: Change, text: string, earlier: readonly string[] = []): Finding {
  return { object: objectOf(change), revisions: [...earlier, String(change.revision)], text }
}
