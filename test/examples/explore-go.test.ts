/** The Go operators of `skiff explore`: each bug is found and found again from its plan; the correct one survives. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, expect } from 'vitest'
import { builtOnce } from '../e2e/built.ts'
import { quickBuild, requireGo } from '../support/go.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { copyExample } from './example.ts'
import { expectFound, expectNothingFound } from './explored.ts'

const module = join(import.meta.dirname, '../../examples/explore-go')
const test = requireGo(module)

let built: string | undefined
/** Built once for all tests. */
function commandOf(operator: string): string {
  if (built === undefined) {
    built = join(temporaryFolder('explore-go'), 'explore-go')
    const words = ['build', ...quickBuild.filter((one) => one !== '-vet=off'), '-o', built, '.']
    execFileSync('go', words, { cwd: module, env: { ...process.env, CGO_ENABLED: '0' } })
  }
  return `"${built}" ${operator}`
}

beforeAll(builtOnce)

test.each([
  // The name is read from protobuf, in which client-go writes.
  ['generated-name', 'kill', '✗ killed after: create secrets default/web-token-*'],
  ['generated-name', 'lost-answer', 'was made twice'],
  ['status-first', 'kill', 'Secret default/web-token is missing'],
  // What is left undone depends on which of its two first calls met the conflict.
  ['ignores-conflict', 'refuse', '✗ refused with 409: update configmaps default/table'],
  ['ignores-tombstone', 'relist', 'ConfigMap default/table: data'],
])('the bug of %s is found by plans of %s, and found again', async (operator, kind, finding) => {
  const more = ['--plans', kind]
  await expectFound(copyExample('explore-go'), commandOf, { operator, more, finding })
})

test('nothing is found in the correct Go operator', async () => {
  await expectNothingFound(copyExample('explore-go'), commandOf)
})

test('an operator that is not known is an error with the known ones', async () => {
  const ended = await copyExample('explore-go').run('/bin/sh', ['-c', commandOf('unknown')])
  expect(ended.code).toBe(1)
  expect(ended.output).toContain('usage: explore-go OPERATOR')
})
