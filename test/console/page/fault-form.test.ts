/** The form of faults: what it makes passes the checks of faults. Pure parts of the page. */
import { describe, expect, test } from 'vitest'
import { checkFault } from '../../../cluster/lab/check-fault.ts'
import { faultKinds } from '../../../cluster/lab/fault-shape.ts'
import { speedBetween } from '../../../console/page/app/cluster-time.ts'
import { faultExamples } from '../../../console/page/views/lab/fault-examples.ts'
import {
  faultForms,
  faultKindNames,
  faultOf,
  fieldsOf,
} from '../../../console/page/views/lab/fault-fields.ts'

/** A value that a field of the form takes. */
const filling = { text: 'one', list: 'get, list', part: 'node-1', number: '1', choice: '' }

describe('the form of faults', () => {
  test('has every kind', () => {
    expect(faultKindNames.toSorted()).toEqual([...faultKinds].toSorted())
  })

  for (const kind of faultKindNames) {
    for (const { label } of faultForms[kind].actions) {
      test(`makes a fault that passes the check: ${kind} ${label}`, () => {
        const values = Object.fromEntries(
          fieldsOf(kind, label).flatMap(({ path, is, choices }) => {
            const value = choices?.[0] ?? filling[is]
            return path === 'forMs' ? [] : [[path, path === 'fault.to' ? 'api-server' : value]]
          }),
        )
        expect(checkFault(faultOf(kind, label, values))).toMatchObject({ kind, name: 'one' })
      })
    }
  }

  test('has examples that pass the check', () => {
    for (const { kind, action, values } of faultExamples('node-1'))
      expect(checkFault(faultOf(kind, action, values)).kind).toBe(kind)
  })

  test('leaves what is no number to the check, which names the field', () => {
    const values = { 'fault.action.delayMs': 'soon' }
    expect(() => checkFault(faultOf('requests', 'delay', values))).toThrow(
      /fault\.action\.delayMs: must be a number of milliseconds above 0, not "soon"/,
    )
  })
})

describe('the time of a cluster whose clock others move', () => {
  const told = { nowMs: 1000, atMs: 10_000, speed: 1 }

  test('stands still between two answers with the same time', () => {
    expect(speedBetween(told, 1000, 12_000)).toBe(0)
  })

  test('goes as fast as real time after an advance', () => {
    expect(speedBetween(told, 600_000, 12_000)).toBe(1)
  })

  test('goes slowly where the clock does', () => {
    expect(speedBetween(told, 1200, 12_000)).toBeCloseTo(0.1)
  })
})
