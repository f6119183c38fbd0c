/**
 * JSON patch (RFC 6902), with the reach and the answers of upstream's library: what is no field of an object reads as null,
 * the whole document can only be tested and replaced, and what stands before the first slash of a path does not count.
 */
import { copyJson, getOwn, setOwn } from '../values/json-copy.ts'
import { deepEqual, type Json } from '../objects/object.ts'
import { badRequest, StatusError } from '../objects/status-error.ts'
import { finished, type Steps } from '../values/steps.ts'
import { maxBodyValues, TooManyValuesError, ValueBudget } from '../values/value-limit.ts'

const maxOperations = 10_000
/** Each may move all elements of a long list. */
const operationsInStep = 200
/** The limit on all `copy` operations together, in characters of JSON. */
const maxCopied = 3 * 1024 * 1024

/** Why an operation does not apply; clients see only the 422 that it becomes. */
class PatchFault extends Error {}

type Container = Record<string, unknown> | unknown[]

/** `jsonPatchSteps`, all at once. */
export function applyJsonPatch(object: unknown, patch: unknown): Json {
  return finished(jsonPatchSteps(object, patch))
}

/**
 * The patched value, fresh and mutable; inputs are not changed. Throws StatusError: 400 for what is no list of operations,
 * 413 for too many, 422 for one that does not apply (also a failing `test`).
 */
export function* jsonPatchSteps(object: unknown, patch: unknown): Steps<Json> {
  if (!Array.isArray(patch) || !patch.every(isOperation)) {
    throw badRequest('error decoding patch: a JSON patch is a list of operations')
  }
  if (patch.length > maxOperations) {
    throw new StatusError(
      'RequestEntityTooLarge',
      `Request entity too large: The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    )
  }
  const state = {
    root: copyJson(object),
    copied: 0,
    // No more values than a body may bring.
    copies: new ValueBudget(maxBodyValues),
  }
  try {
    for (const [index, operation] of patch.entries()) {
      if (index % operationsInStep === operationsInStep - 1) yield
      applyOne(state, operation ?? {})
    }
  } catch (error) {
    const isFault =
      error instanceof PatchFault ||
      error instanceof RangeError ||
      error instanceof TooManyValuesError
    if (!isFault) throw error
    throw new StatusError(
      'Invalid',
      'the server rejected our request due to an error in our request',
      { details: {}, cause: error },
    )
  }
  return state.root as Json
}

/** Null is an operation without any field, and so does not apply. */
function isOperation(value: unknown): value is Record<string, unknown> | null {
  return typeof value === 'object' && !Array.isArray(value)
}

function applyOne(
  state: { root: unknown; copied: number; readonly copies: ValueBudget },
  operation: Record<string, unknown>,
): void {
  const { op } = operation
  const path = pointer(operation, 'path')
  switch (op) {
    case 'add':
      add(state.root, path, copyJson(operation['value'] ?? null))
      return
    case 'remove':
      remove(state.root, path)
      return
    case 'replace':
      state.root = replace(state.root, path, copyJson(operation['value'] ?? null))
      return
    case 'move': {
      const from = pointer(operation, 'from')
      const value = read(state.root, from)
      remove(state.root, from)
      add(state.root, path, value)
      return
    }
    case 'copy': {
      const from = read(state.root, pointer(operation, 'from'))
      spendValues(from, state.copies)
      const value = copyJson(from)
      state.copied += JSON.stringify(value).length
      if (state.copied > maxCopied) throw new PatchFault('the copies are too large')
      add(state.root, path, value)
      return
    }
    case 'test':
      test(state.root, path, operation['value'] ?? null)
      return
    default:
      throw new PatchFault(`unknown operation ${typeof op === 'string' ? op : JSON.stringify(op)}`)
  }
}

function spendValues(value: unknown, budget: ValueBudget): void {
  budget.spend()
  if (typeof value !== 'object' || value === null) return
  for (const key in value) spendValues((value as Record<string, unknown>)[key], budget)
}

/** `/a~1b/0` -> `a/b`, `0`; the empty pointer is the whole document. */
function pointer(operation: Record<string, unknown>, name: 'path' | 'from'): string[] {
  const text = operation[name]
  if (typeof text !== 'string') throw new PatchFault(`the operation has no ${name}`)
  if (text === '') return []
  const parts = text.split('/', maxBodyValues + 1).slice(1)
  if (parts.length === 0) throw new PatchFault(`bad pointer ${text}`)
  if (parts.length === maxBodyValues) throw new PatchFault('no object is that deep')
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The object or list that holds the last part of a path. */
function holder(root: unknown, path: readonly string[]): { container: Container; key: string } {
  const key = path.at(-1)
  if (key === undefined) throw new PatchFault('the whole document')
  const container = path.slice(0, -1).reduce(child, root)
  if (typeof container !== 'object' || container === null) throw new PatchFault('no container')
  return { container: container as Container, key }
}

/** An element of a list, which must be there, or a field of an object: null if it is not there. */
function child(value: unknown, part: string): unknown {
  if (Array.isArray(value)) return value[indexOf(part, value.length)]
  if (typeof value !== 'object' || value === null) throw new PatchFault(`no ${part}`)
  return getOwn(value as Record<string, unknown>, part) ?? null
}

function read(root: unknown, path: readonly string[]): unknown {
  const { container, key } = holder(root, path)
  return child(container, key)
}

/** An index below `length`; a negative one counts from the end. */
function indexOf(part: string, length: number): number {
  if (!/^[+-]?\d+$/.test(part)) throw new PatchFault(`bad index ${part}`)
  const index = Number(part)
  const positive = index < 0 ? index + length : index
  if (positive < 0 || positive >= length) throw new PatchFault(`index ${part} is out of range`)
  return positive
}

function add(root: unknown, path: readonly string[], value: unknown): void {
  const { container, key } = holder(root, path)
  if (!Array.isArray(container)) setOwn(container, key, value)
  else if (key === '-') container.push(value)
  else container.splice(indexOf(key, container.length + 1), 0, value)
}

/**
 * Gives the root, which is another one when the path is empty. A missing field of an object is added; a missing element of a
 * list is not.
 */
function replace(root: unknown, path: readonly string[], value: unknown): unknown {
  if (path.length === 0) {
    if (typeof value !== 'object' || value === null) throw new PatchFault('no document')
    return value
  }
  const { container, key } = holder(root, path)
  if (Array.isArray(container)) container[indexOf(key, container.length)] = value
  else setOwn(container, key, value)
  return root
}

function remove(root: unknown, path: readonly string[]): void {
  const { container, key } = holder(root, path)
  if (Array.isArray(container)) container.splice(indexOf(key, container.length), 1)
  else if (Object.hasOwn(container, key)) delete container[key]
  else throw new PatchFault(`no ${key}`)
}

function test(root: unknown, path: readonly string[], wanted: unknown): void {
  const value = path.length === 0 ? root : read(root, path)
  if (!deepEqual(value, wanted)) throw new PatchFault(`test of ${path.join('/')} failed`)
}
