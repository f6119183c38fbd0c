/** Log: what of an error a user reads in one line. */
import { expect, test } from 'vitest'
import { messageOf } from '../../components/component-base/log.ts'

test.each<[string, unknown, string]>([
  ['its message', new Error('broken'), 'broken'],
  ['its first line', new Error('broken\n  1 | a: b'), 'broken'],
  ['and that of its cause', new Error('no file', { cause: new Error('gone') }), 'no file: gone'],
  ['but not twice', new Error('no file: gone', { cause: new Error('gone') }), 'no file: gone'],
  [
    'nor where the cause has more lines',
    new Error('p.yaml: repeated key (2:1)', {
      cause: new Error('repeated key (2:1)\n\n 1 | a: b'),
    }),
    'p.yaml: repeated key (2:1)',
  ],
  ['a value that is no error', 'gone', 'gone'],
])('an error shows %s', (_, error, line) => {
  expect(messageOf(error)).toBe(line)
})
