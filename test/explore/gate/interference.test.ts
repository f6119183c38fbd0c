import { expect, it } from 'vitest'
import { Interference } from '../../../explore/gate/interference.ts'

const pods = new URL('https://127.0.0.1/api/v1/pods?resourceVersion=0')

it('an old view is shown from the first request on for as long as it says, and its events come when it is over', () => {
  let nowMs = 1000
  const interference = new Interference([], { now: () => nowMs })
  interference.showOld({ revision: '7', forMs: 500 })
  nowMs = 4000
  interference.spoken()
  expect(interference.viewOf(pods).searchParams.get('resourceVersion')).toBe('7')
  expect(interference.fateOfEvent('pods')).toEqual({ notBeforeMs: 4500, times: 1 })
  nowMs = 4200
  interference.spoken()
  expect(interference.fateOfEvent('pods')).toEqual({ notBeforeMs: 4500, times: 1 })
  nowMs = 4500
  expect(interference.viewOf(pods)).toBe(pods)
  expect(interference.fateOfEvent('pods')).toEqual({ notBeforeMs: 4500, times: 1 })
})
