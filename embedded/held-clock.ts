/** HeldClock: the cluster's clock as one run of a component has it: while the component is paused, what falls due waits; once killed, it is gone. */
import { AbortableWaits } from '../components/component-base/abortable-waits.ts'
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { ComponentLife } from './component-life.ts'

type Timers = Pick<Clock, 'after' | 'sleep'>

function afterOf(timers: Timers, life: ComponentLife): Clock['after'] {
  return (ms, callback) => {
    // What is left to clean up of a killed component has the time of the machine.
    if (life.isKilled) return systemClock.after(ms, callback)
    let isOver = false
    const end = (): void => {
      isOver = true
      leave()
    }
    const cancel = timers.after(ms, () => {
      life.run(() => {
        if (isOver) return
        end()
        callback()
      })
    })
    const leave = life.onKill(cancel)
    return () => {
      if (isOver) return
      end()
      cancel()
    }
  }
}

function sleepOf(after: Clock['after']): Clock['sleep'] {
  const waits = new AbortableWaits()
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error)
        return
      }
      let leave = (): void => {}
      const cancel = after(ms, () => {
        leave()
        resolve()
      })
      if (signal === undefined) return
      leave = waits.add(signal, () => {
        cancel()
        reject(signal.reason as Error)
      })
    })
}

function over(base: Clock, life: ComponentLife): Clock {
  const after = afterOf(base, life)
  return { ...base, now: () => base.now() + life.skewMs, after, sleep: sleepOf(after) }
}

export function heldClock(base: Clock, life: ComponentLife): Clock {
  const held = over(base, life)
  const { background, upkeep } = base
  return {
    ...held,
    ...(background === undefined ? {} : { background: over(background, life) }),
    ...(upkeep === undefined ? {} : { upkeep: over(upkeep, life) }),
  }
}
