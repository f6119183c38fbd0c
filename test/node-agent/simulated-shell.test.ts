/** Simulated shell: what a command in a container that runs no code says and ends with. */
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { runSimulated } from '../../components/node-agent/simulated-shell.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

async function shell(
  command: readonly string[],
  more: { stdin?: string; clock?: FakeClock; signal?: AbortSignal } = {},
) {
  let [out, err] = ['', '']
  const code = await runSimulated(command, {
    environment: { PATH: '/bin', COLOUR: 'blue' },
    hostname: 'web-0',
    stdin: more.stdin === undefined ? undefined : Readable.from([Buffer.from(more.stdin)]),
    out: async (text) => void (out += String(text)),
    err: async (text) => void (err += text),
    isTerminal: false,
    clock: more.clock ?? new FakeClock(),
    signal: more.signal ?? new AbortController().signal,
  })
  return { code, out, err }
}

describe('single commands', () => {
  test.each([
    [['echo', 'a', ' b'], 0, 'a  b\n', ''],
    [['echo', '-n', 'a'], 0, 'a', ''],
    [['env'], 0, 'PATH=/bin\nCOLOUR=blue\n', ''],
    [['hostname'], 0, 'web-0\n', ''],
    [['/bin/pwd'], 0, '/\n', ''],
    [['true'], 0, '', ''],
    [['false'], 1, '', ''],
    [['cat', '/etc/passwd'], 1, '', "cat: can't open '/etc/passwd': No such file or directory\n"],
    [['sleep', 'long'], 1, '', "sleep: invalid number 'long'\n"],
    [
      ['ls', '-l'],
      127,
      '',
      'OCI runtime exec failed: exec failed: unable to start container process: exec: "ls": executable file not found in $PATH: unknown\n',
    ],
    [['toString'], 127, '', expect.stringContaining('"toString"') as string],
  ])('%j', async (command, code, out, err) => {
    expect(await shell(command)).toEqual({ code, out, err })
  })

  test('cat copies its input', async () => {
    expect(await shell(['cat'], { stdin: 'x\ny' })).toEqual({ code: 0, out: 'x\ny', err: '' })
  })

  test('sleep sleeps, and is killed with its container', async () => {
    const clock = new FakeClock()
    let ended = false
    const sleeping = shell(['sleep', '2'], { clock }).finally(() => (ended = true))
    await settle()
    expect(ended).toBe(false)
    await clock.step(2000)
    expect((await sleeping).code).toBe(0)
    const end = new AbortController()
    const cut = shell(['sleep', '1h'], { clock, signal: end.signal })
    end.abort(new Error('the container ends'))
    expect((await cut).code).toBe(137)
  })
})

describe('scripts', () => {
  test.each([
    ['echo a; echo b', 0, 'a\nb\n'],
    ['false && echo no || echo yes', 0, 'yes\n'],
    ['true || echo no', 0, ''],
    ['echo "$COLOUR" \'$COLOUR\' ${COLOUR}ish $UNSET.', 0, 'blue $COLOUR blueish .\n'],
    ['false; echo $?; echo $?', 0, '1\n0\n'],
    ['echo a # b', 0, 'a\n'],
    ['echo a\\ b "c\\"d"', 0, 'a b c"d\n'],
    ['exit 300', 44, ''],
    ['false\nexit', 1, ''],
    ['sh -c "exit 7"', 7, ''],
    ['', 0, ''],
  ])('%s', async (script, code, out) => {
    expect(await shell(['sh', '-c', script])).toEqual({ code, out, err: '' })
  })

  test('what is beyond it is said, not guessed', async () => {
    const piped = await shell(['sh', '-c', 'echo a | cat'])
    expect(piped).toMatchObject({ code: 2, out: '' })
    expect(piped.err).toBe('sh: syntax error: "|" is more than a simulated container can do\n')
    expect((await shell(['sh', '-c', 'echo "a'])).code).toBe(2)
    expect(await shell(['sh', '-c', 'ls'])).toEqual({
      code: 127,
      out: '',
      err: 'sh: ls: not found\n',
    })
  })

  test('without -c it reads its input line by line', async () => {
    const { code, out } = await shell(['sh'], { stdin: 'echo one\nfalse\nexit\n' })
    expect([code, out]).toEqual([1, 'one\n'])
  })
})
