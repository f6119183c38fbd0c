/**
 * Cause: why the code that runs now does what it does: the change that it saw, or the time that had come. It is carried through
 * promises and timers, and clients send it with their writes (`Skiff-Cause`), so that a record of a write says what led to it.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { formatCause } from '../api/request-cause.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'

/** A change that was seen, without the object itself: a cause may outlive it. */
interface SeenChange {
  readonly kind: 'watch'
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly revision: string
}

export type Cause =
  SeenChange | { readonly kind: 'timer'; readonly what: string } | { readonly kind: 'start' }

const running = new AsyncLocalStorage<Cause | undefined>()

/** First lists: the process has just started to look. */
export const startCause: Cause = { kind: 'start' }
/** A failed piece of work is tried again. */
export const retryCause: Cause = { kind: 'timer', what: 'retry' }
/** A piece of work asked to be done again after a time. */
export const requeueCause: Cause = { kind: 'timer', what: 'requeue' }

/** `what`: what the time was for, in a word or two. */
export function timerCause(what: string): Cause {
  return { kind: 'timer', what }
}

/** The object in the state that was seen; of a deletion, the last one. */
export function changeCause(resource: Resource, { metadata }: KubeObject): Cause {
  const { namespace = '', name = '', resourceVersion: revision = '' } = metadata
  return { kind: 'watch', resource, namespace, name, revision }
}

/** Runs `run`, and all that it starts, for this cause; undefined: for none that is known. */
export function withCause<T>(cause: Cause | undefined, run: () => T): T {
  return running.run(cause, run)
}

/** Undefined outside of any `withCause`. */
export function currentCause(): Cause | undefined {
  return running.getStore()
}

/** The callback runs for the cause of now, whoever calls it. */
export function carryCause(callback: () => void): () => void {
  const cause = running.getStore()
  return cause === undefined ? callback : () => running.run(cause, callback)
}

/** The current cause as a header's value; undefined without one. */
export function currentCauseText(): string | undefined {
  const cause = running.getStore()
  if (cause === undefined) return undefined
  if (cause.kind === 'start') return formatCause({ kind: 'start', what: '' })
  if (cause.kind === 'timer') return formatCause(cause)
  const { kind, resource, namespace, name, revision } = cause
  const { group, plural } = resource
  const what = group === '' ? plural : `${plural}.${group}`
  return formatCause({
    kind,
    what,
    key: namespace === '' ? name : `${namespace}/${name}`,
    revision,
  })
}
