/** The Python operators of `skiff explore`: each bug is found and found again from its plan; the correct one survives. */
import { beforeAll } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { requirePythonClient } from '../support/python-client.ts'
import { copyExample } from './example.ts'
import { expectFound, expectNothingFound } from './explored.ts'

const test = requirePythonClient()
const commandOf = (operator: string): string => `/usr/bin/python3 -B ${operator}.py`

beforeAll(builtOnce)

test.each([
  ['generated_name', 'lost-answer', 'was made twice'],
  ['status_first', 'kill', 'is missing'],
  ['cleans_up_at_start', 'stale', 'ConfigMap default/ann-mail'],
])('the bug of %s is found by plans of %s, and found again', async (operator, kind, finding) => {
  const more = ['--plans', kind]
  await expectFound(copyExample('explore-python'), commandOf, { operator, more, finding })
})

test('nothing is found in the correct Python operator', async () => {
  await expectNothingFound(copyExample('explore-python'), commandOf)
})
