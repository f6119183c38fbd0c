import { describe, expect, it } from 'vitest'
import { parseScenario } from '../../scenarios/engine/scenario.ts'

const refused = (code: number, more = ''): string =>
  `fault: { ${more}kind: requests, fault: { match: { verbs: [get] }, action: { status: { code: ${code} } } } }`

const parse = (...steps: string[]) =>
  parseScenario(`description: x\nsteps:\n${steps.map((one) => `  - ${one}\n`).join('')}`, 'a.yaml')

describe('faults of a scenario that contradict each other', () => {
  it('are refused with both lines', () => {
    expect(() => parse(refused(503), 'sleep: 1s', refused(409))).toThrow(
      'a.yaml:5 contradicts a.yaml:3: they match the same requests',
    )
  })

  it('are refused also where one is in nested steps', () => {
    const nested = `repeat: { times: 2, steps: [{ ${refused(409)} }] }`
    expect(() => parse(refused(503), nested)).toThrow('a.yaml:4 contradicts a.yaml:3')
  })

  it('are refused when both have one name', () => {
    const other = 'fault: { name: mine, kind: store, fault: { full: true } }'
    expect(() => parse(refused(503, 'name: mine, '), other)).toThrow(
      'a.yaml:4 contradicts a.yaml:3: both are named "mine"',
    )
  })

  it.each([
    ['one is healed before', [refused(503), 'heal: true', refused(409)]],
    ['one is healed by its name', [refused(503, 'name: one, '), 'heal: one', refused(409)]],
    ['one is healed by the name it gets', [refused(503), 'heal: requests-1', refused(409)]],
    [
      'nested steps heal it',
      [refused(503), 'each: { of: [1], steps: [{ heal: true }] }', refused(409)],
    ],
    ['one ends by itself', [refused(503, 'forMs: 5, '), 'sleep: 1s', refused(409)]],
    ['the second must be refused', [refused(503), `${refused(409)}\n    fails: contradicts`]],
  ])('are taken where %s', (_, steps) => {
    expect(parse(...steps).steps).toHaveLength(steps.length)
  })
})
