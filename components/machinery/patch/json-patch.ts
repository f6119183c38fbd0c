/**
 * JSON patch (RFC 6902), with the reach and the answers of upstream's library: what is no field of an object reads as null,
 * the whole document can only be tested and replaced, and what stands before the first slash of a path does not count.
 */
import { copyJson, getOwn, setOwn } from '../values/json-copy.ts'
import { goQuote } from '../values/go-syntax.ts'
import { deepEqual, type Json } from '../objects/object.ts'
import { badRequest, StatusError } from '../objects/status-error.ts'
import { finished, type Steps } from '../values/steps.ts'
import { maxBodyValues, TooManyValuesError, ValueBudget } from '../values/value-limit.ts'

const maxOperations = 10_000
/** Each may move all elements of a long list. */
const operationsInStep = 200
/** The limit on all `copy` operations together, in characters of JSON. */
const maxCopied = 3 * 1024 * 1024

/**
 * Why an operation does not apply, in the words of upstream's library (evanphx/json-patch); the cause of the 422 that it becomes,
 * which is all that clients see.
 */
export class JsonPatchFault extends Error {
  /** Whether a `test` found another value. */
  readonly isFailedTest: boolean

  constructor(message: string, { isFailedTest = false } = {}) {
    super(message)
    this.isFailedTest = isFailedTest
  }
}

/** There is nothing that the last part of the path could be in. */
class NoContainer extends JsonPatchFault {}

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
      error instanceof JsonPatchFault ||
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

interface State {
  root: unknown
  copied: number
  readonly copies: ValueBudget
}

interface Says {
  readonly nowhere: string
  readonly otherwise: string
  /** In place of what the fault says. */
  readonly why?: string
}

/** Runs a part of an operation; its faults say which. */
function part<T>(run: () => T, says: Says): T {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof JsonPatchFault)) throw error
    if (error.isFailedTest) throw error
    const isNowhere = error instanceof NoContainer
    const text = isNowhere
      ? `${says.nowhere}: missing value`
      : `${says.otherwise}: ${says.why ?? error.message}`
    throw new JsonPatchFault(text)
  }
}

function applyOne(state: State, operation: Record<string, unknown>): void {
  const { op } = operation
  const path = pointer(operation, 'path')
  const shown = String(operation['path'])
  switch (op) {
    case 'add':
      part(() => add(state.root, path, copyJson(operation['value'] ?? null)), {
        nowhere: `add operation does not apply: doc is missing path: "${shown}"`,
        otherwise: `error in add for path: '${shown}'`,
      })
      return
    case 'remove':
      part(() => remove(state.root, path), {
        nowhere: `remove operation does not apply: doc is missing path: "${shown}"`,
        otherwise: `error in remove for path: '${shown}'`,
      })
      return
    case 'replace':
      state.root = part(() => replace(state.root, path, copyJson(operation['value'] ?? null)), {
        nowhere: `replace operation does not apply: doc is missing path: ${shown}`,
        otherwise: `replace operation does not apply: doc is missing key: ${shown}`,
        why: 'missing value',
      })
      return
    case 'move':
      move(state.root, { from: pointer(operation, 'from'), path }, operation)
      return
    case 'copy':
      copy(state, { from: pointer(operation, 'from'), path }, operation)
      return
    case 'test':
      part(() => test(state.root, path, operation['value'] ?? null), {
        nowhere: `test operation for path does not apply: doc is missing path: ${shown}`,
        otherwise: `error in test for path: '${shown}'`,
      })
      return
    default:
      throw new JsonPatchFault(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`)
  }
}

interface Way {
  readonly from: readonly string[]
  readonly path: readonly string[]
}

function move(root: unknown, { from, path }: Way, operation: Record<string, unknown>): void {
  const [key, shown] = [from.at(-1) ?? '', String(operation['path'])]
  const nowhere = `move operation does not apply: doc is missing from path: ${String(operation['from'])}`
  const taken = { nowhere, otherwise: `error in move for path: '${key}'` }
  const value = part(() => read(root, from), taken)
  part(() => remove(root, from), taken)
  part(() => add(root, path, value), {
    nowhere: `move operation does not apply: doc is missing destination path: ${shown}`,
    otherwise: `error in move for path: '${shown}'`,
  })
}

function copy(state: State, { from, path }: Way, operation: Record<string, unknown>): void {
  const key = from.at(-1) ?? ''
  const found = part(() => read(state.root, from), {
    nowhere: `copy operation does not apply: doc is missing from path: ${String(operation['from'])}`,
    otherwise: `error in copy for from: '${key}'`,
  })
  spendValues(found, state.copies)
  const value = copyJson(found)
  state.copied += JSON.stringify(value).length
  if (state.copied > maxCopied) {
    throw new JsonPatchFault(
      `Unable to complete the copy, the accumulated size increase of copy is ${state.copied}, exceeding the limit ${maxCopied}`,
    )
  }
  part(() => add(state.root, path, value), {
    nowhere: `copy operation does not apply: doc is missing destination path: ${String(operation['path'])}`,
    otherwise: 'error while adding value during copy',
  })
}

function spendValues(value: unknown, budget: ValueBudget): void {
  budget.spend()
  if (typeof value !== 'object' || value === null) return
  for (const key in value) spendValues((value as Record<string, unknown>)[key], budget)
}

/** `/a~1b/0` -> `a/b`, `0`; the empty pointer is the whole document. */
function pointer(operation: Record<string, unknown>, name: 'path' | 'from'): string[] {
  const text = operation[name]
  if (typeof text !== 'string') throw new JsonPatchFault(`the operation has no ${name}`)
  if (text === '') return []
  const parts = text.split('/', maxBodyValues + 1).slice(1)
  if (parts.length === 0) throw new JsonPatchFault(`bad pointer ${text}`)
  if (parts.length === maxBodyValues) throw new JsonPatchFault('no object is that deep')
  return parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The object or list that holds the last part of a path. */
function holder(root: unknown, path: readonly string[]): { container: Container; key: string } {
  const key = path.at(-1)
  if (key === undefined) throw new NoContainer('the whole document')
  const container = containerOf(root, path.slice(0, -1))
  if (typeof container !== 'object' || container === null) throw new NoContainer('no container')
  return { container: container as Container, key }
}

function containerOf(root: unknown, path: readonly string[]): unknown {
  try {
    return path.reduce(child, root)
  } catch (error) {
    if (error instanceof JsonPatchFault) throw new NoContainer(error.message)
    throw error
  }
}

/** An element of a list, which must be there, or a field of an object: null if it is not there. */
function child(value: unknown, part: string): unknown {
  if (Array.isArray(value)) return value[indexOf(part, value.length)]
  if (typeof value !== 'object' || value === null) throw new JsonPatchFault(`no ${part}`)
  return getOwn(value as Record<string, unknown>, part) ?? null
}

function read(root: unknown, path: readonly string[]): unknown {
  const { container, key } = holder(root, path)
  return child(container, key)
}

/** An index below `length`; a negative one counts from the end. */
function indexOf(part: string, length: number): number {
  if (!/^[+-]?\d+$/.test(part))
    throw new JsonPatchFault(`strconv.Atoi: parsing ${goQuote(part)}: invalid syntax`)
  const index = Number(part)
  const positive = index < 0 ? index + length : index
  if (positive < 0 || positive >= length) {
    throw new JsonPatchFault(`Unable to access invalid index: ${index}: invalid index referenced`)
  }
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
    if (typeof value !== 'object' || value === null) throw new JsonPatchFault('no document')
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
  else throw new JsonPatchFault(`Unable to remove nonexistent key: ${key}: missing value`)
}

function test(root: unknown, path: readonly string[], wanted: unknown): void {
  const value = path.length === 0 ? root : read(root, path)
  if (deepEqual(value, wanted)) return
  const shown = path.map((part) => `/${part}`).join('')
  throw new JsonPatchFault(`testing value ${shown} failed: test failed`, { isFailedTest: true })
}
