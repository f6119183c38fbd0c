import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { abortListeners } from '../../components/component-base/abort-listeners.ts'

test('all hear of the abort, once each, but those that were removed', () => {
  const stop = new AbortController()
  const listeners = abortListeners(stop.signal)
  const heard: string[] = []
  listeners.add(() => heard.push('one'))
  const remove = listeners.add(() => heard.push('removed'))
  listeners.add(() => heard.push('two'))
  remove()
  remove()
  stop.abort()
  expect(heard).toEqual(['one', 'two'])
  listeners.add(() => heard.push('late'))
  expect(heard).toEqual(['one', 'two', 'late'])
})

test('however many there are, the signal has one listener', () => {
  const { signal } = new AbortController()
  const listeners = abortListeners(signal)
  for (let count = 0; count < 1000; count += 1) listeners.add(() => {})
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
})
