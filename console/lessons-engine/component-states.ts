/** Component states: the status of every component, now and after each change, over the supervisor's control connection. */
import type { ControlClient } from '../../cluster/control-client.ts'
import type { ComponentStatus } from '../../cluster/control-protocol.ts'
import { untilWoken } from './wake.ts'

export type States = ReadonlyMap<string, ComponentStatus>

export interface ComponentStates {
  /** The states now, then after each change; ends when the supervisor does, and throws `signal.reason` when aborted. */
  changes(signal: AbortSignal): AsyncGenerator<States>
}

/** Watches from the first call of `changes` on, for as long as the connection is open. */
export function componentStates(control: ControlClient): ComponentStates {
  const states = new Map<string, ComponentStatus>()
  const waiting = new Set<() => void>()
  let isOver = false
  let changeCount = 0
  let watching: Promise<void> | undefined
  const wakeAll = (): void => {
    changeCount += 1
    for (const wake of waiting) wake()
  }
  const watch = async (): Promise<void> => {
    const onEvent = (status: ComponentStatus): void => {
      states.set(status.name, status)
      wakeAll()
    }
    try {
      await control.call('watch', {}, onEvent)
    } catch {
      // The connection has ended: nothing changes any more.
    }
    isOver = true
    wakeAll()
  }
  return {
    changes: async function* (signal) {
      watching ??= watch()
      const { components } = await control.call('status', {})
      for (const status of components) states.set(status.name, status)
      const names = new Set(components.map((one) => one.name))
      for (const name of states.keys()) if (!names.has(name)) states.delete(name)
      while (!isOver) {
        const seen = changeCount
        yield states
        if (seen === changeCount) await untilWoken(waiting, signal)
        signal.throwIfAborted()
      }
    },
  }
}
