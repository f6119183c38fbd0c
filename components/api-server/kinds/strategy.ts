/** Strategy: the pure per-kind part of the generic verbs (upstream: registry/rest/{create,update,delete}.go). */
import type { Dialect } from '../../api/dialect.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { FieldError } from '../../machinery/objects/status-error.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { UserInfo } from '../request/request.ts'
import type { ServiceAllocator } from './core/service-allocator.ts'

export interface StrategyContext {
  readonly dialect: Dialect
  /** As the request names it; objects are in its storage form. Rules of two versions can differ (Event). */
  readonly resource: Resource
  readonly nowMs: number
  readonly user: UserInfo
  readonly reader: ObjectReader
  readonly dryRun: boolean
  readonly gates: FeatureGates
  /** Gives Services their addresses and ports; without one they keep what they ask for. */
  readonly serviceAllocator?: ServiceAllocator | undefined
  random(): number
}

/** What defaults may depend on. */
export type DefaultsContext = Pick<StrategyContext, 'dialect' | 'gates' | 'resource'>

/** How one sub-resource's PUT or PATCH changes the stored object. */
export interface SubresourceStrategy {
  /** `object` is a draft: restore what this sub-resource may not change from `old`. */
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): void
  validateUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): FieldError[]
}

export interface DeletePlan {
  /** Seconds of grace; 0 removes the object at once (unless finalizers hold it). */
  readonly gracePeriodSeconds: number
}

/** Ends what `begin` began: `isWritten` says whether the object was written. */
export type FinishWrite = (isWritten: boolean) => Promise<void>

/**
 * All hooks are optional. Apart from `release`, `begin` and `afterDelete`, they are pure except that they change the draft they are given.
 */
export interface Strategy {
  /**
   * Fills defaults as upstream's SetDefaults; runs on every decoded object before everything else, and on what another API server
   * may have stored. Changes nothing the second time.
   */
  applyDefaults?(object: KubeObject, context: DefaultsContext): void
  /**
   * For rules that need large modules: the strategy to go on with once defaults are filled in, which has what rules of the
   * object need. Undefined: this one.
   */
  load?(object: KubeObject): Promise<Strategy> | undefined
  /** Warnings about a new object as it is before `prepareForCreate`. */
  warningsAsGiven?(object: KubeObject, context: StrategyContext): string[]
  /** Sets what the server owns on a new object (status, generation is generic). */
  prepareForCreate?(object: KubeObject, context: StrategyContext): void
  /** Restores what a plain update may not change. The generic verb has put `status` back when there is a status sub-resource. */
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): void
  validate?(object: KubeObject, context: StrategyContext): FieldError[]
  /** Besides the generic metadata rules; call `validate` from it where upstream does. */
  validateUpdate?(object: KubeObject, old: KubeObject, context: StrategyContext): FieldError[]
  /** Texts for `Warning` headers. */
  warnings?(object: KubeObject, old: KubeObject | undefined, context: StrategyContext): string[]
  /** `status` and others by name. Without an entry for `status`, the generic one keeps all but status and most metadata from `old`. */
  readonly subresources?: Readonly<Record<string, SubresourceStrategy>>
  /** Which names are valid: default `subdomain` (RFC 1123 subdomain). `path` is any path segment (RBAC). */
  readonly nameForm?: 'subdomain' | 'label' | 'label-1035' | 'path'
  /** `metadata.generation` counts changes of everything but metadata and status. */
  readonly hasGeneration?: boolean
  /** The status counts too (custom kinds without a sub-resource for it). */
  readonly statusCounts?: boolean
  /** PUT without resourceVersion is allowed (upstream AllowUnconditionalUpdate); default true. */
  readonly allowUnconditionalUpdate?: boolean
  /** Why the object cannot be deleted, sent as a 403; undefined when it can. */
  refuseDelete?(object: KubeObject): string | undefined
  /** Grace for a delete, given what the client asked for (undefined: nothing). Default: none, deleted at once. */
  planDelete?(object: KubeObject, requestedSeconds: number | undefined): DeletePlan
  /** Changes the draft of an object that enters its terminating state (Namespace: `status.phase`). */
  prepareForDelete?(object: KubeObject): void
  /** True while something besides `metadata.finalizers` keeps a terminating object (Namespace: `spec.finalizers`). */
  holdsDeletion?(object: KubeObject): boolean
  /** Dependents are orphaned when a delete names no policy (batch/v1 Job, ReplicationController); default: deleted. */
  readonly orphansByDefault?: boolean
  /** Called at the end of every create and update, whatever became of it: gives back what the preparation of the draft reserved. */
  release?(draft: KubeObject, context: StrategyContext): void
  /**
   * Takes what the object needs outside of itself, once it is valid and before it is written; not for a dry run. The write
   * waits for the result and calls it afterwards, unless a fault of the store leaves open whether it was written (upstream:
   * BeginCreate, BeginUpdate). May change the draft. A rejection fails the write.
   */
  begin?(
    object: KubeObject,
    old: KubeObject | undefined,
    context: StrategyContext,
  ): Promise<FinishWrite | undefined> | undefined
  /** Releases what the object holds outside itself (addresses) after it is gone. */
  afterDelete?(object: KubeObject, context: StrategyContext): Promise<void>
}
