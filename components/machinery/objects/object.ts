/** API objects: frozen plain JSON. Types only describe; nothing here does I/O or knows a clock. */
import { getOwn } from '../values/json-copy.ts'

/** Any JSON value. */
export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Metadata every stored object carries (spec: "Common object metadata"). */
export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  /** Legacy; dropped on every write. */
  selfLink?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string | null
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
  managedFields?: ManagedFieldsEntry[]
}

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

export interface ManagedFieldsEntry {
  manager?: string
  operation?: 'Apply' | 'Update'
  apiVersion?: string
  time?: string
  fieldsType?: string
  fieldsV1?: Record<string, unknown>
  subresource?: string
}

/** Any API object. Kinds with a known shape are in `components/api/generated/types.ts`. */
export interface KubeObject {
  apiVersion?: string
  kind?: string
  metadata: ObjectMeta
  // oxlint-disable-next-line typescript/no-explicit-any -- an object of an unknown kind has any fields
  [field: string]: any
}

/** A collection response. */
export interface KubeList<T = KubeObject> {
  apiVersion?: string
  kind?: string
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number }
  items: T[]
}

/** `namespace/name`, or `name` for cluster-scoped objects: what caches and work queues are keyed by. */
export function keyOf(object: { metadata: ObjectMeta }): string {
  const { namespace, name = '' } = object.metadata
  return namespace ? `${namespace}/${name}` : name
}

/** The inverse of keyOf; a key without a slash has no namespace. */
export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf('/')
  return slash < 0
    ? { namespace: '', name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** The resourceVersion as a number, which orders the states of an object; 0 where it has none (upstream: KEP-5504). */
export function revisionOf({ metadata }: { metadata: ObjectMeta }): bigint {
  const { resourceVersion = '0' } = metadata
  return /^\d+$/.test(resourceVersion) ? BigInt(resourceVersion) : 0n
}

/** Structural equality of JSON values; key order does not matter, undefined equals absent, and what objects inherit does not count. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((item, index) => deepEqual(item, b[index]))
  }
  const left = a as Record<string, unknown>
  const right = b as Record<string, unknown>
  for (const key in left) if (!deepEqual(left[key], getOwn(right, key))) return false
  for (const key in right) {
    if (right[key] !== undefined && getOwn(left, key) === undefined) return false
  }
  return true
}

/** Freezes a JSON value all the way down and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const child of Object.values(value)) deepFreeze(child)
  }
  return value
}

/** The owner reference that marks the object's managing controller, if it has one. */
export function controllerOf(object: { metadata: ObjectMeta }): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find((owner) => owner.controller === true)
}
