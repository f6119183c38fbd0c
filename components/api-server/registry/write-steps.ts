/** Steps of writes that are pure: what a draft keeps of the current state, and what plugins and hooks see of it. */
import { deepEqual, type KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { invalid, type FieldError } from '../../machinery/objects/status-error.ts'
import type { Strategy, StrategyContext, SubresourceStrategy } from '../kinds/strategy.ts'
import type { CreateRequest, UpdateRequest } from '../request/write.ts'
import { isSameOwners } from './field-tracking.ts'

/** An update on its way: a draft, and the frozen state that it changes. */
export interface Update {
  readonly strategy: Strategy
  readonly context: StrategyContext
  readonly object: KubeObject
  readonly old: KubeObject
  readonly isLarge: boolean
}

/** Keeps spec and status apart: a plain update cannot touch status, a status update nothing else. */
export function separate(
  { resource, subresource, context }: UpdateRequest,
  { strategy, object, old }: Pick<Update, 'strategy' | 'object' | 'old'>,
): void {
  if (subresource === '') {
    if (!resource.subresources.some(({ name }) => name === 'status')) return
    const status: unknown = object['status']
    if (context !== undefined && status !== undefined && !deepEqual(status, old['status']))
      context.isStatusIgnored = true
    if (old['status'] === undefined) delete object['status']
    else object['status'] = old['status']
    return
  }
  if (subresource !== 'status' || strategy.subresources?.['status'] !== undefined) return
  for (const name of Object.keys(object)) {
    if (!['kind', 'apiVersion', 'metadata', 'status'].includes(name)) delete object[name]
  }
  for (const [name, value] of Object.entries(old)) {
    if (!['metadata', 'status'].includes(name)) object[name] = value as unknown
  }
  if (old.metadata.ownerReferences === undefined) delete object.metadata.ownerReferences
  else object.metadata.ownerReferences = old.metadata.ownerReferences
}

/** The hooks of the sub-resource that is updated; undefined for one without any. */
export function hooksFor(strategy: Strategy, subresource: string): SubresourceStrategy | undefined {
  return subresource === '' ? strategy : strategy.subresources?.[subresource]
}

/** The strategy with the modules that rules of the object need. */
export async function loadedFor(object: KubeObject, strategy: Strategy): Promise<Strategy> {
  return (await strategy.load?.(object)) ?? strategy
}

/** What admission plugins see of any write. */
export function admissionOf(
  { resource, namespace, user, dryRun, warnings, context }: CreateRequest | UpdateRequest,
  by: Pick<Update, 'strategy' | 'context' | 'object'>,
) {
  return {
    resource,
    namespace,
    object: by.object,
    user,
    dryRun,
    warnings,
    context,
    applyDefaults: (draft: KubeObject) => by.strategy.applyDefaults?.(draft, by.context),
  }
}

/** True for what was read and not made: it has the version of another object, perhaps of one that was deleted. */
export function namesVersion({ metadata }: KubeObject): boolean {
  return /^\d+$/.test(metadata.resourceVersion ?? '') && Number(metadata.resourceVersion) !== 0
}

/** True when an update changes nothing: upstream writes no revision then. Neither order nor times of owners are changes. */
export function isSameState(object: KubeObject, old: KubeObject): boolean {
  const { resourceVersion, managedFields } = old.metadata
  if (!isSameOwners(object.metadata.managedFields, managedFields)) return false
  const metadata = { ...object.metadata, resourceVersion, managedFields }
  return deepEqual({ ...object, metadata }, old)
}

/** Throws Invalid. */
export function refuseInvalid(
  resource: Resource,
  { metadata }: KubeObject,
  errors: readonly FieldError[],
): void {
  if (errors.length > 0) throw invalid(resource, metadata.name ?? '', errors)
}
