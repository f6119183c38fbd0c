/** JSON texts that upstream's decoder was given, too: what it made of them is in test/cases/decode/json.json. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  hasDuplicateFields,
  strictProblems,
} from '../../../components/machinery/values/duplicate-fields.ts'
import { jsonFault } from '../../../components/machinery/values/json-fault.ts'
import { measureJson } from '../../../components/machinery/values/json-measure.ts'

interface Case {
  text: string
  /** Why it is no JSON. */
  fault?: string
  /** Paths of fields that the type of the object does not have. */
  unknown?: string[]
  /** What strict decoding tells of. */
  problems?: string[]
}

const cases = JSON.parse(
  readFileSync(new URL('../../cases/decode/json.json', import.meta.url), 'utf8'),
) as Case[]

describe('upstream agrees', () => {
  it.each(cases)('on $text', ({ text, fault, unknown = [], problems = [] }) => {
    const bytes = Buffer.from(text)
    if (fault !== undefined) {
      expect(() => JSON.parse(text)).toThrow(SyntaxError)
      expect(jsonFault(bytes)).toBe(fault)
      return
    }
    const value: unknown = JSON.parse(text)
    expect(strictProblems(bytes, unknown)).toEqual(problems)
    const isRepeated = problems.some((problem) => problem.startsWith('duplicate'))
    if (isRepeated) expect(hasDuplicateFields(measureJson(bytes).fields, value)).toBe(true)
  })
})
