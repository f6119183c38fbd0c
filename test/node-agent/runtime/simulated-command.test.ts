/** Simulated command: what is known of a container's command before it runs. */
import { expect, test } from 'vitest'
import type { Container } from '../../../components/api/generated/types.ts'
import {
  courseOfCommand,
  shellOf,
} from '../../../components/node-agent/runtime/simulated-command.ts'
import { pod } from '../build.ts'

const courseOf = (more: Partial<Container>) => {
  const container = { name: 'main', image: 'busybox', ...more }
  const variables = async () => ({ COLOUR: 'blue' })
  return courseOfCommand(pod('web', { containers: [container] }), container, variables)
}

test.each([
  [['echo', 'hello'], [[0, 'hello']], 0, 0],
  [['true'], [], 0, 0],
  [['/bin/false'], [], 0, 1],
  [['sleep', '2'], [], 2000, 0],
  [
    ['sh', '-c', 'echo -n a; echo b; sleep 1.5; echo $COLOUR; exit 3'],
    [
      [0, 'ab'],
      [1500, 'blue'],
    ],
    1500,
    3,
  ],
  [['sh', '-c', 'false && sleep 60 || echo no'], [[0, 'no']], 0, 0],
  [['sh', '-c', 'hostname'], [[0, 'web']], 0, 0],
  [['echo', '$(COLOUR) $(NAME) $$(COLOUR)'], [[0, 'blue $(NAME) $(COLOUR)']], 0, 0],
  [
    ['sh', '-x', '-c', 'echo a; exit 2'],
    [
      [0, '+ echo a'],
      [0, 'a'],
      [0, '+ exit 2'],
    ],
    0,
    2,
  ],
])('%j is foreseen', async (command, output, endsAfterMs, exitCode) => {
  expect(await courseOf({ command })).toEqual({
    output: output.map(([afterMs, text]) => ({ afterMs, text })),
    endsAfterMs,
    exitCode,
  })
})

test('what reads nothing is foreseen though somebody may type', async () => {
  const script = { command: ['sh', '-c', 'echo a; exit 4'], stdin: true }
  expect(await courseOf(script)).toMatchObject({ output: [{ text: 'a' }], exitCode: 4 })
})

test('the end of a line that is not broken is known', async () => {
  expect(await courseOf({ command: ['echo', '-n', 'DONE'] })).toMatchObject({
    output: [{ afterMs: 0, text: 'DONE', isPartial: true }],
  })
})

test('arguments go after the command, and count as one when there is none', async () => {
  const hello = { output: [{ afterMs: 0, text: 'hello' }], endsAfterMs: 0, exitCode: 0 }
  expect(await courseOf({ args: ['echo', 'hello'] })).toEqual(hello)
  expect(await courseOf({ command: ['sh', '-c'], args: ['echo hello'] })).toEqual(hello)
})

test.each([
  ['nothing', {}],
  ['an unknown program', { command: ['nginx', '-g', 'daemon off;'] }],
  ['flags for the image', { args: ['--port=80'] }],
  ['an unknown program in a script', { command: ['sh', '-c', 'echo a; wget web'] }],
  ['a loop', { command: ['sh', '-c', 'while true; do sleep 1; done'] }],
  ['a pipe', { command: ['sh', '-c', 'echo a | cat'] }],
  ['a file', { command: ['cat', '/etc/passwd'] }],
  ['a time without end', { command: ['sleep', 'infinity'] }],
  ['the output of a command', { command: ['sh', '-c', 'echo "$(date)"'] }],
  ['a script in a file', { command: ['sh', 'start.sh'] }],
  ['an option that no shell has', { command: ['sh', '-Z', '-c', 'true'] }],
  ['something that somebody may type', { command: ['sh'], stdin: true }],
  ['a very long script', { command: ['sh', '-c', 'true;'.repeat(4000)] }],
])('of %s nothing is foreseen', async (_, container) => {
  expect(await courseOf(container)).toBeUndefined()
})

test('open input means a shell unless the command is something else', () => {
  const container = { name: 'main', image: 'busybox', stdin: true }
  expect(shellOf(container)).toEqual(['sh'])
  expect(shellOf({ ...container, command: ['/bin/bash'] })).toEqual(['sh'])
  expect(shellOf({ ...container, args: ['sh'] })).toEqual(['sh'])
  expect(shellOf({ ...container, command: ['python3'] })).toBeUndefined()
  expect(shellOf({ ...container, command: ['sh', 'script.sh'] })).toBeUndefined()
  expect(shellOf({ ...container, stdin: false })).toBeUndefined()
})
