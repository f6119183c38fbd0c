/** Commands of scenarios on systems with and without process groups and sh. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { processGroupOf } from '../../scenarios/engine/process-group.ts'
import { shellWords } from '../../scenarios/engine/shell-words.ts'
import { eventually } from '../support/eventually.ts'
import { testOn } from '../support/test-on.ts'

function idle() {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
    detached: true,
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, exited: once(child, 'exit'), pid: child.pid ?? 0 }
}

testOn('unix', 'process groups')('a group is asked to end, and ends', async () => {
  const { exited, pid } = idle()
  const group = processGroupOf(pid)
  expect(group.isAlive()).toBe(true)
  group.terminate()
  expect(await exited).toEqual([null, 'SIGTERM'])
  await eventually(() => expect(group.isAlive()).toBe(false))
  // Nothing is left to signal.
  group.terminate()
  group.kill()
})

test('on Windows the process is ended with those below it, whether it is asked or killed', () => {
  const ended: number[] = []
  const group = processGroupOf(process.pid, 'win32', (pid) => ended.push(pid))
  group.terminate()
  group.kill()
  expect(ended).toEqual([process.pid, process.pid])
})

test('a command line runs in sh, on Windows in cmd.exe, which gets it unchanged', () => {
  expect(shellWords('echo "a b" | sort', 'darwin')).toEqual(['/bin/sh', '-c', 'echo "a b" | sort'])
  const [program, ...words] = shellWords('echo "a b" | sort', 'win32')
  expect(program).toMatch(/cmd\.exe$/i)
  expect(words).toEqual(['/d', '/s', '/c', '"echo "a b" | sort"'])
  const [here = '', ...args] = shellWords('echo one two')
  const options = { encoding: 'utf8', windowsVerbatimArguments: true } as const
  expect(spawnSync(here, args, options).stdout.trim()).toBe('one two')
})
