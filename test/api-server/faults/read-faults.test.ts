/** What the command `faults` refuses, and how it says so. */
import { describe, expect, it } from 'vitest'
import { Faults } from '../../../components/api-server/faults/faults.ts'

const faults = new Faults({ random: () => 0 })
const down = { status: { code: 503 } }
const one = (fields: object) => ({ requests: [{ id: 'a', match: {}, action: down, ...fields }] })

describe('invalid parameters', () => {
  it.each([
    [null, 'faults: null is invalid: it must be an object'],
    [{ network: [] }, 'faults: unknown field "network": use requests, store'],
    [{ requests: {} }, 'requests: {} is invalid: it must be a list'],
    [one({ id: '' }), 'requests[0].id: "" is invalid: it must be a text of 1 to 1000 characters'],
    [one({ user: 'x' }), /^requests\[0\]: unknown field "user": use id, action, /],
    [
      one({ action: { status: { code: 418 } } }),
      'requests[0].action.status.code: 418 is invalid: use 409, 410, 429, 500, 503, 504',
    ],
    [
      one({ action: { delayMs: -1 } }),
      'requests[0].action.delayMs: -1 is invalid: it must be a whole number from 0 to 86400000',
    ],
    [
      one({ action: { ...down, delayMs: 1 } }),
      'requests[0].action: has status and delayMs: it must have exactly one of status, delayMs, cut, staleMs, watch, bytesPerSecond',
    ],
    [one({ action: {} }), /^requests\[0\]\.action: has none: it must have exactly one of /],
    [one({ action: { cut: 'twice' } }), /cut: "twice" is invalid: use before, during, after$/],
    [one({ action: { watch: { events: 'lose' } } }), /use drop, expire, end, repeat$/],
    [one({ action: { bytesPerSecond: 0 } }), /bytesPerSecond: 0 is invalid: /],
    [one({ chance: 1.5 }), 'requests[0].chance: 1.5 is invalid: it must be a number from 0 to 1'],
    [one({ chance: Number.NaN }), /^requests\[0\]\.chance: null is invalid/],
    [one({ times: 0 }), /^requests\[0\]\.times: 0 is invalid: it must be a whole number from 1/],
    [one({ seed: 0.5 }), /^requests\[0\]\.seed: 0.5 is invalid/],
    [one({ match: { verbs: ['read'] } }), /^requests\[0\]\.match\.verbs\[0\]: "read" is invalid: /],
    [
      one({ match: { users: [] } }),
      'requests[0].match.users: is empty, so nothing matches: leave it out to match all',
    ],
    [
      one({ match: { users: Array.from({ length: 101 }, () => 'x') } }),
      'requests[0].match.users: has 101 entries: at most 100 are allowed',
    ],
    [
      one({ match: { verbs: ['create'] }, action: { watch: { events: 'drop' } } }),
      'requests[0].match.verbs: ["create"] is invalid: watch happens to watch only',
    ],
    [
      one({ match: { verbs: ['write'] }, action: { staleMs: 5 } }),
      'requests[0].match.verbs: ["write"] is invalid: staleMs happens to get, list, watch only',
    ],
    [
      { store: [{ id: 'a', action: { full: false } }] },
      'store[0].action.full: false is invalid: use true',
    ],
    [
      { store: [{ id: 'a', action: { full: true, fail: true } }] },
      'store[0].action: has full and fail: it must have exactly one of full, delayMs, fail',
    ],
  ])('%j', (params, message) => {
    expect(() => faults.obey(params)).toThrow(message)
    expect(faults.counts()).toEqual({})
  })

  it('more faults than a hundred', () => {
    const requests = Array.from({ length: 60 }, (_, at) => ({ id: `r${at}`, action: down }))
    const store = Array.from({ length: 41 }, (_, at) => ({ id: `s${at}`, action: { fail: true } }))
    expect(() => faults.obey({ requests, store })).toThrow(
      '101 faults are too many: at most 100 are allowed',
    )
  })

  it('an id that two faults have', () => {
    const store = [{ id: 'a', action: { fail: true } }]
    expect(() => faults.obey({ ...one({}), store })).toThrow('two faults have the id "a"')
  })

  it('changes nothing of what is obeyed', () => {
    const own = new Faults({ random: () => 0 })
    own.obey(one({}))
    expect(() => own.obey(one({ times: -1 }))).toThrow()
    expect(own.counts()).toEqual({ a: 0 })
    expect(own.requests).toHaveLength(1)
  })
})
