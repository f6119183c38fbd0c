import { describe, expect, it } from 'vitest'
import { checkFault } from '../../../cluster/lab/check-fault.ts'

/** All lines of the error. */
function problemsOf(value: unknown): string[] {
  try {
    checkFault(value, 'fault.yaml')
  } catch (error) {
    const { message, details } = error as { message: string; details: string[] }
    return [message, ...details]
  }
  return []
}

describe('a fault from outside', () => {
  it('is taken as it is when nothing is wrong', () => {
    const fault = {
      name: 'slow',
      kind: 'network',
      forMs: 1000,
      fault: { from: 'node-1', to: 'api-server', action: { delayMs: 20, jitterMs: 5 } },
    }
    expect(checkFault(fault)).toEqual(fault)
  })

  it.each([
    [{ kind: 'requets', fault: {} }, 'kind: must be one of requests, store, network'],
    ['cut', 'must be a mapping with name, kind'],
    [{ kind: 'process', fault: { part: 'scheduler', action: 'die' } }, 'not "die"'],
    [{ kind: 'process', fault: { prt: 'scheduler', action: 'kill' } }, 'did you mean part?'],
    [
      { kind: 'process', times: 3, fault: { part: 'a', action: 'kill' } },
      'times: goes with faults',
    ],
    [{ kind: 'process', forMs: 3, fault: { part: 'a', action: 'kill' } }, 'has no end'],
    [
      { kind: 'requests', fault: { match: {}, action: { status: { code: 418 } } } },
      'fault.action.status.code: must be one of 409, 410, 429, 500, 503, 504, not 418',
    ],
    [
      { kind: 'requests', fault: { match: {}, action: { delayMs: 5, cut: 'after' } } },
      'must have one of status, delayMs, cut, staleMs, watch, bytesPerSecond, not delayMs and cut',
    ],
    [{ kind: 'requests', fault: { match: {}, action: {} } }, 'not nothing'],
    [
      { kind: 'network', fault: { from: 'a', to: 'b', action: { loss: 2 } } },
      'fault.action.loss: must be a number above 0 and at most 1, not 2',
    ],
    [{ kind: 'network', fault: { from: 'a', to: 'a', action: 'cut' } }, 'another part than from'],
    [{ kind: 'store', chance: 0, fault: { full: true } }, 'chance: must be a number above 0'],
    [{ kind: 'store', seed: 1, fault: { full: true } }, 'seed: goes with chance only'],
    [{ kind: 'clock', fault: { part: 'a', aheadMs: 0 } }, 'other than 0'],
    [{ kind: 'node', name: 'a b', fault: { node: 'a', is: 'rebooted' } }, 'name: must be letters'],
  ])('%j is refused with a line that says why', (value, why) => {
    expect(problemsOf(value).join('\n')).toContain(why)
  })

  it('says every problem, each in a line', () => {
    const lines = problemsOf({ kind: 'clock', fault: { part: 5, aheadMs: 'x' }, colour: 'red' })
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^invalid fault in fault\.yaml: /)
  })
})
