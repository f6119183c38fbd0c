/** JSON merge patch (RFC 7386), with the answers of upstream's library. */
import { copyJson, setOwn } from '../values/json-copy.ts'
import type { Json } from '../objects/object.ts'

/**
 * The patched value, fresh and mutable. Null in the patch removes, lists are replaced, objects merge. Inputs are not changed.
 * Beyond the RFC, fields that are null go from the objects of a list, too, unless the list comes in place of an object.
 */
export function applyMergePatch(object: unknown, patch: unknown): Json {
  return merge(copyJson(object), patch) as Json
}

/** `target` is ours to change. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return isObject(target) ? copyJson(patch) : withoutNulls(patch)
  const merged = isObject(target) ? target : {}
  for (const key of Object.keys(patch)) {
    const value = patch[key]
    if (value === null) delete merged[key]
    else setOwn(merged, key, merge(Object.hasOwn(merged, key) ? merged[key] : undefined, value))
  }
  return merged
}

/** A copy without the null fields of the objects in it. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  return isObject(value) ? merge({}, value) : value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
