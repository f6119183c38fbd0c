import { expect, test } from 'vitest'
import { ComponentFaults } from '../../embedded/component-faults.ts'

test('faults are told as they are, to who follows them late, and until their part runs again', () => {
  const faults = new ComponentFaults()
  faults.report('scheduler', 'the scheduler failed')
  const told: (readonly string[])[] = []
  faults.follow((texts) => told.push(texts))
  faults.report('node-1', 'the node-agent failed')
  faults.clear('node-2')
  faults.clear('scheduler')
  faults.clear('node-1')
  expect(told).toEqual([
    ['the scheduler failed'],
    ['the scheduler failed', 'the node-agent failed'],
    ['the node-agent failed'],
    [],
  ])
})
