/** jq in Stages: what selectors use, what is rejected, and an end to every query. */
import { describe, expect, it } from 'vitest'
import { compileJq, JqLimitError } from '../../components/stage-runner/jq.ts'

const pod = {
  metadata: { annotations: { 'a.io/delay': '5s' }, ownerReferences: [{ kind: 'Job' }] },
  status: {
    phase: 'Running',
    conditions: [
      { type: 'Initialized', status: 'True' },
      { type: 'Ready', status: 'False' },
    ],
  },
}

describe('a query', () => {
  it.each([
    ['.status.phase', ['Running']],
    ['.status.conditions.[] | select( .type == "Ready" ) | .status', ['False']],
    ['.metadata.annotations["a.io/delay"]', ['5s']],
    ['.metadata.ownerReferences.[].kind', ['Job']],
    ['.metadata.deletionTimestamp', []],
    ['.status.conditions | length', [2]],
    ['[.status.conditions[] | .type] | join(",")', ['Initialized,Ready']],
    ['.status.phase | startswith("Run")', [true]],
    ['.missing[]?', []],
    ['.status.phase.deeper', []],
  ])('%s yields what is there, and nothing where it fails', (text, values) => {
    expect(compileJq(text).run(pod)).toEqual(values)
  })

  it.each([
    ['.a[', /./],
    ['.a | test("x")', /test: regular expressions of jq are not supported/],
    ['now', /now: a query depends on the object alone/],
    ['def f: .a; f', /functions of your own are not supported/],
  ])('%s is rejected', (text, reason) => {
    expect(() => compileJq(text)).toThrow(reason)
  })

  it('has a bounded length', () => {
    expect(() => compileJq('.a'.repeat(5000))).toThrow('a query has 8192 characters at most')
  })

  it.each([
    '[range(1000000000)] | length',
    'reduce range(1000000000) as $x (0; . + 1)',
    'last(recurse(.))',
    '0 | until(false; . + 1)',
  ])('%s ends with an error', (text) => {
    expect(() => compileJq(text).run({})).toThrow(JqLimitError)
    // The next run has all its steps again.
    expect(compileJq('range(10)').run({})).toHaveLength(10)
  })
})
