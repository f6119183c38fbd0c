/** Redraw: joins changes, so that the screen is drawn ten times a second at most, and once a second without any: ages move on. */
import type { Clock } from '../../components/component-base/clock.ts'

const tickMs = 1000
const drawMs = 100

export interface Redraw {
  /** Something has changed. */
  change(): void
  /** The one callback that draws, until the returned function is called. */
  subscribe(draw: () => void): () => void
  stop(): void
}

export function createRedraw(clock: Clock): Redraw {
  let callback: () => void = () => {}
  let cancel: (() => void) | undefined
  let cancelTick = (): void => {}
  const change = (): void => {
    cancel ??= clock.after(drawMs, () => {
      cancel = undefined
      callback()
    })
  }
  const tick = (): void => {
    change()
    cancelTick = clock.after(tickMs, tick)
  }
  tick()
  return {
    change,
    subscribe: (draw) => {
      callback = draw
      return () => void (callback = () => {})
    },
    stop: () => {
      cancel?.()
      cancelTick()
    },
  }
}
