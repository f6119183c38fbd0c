import { getEventListeners } from 'node:events'
import { expect, it } from 'vitest'
import { AbortableWaits } from '../../components/component-base/abortable-waits.ts'

it('gives a signal one listener, however many wait, and none when none waits', () => {
  const waits = new AbortableWaits()
  const { signal } = new AbortController()
  const leave = [1, 2, 3].map(() => waits.add(signal, () => {}))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const one of leave) one()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

it('ends those that wait when the signal aborts, and not those that have left', () => {
  const waits = new AbortableWaits()
  const stop = new AbortController()
  const ended: string[] = []
  waits.add(stop.signal, () => ended.push('one'))
  const leave = waits.add(stop.signal, () => ended.push('two'))
  const stay = waits.add(stop.signal, () => ended.push('three'))
  leave()
  stop.abort()
  stay()
  expect(ended).toEqual(['one', 'three'])
})
