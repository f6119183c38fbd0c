import { expect, it } from 'vitest'
import { goJson } from '../../../components/machinery/values/go-json.ts'

it.each([
  ['a<b && c>d', String.raw`"a\u003cb \u0026\u0026 c\u003ed"`],
  ['\u2028\u2029', String.raw`"\u2028\u2029"`],
  ['"é/\n', String.raw`"\"é/\n"`],
  [{ '<': ['&'] }, String.raw`{"\u003c":["\u0026"]}`],
])('%j is written as Go writes it', (value, text) => {
  expect(goJson(value)).toBe(text)
  expect(JSON.parse(text)).toEqual(value)
})
