/** PodPlan: what to do next for one pod, as a pure function of its spec and its containers. */
import type { Pod } from '../../api/generated/types.ts'
import type { ContainerRecord } from './container-record.ts'
import { isChanged, wantsRestart } from './container-record.ts'

export type PodAction =
  | { readonly do: 'start'; readonly record: ContainerRecord }
  | {
      readonly do: 'stop'
      readonly record: ContainerRecord
      /** Of the event. */
      readonly message: string
      /** It is to start again as the pod has it now. */
      readonly isReplacing?: true
      /** Instead of the pod's own, as long as that is not being deleted. */
      readonly graceSeconds?: number | undefined
    }

export interface PodPlan {
  readonly actions: readonly PodAction[]
  /** Look again at this time even if nothing happens. */
  readonly wakeAtMs: number | undefined
  /** Nothing runs and nothing will: the pod has reached its end. */
  readonly isOver: boolean
}

export interface PodView {
  readonly pod: Pod
  readonly records: readonly ContainerRecord[]
  /** The pod is to end: deleted, or failed as a whole. */
  readonly isEnding: boolean
  readonly nowMs: number
}

const idle: PodPlan = { actions: [], wakeAtMs: undefined, isOver: false }

function isRunning(record: ContainerRecord): boolean {
  return record.state.kind === 'running'
}

/** It ran to its end and is not wanted again. */
export function isDone(pod: Pod, record: ContainerRecord): boolean {
  return record.state.kind === 'exited' && !wantsRestart(pod, record, record.state)
}

/** An init container failed for good: the pod has failed. */
export function hasInitFailed(pod: Pod, records: readonly ContainerRecord[]): boolean {
  return records.some(
    (record) =>
      record.role === 'init' &&
      record.state.kind === 'exited' &&
      record.state.exitCode !== 0 &&
      isDone(pod, record),
  )
}

/** All init containers have done their work (sidecars: have started). */
export function isInitialized(records: readonly ContainerRecord[]): boolean {
  return records.every(({ role, state, isStarted, restarts }) => {
    if (role === 'main' || role === 'ephemeral') return true
    if (role === 'init') return state.kind === 'exited' && state.exitCode === 0
    // Once past its start, a sidecar that fails later does not take initialization back.
    return isStarted || restarts > 0
  })
}

/** The pod's work is over: all main containers are done, or an init container failed for good. */
export function isWorkDone(pod: Pod, records: readonly ContainerRecord[]): boolean {
  if (hasInitFailed(pod, records)) return true
  const main = records.filter(({ role }) => role === 'main')
  return main.length > 0 && main.every((record) => isDone(pod, record))
}

function stopAll(records: readonly ContainerRecord[]): PodPlan {
  const running = records.filter(isRunning)
  // Sidecars outlive the containers that they serve, and stop in the reverse of the order they started in.
  const main = running.filter(({ role }) => role !== 'sidecar')
  const first = main.length > 0 ? main : running.slice(-1)
  return {
    actions: first
      .filter(({ isBusy }) => !isBusy)
      .map((record) => ({ do: 'stop', record, message: `Stopping container ${record.spec.name}` })),
    wakeAtMs: undefined,
    isOver: running.length === 0 && records.every(({ isBusy }) => !isBusy),
  }
}

/** Starts a container that waits or is wanted again, or says when; stops one that is to be another. */
function start(view: PodView, record: ContainerRecord): PodPlan {
  const { state, isBusy, retryAtMs, role, spec } = record
  if (isBusy) return idle
  if (state.kind === 'running') {
    if (!isChanged(record) || role === 'init' || role === 'ephemeral') return idle
    const message = `Container ${spec.name} definition changed, will be restarted`
    return { ...idle, actions: [{ do: 'stop', record, message, isReplacing: true }] }
  }
  if (state.kind === 'exited' && !wantsRestart(view.pod, record, state)) return idle
  if (retryAtMs > view.nowMs) return { ...idle, wakeAtMs: retryAtMs }
  return { ...idle, actions: [{ do: 'start', record }] }
}

function both(a: PodPlan, b: PodPlan): PodPlan {
  const wakes = [a.wakeAtMs, b.wakeAtMs].filter((at) => at !== undefined)
  return {
    actions: [...a.actions, ...b.actions],
    wakeAtMs: wakes.length === 0 ? undefined : Math.min(...wakes),
    isOver: false,
  }
}

/** The next steps. Actions on one container never overlap; those on different ones may run side by side. */
export function planPod(view: PodView): PodPlan {
  const { pod, records, isEnding } = view
  if (isEnding) return stopAll(records)
  if (isWorkDone(pod, records)) return stopAll(records)
  let plan = idle
  for (const record of records) {
    if (record.role === 'ephemeral') plan = both(plan, start(view, record))
  }
  const hasRunMain = records.some(({ role, state }) => role === 'main' && state.kind !== 'waiting')
  for (const record of records) {
    if (record.role === 'main' || record.role === 'ephemeral') continue
    if (record.role === 'sidecar') {
      plan = both(plan, start(view, record))
      if (!record.isStarted && !hasRunMain) return plan
      continue
    }
    if (hasRunMain || (record.state.kind === 'exited' && record.state.exitCode === 0)) continue
    return both(plan, start(view, record))
  }
  for (const record of records) {
    if (record.role === 'main') plan = both(plan, start(view, record))
  }
  return plan
}
