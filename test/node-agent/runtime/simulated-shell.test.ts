/** Simulated shell: what a command in a container that runs no code says and ends with. */
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { runSimulated } from '../../../components/node-agent/runtime/simulated-shell.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

async function shell(
  command: readonly string[],
  more: { stdin?: string; clock?: FakeClock; signal?: AbortSignal } = {},
) {
  let [out, err] = ['', '']
  const code = await runSimulated(command, {
    environment: { PATH: '/bin', COLOUR: 'blue' },
    hostname: 'web-0',
    stdin: () => (more.stdin === undefined ? undefined : Readable.from([Buffer.from(more.stdin)])),
    out: async (text) => void (out += String(text)),
    err: async (text) => void (err += text),
    trace: async (text) => void (err += text),
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
    ['echo "\\$COLOUR" a#b', 0, '$COLOUR a#b\n'],
    ['exit 300', 44, ''],
    ['false\nexit', 1, ''],
    ['sh -c "exit 7"', 7, ''],
    ['', 0, ''],
  ])('%s', async (script, code, out) => {
    expect(await shell(['sh', '-c', script])).toEqual({ code, out, err: '' })
  })

  test.each([
    [['-x', '-c', 'echo a && false'], 1, 'a\n', '+ echo a\n+ false\n'],
    [['-xc', 'echo "$COLOUR"'], 0, 'blue\n', '+ echo blue\n'],
    [['-ec', 'false; echo no'], 1, '', ''],
    [['-e', '-c', 'false || echo a; false && echo b; echo c'], 0, 'a\nc\n', ''],
    [['-e', '+e', '-c', 'false; echo yes'], 0, 'yes\n', ''],
    [['-c', 'set -ex; false; echo no'], 1, '', '+ false\n'],
    [['-euxo', 'pipefail', '-c', 'echo $COLOUR'], 0, 'blue\n', '+ echo blue\n'],
    [['-o', 'errexit', '-c', 'false; echo no'], 1, '', ''],
    [['-uc', 'echo a; echo $NONE; echo b'], 2, 'a\n', 'sh: NONE: parameter not set\n'],
    [['-nc', 'echo a'], 0, '', ''],
    [['-vc', 'echo a'], 0, 'a\n', 'echo a\n'],
    [['-lc', 'echo a'], 0, 'a\n', ''],
    [['--login', '-c', '--', 'echo a'], 0, 'a\n', ''],
    [['-c', 'echo $0 $1 $# "$@"', 'me', 'one', 'two'], 0, 'me one 2 one two\n', ''],
    [
      ['-c', 'A=1 B="x y"; echo $A$B; A=2 env; echo $A'],
      0,
      expect.stringMatching(/A=2\n[^]*1\n$/),
      '',
    ],
    [['-c'], 2, '', 'sh: -c requires an argument\n'],
    [['-Z', '-c', 'echo a'], 2, '', 'sh: illegal option -Z\n'],
    [['-o', 'odd', '-c', 'echo a'], 2, '', 'sh: illegal option -o odd\n'],
    [['script.sh'], 2, '', "sh: can't open 'script.sh': No such file or directory\n"],
  ] as [string[], number, string, string][])('sh %j', async (args, code, out, err) => {
    expect(await shell(['sh', ...args])).toEqual({ code, out, err })
  })

  test('options that stand alone leave a shell that reads its input', async () => {
    const { code, out, err } = await shell(['sh', '-x'], { stdin: 'echo one\nexit 4\n' })
    expect([code, out, err]).toEqual([4, 'one\n', '+ echo one\n+ exit 4\n'])
  })

  test('a script of 20,000 commands runs to its end', async () => {
    const { code, out } = await shell(['sh', '-c', 'echo a;'.repeat(20_000)])
    expect([code, out.length]).toEqual([0, 40_000])
  })

  test('what is beyond it is said, not guessed', async () => {
    const piped = await shell(['sh', '-c', 'echo a | cat'])
    expect(piped).toMatchObject({ code: 2, out: '' })
    expect(piped.err).toBe('sh: syntax error: "|" is more than a simulated container can do\n')
    expect((await shell(['sh', '-c', 'echo "a'])).code).toBe(2)
    const nested = await shell(['sh', '-c', 'echo "now $(date)"'])
    expect(nested).toMatchObject({ code: 2, out: '' })
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
