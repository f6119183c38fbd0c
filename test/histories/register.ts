/** Register: one object as a client may rely on it: a value with a revision that grows with each write, or nothing. */
import type { Operation } from './operation.ts'
import type { Model } from './linearize.ts'

interface Register {
  /** Undefined: there is no object. */
  readonly value: string | undefined
  /** Of the value; undefined when the write's answer was lost. */
  readonly revision: number | undefined
  /** Every later write has a higher revision. */
  readonly floor: number
}

const absent: Register = { value: undefined, revision: undefined, floor: 0 }

/** Applying an operation of unknown outcome means that it happened; the checker also leaves it out. */
function step(state: Register, { request, outcome }: Operation): Register | undefined {
  const isThere = state.value !== undefined
  switch (outcome.result) {
    case 'refused':
      return state
    case 'absent':
      return isThere ? undefined : state
    case 'exists':
      return isThere ? state : undefined
    case 'conflict':
      return conflicts(state, request) ? state : undefined
    case 'found':
      return state.value === outcome.value ? withRevision(state, outcome.revision) : undefined
    case 'written':
      return written(state, request, outcome.revision)
    case 'deleted':
      return written(state, request, undefined)
    case 'unknown':
      return request.verb === 'get' ? state : written(state, request, undefined)
  }
}

function conflicts(state: Register, request: Operation['request']): boolean {
  const expected = 'expected' in request ? request.expected : undefined
  // Without a resourceVersion of its own, a write has lost too many races.
  if (expected === undefined) return true
  return state.value !== undefined && state.revision !== expected
}

/** The state, whose revision is known now. */
function withRevision(state: Register, revision: number): Register | undefined {
  if (state.revision !== undefined) return state.revision === revision ? state : undefined
  return revision > state.floor ? { ...state, revision, floor: revision } : undefined
}

function written(
  state: Register,
  request: Operation['request'],
  revision: number | undefined,
): Register | undefined {
  if (request.verb === 'get') return undefined
  if ((request.verb === 'create') === (state.value !== undefined)) return undefined
  const expected = 'expected' in request ? request.expected : undefined
  const before = expected === undefined ? state : withRevision(state, expected)
  if (before === undefined) return undefined
  if (request.verb === 'delete') return { ...absent, floor: before.floor }
  if (revision !== undefined && revision <= before.floor) return undefined
  return { value: request.value, revision, floor: revision ?? before.floor }
}

export const registerModel: Model<Register, Operation> = {
  initial: absent,
  step,
  keyOf: ({ value, revision, floor }) => `${value ?? ''} ${revision ?? ''} ${floor}`,
}
