/** Command line: what it says to wrong use, what it prints, and with which exit code it ends. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { clusterCommands } from '../../cluster/cli/commands.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { freeNodeName } from '../../cluster/cli/node.ts'
import { createProgress } from '../../cluster/cli/progress.ts'
import { createUpProgress } from '../../cluster/cli/up-progress.ts'
import { runCli } from '../../cluster/cli/run-cli.ts'
import { processTerminal, shortDuration, table } from '../../cluster/cli/terminal.ts'
import type { Terminal } from '../../cluster/cli/terminal.ts'
import { parseExtraFlags } from '../../cluster/cli/up.ts'
import { launchCluster } from '../../cluster/launch.ts'
import { readableLine } from '../../cluster/log-tail.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { scenarioCommands } from '../../scenarios/engine/scenario-command.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { fixtureLaunch, temporaryStateRoot } from './temporary-state.ts'

const entries = [
  ...clusterCommands,
  { name: 'scenario', summary: 'run, list', load: async () => scenarioCommands },
]

function recorder(more: Partial<Terminal> = {}): Terminal & { stdout: string; stderr: string } {
  const terminal = {
    stdout: '',
    stderr: '',
    out: (text: string) => void (terminal.stdout += text),
    err: (text: string) => void (terminal.stderr += text),
    isInteractive: false,
    outColors: false,
    errColors: false,
    columns: 100,
    ...more,
  }
  return terminal
}

async function skiff(
  words: string,
  stateRoot = '/nonexistent/skiff',
): Promise<{ code: number; stdout: string; stderr: string }> {
  const terminal = recorder()
  const code = await runCli(entries, words.split(' ').filter(Boolean), {
    terminal,
    clock: systemClock,
    stateRoot,
    environment: { HOME: stateRoot },
    signal: new AbortController().signal,
  })
  return { code, stdout: terminal.stdout, stderr: terminal.stderr }
}

describe('wrong use', () => {
  test.each([
    ['upp', 'error: unknown command "upp"\nhint: did you mean: skiff up\n'],
    ['xyzzy-plugh', 'error: unknown command "xyzzy-plugh"\nhint: see: skiff --help\n'],
    ['node ad', 'error: unknown command "node ad"\nhint: did you mean: skiff node add\n'],
    [
      'up --node 3',
      'error: skiff up: unknown flag --node; did you mean --nodes?\nhint: see: skiff up --help\n',
    ],
    [
      'up --nodes three',
      'error: skiff up: invalid value "three" for --nodes: must be a whole number\nhint: see: skiff up --help\n',
    ],
    ['up extra', 'error: skiff up: unexpected argument "extra"\nhint: see: skiff up --help\n'],
    ['restart', 'error: skiff restart needs COMPONENT\nhint: see: skiff restart --help\n'],
    ['up -x', 'error: skiff up: unknown flag -x\nhint: see: skiff up --help\n'],
    [
      'up --set scheduler=1',
      'error: --set scheduler=1: not of the form COMPONENT.FLAG=VALUE\nhint: components: api-server, controller-manager, scheduler, node-agent\n',
    ],
    [
      'join http://x --token a',
      'error: "http://x" is not the URL of an API server\nhint: it looks like https://192.0.2.1:6443\n',
    ],
    [
      'join https://x:1 --token a',
      'error: the CA pin is missing\nhint: give --discovery-token-ca-cert-hash, or --discovery-token-unsafe-skip-ca-verification\n',
    ],
  ])('%s ends with 2 and says what would be right', async (words, message) => {
    expect(await skiff(words)).toEqual({ code: exitCodes.usage, stdout: '', stderr: message })
  })

  test('no command at all shows what there is, with exit code 2; --help with 0', async () => {
    const none = await skiff('')
    expect(none.code).toBe(2)
    expect(none.stdout).toContain('Exit codes:')
    expect(await skiff('--help')).toEqual({ ...none, code: 0 })
  })
})

describe('help', () => {
  test('every command has a summary, an example that names it, and its flags', async () => {
    let count = 0
    for (const entry of entries) {
      for (const command of await entry.load()) {
        count += 1
        const { code, stdout } = await skiff(`${command.name} --help`)
        expect(code).toBe(0)
        expect(stdout.split('\n')[0]).toBe(command.summary)
        expect(command.examples.length).toBeGreaterThan(0)
        for (const [line] of command.examples)
          expect(line).toContain(`skiff ${command.name.split(' ')[0]}`)
        for (const name of Object.keys(command.flags)) expect(stdout).toContain(`--${name}`)
      }
    }
    expect(count).toBeGreaterThanOrEqual(20)
  })
})

describe('without a cluster', () => {
  test.each([
    'status',
    'node list',
    'restart api-server',
    'token list',
    'kubeconfig',
    'certs check',
    'logs',
    'down',
  ])('%s says so, with exit code 3', async (words) => {
    const { code, stderr } = await skiff(words, temporaryStateRoot())
    expect(stderr).toMatch(/^error: there is no cluster "default"\n/)
    expect(code).toBe(exitCodes['not-found'])
  })
  test('status --all and down --all find nothing, and that is fine', async () => {
    const root = temporaryStateRoot()
    expect(await skiff('status --all', root)).toMatchObject({
      code: 0,
      stdout: 'There are no clusters\n',
    })
    expect(await skiff('down --all', root)).toMatchObject({ code: 0 })
    expect(await skiff('status --all -o json', root)).toMatchObject({ code: 0, stdout: '[]\n' })
  })
})

describe('with a running cluster', () => {
  test('status shows it as text and as JSON, and its exit code says whether all is well', async () => {
    const root = temporaryStateRoot()
    const { control, paths, config } = await launchCluster(fixtureLaunch(root, { nodes: 1 }))
    await control.call('start', {})
    const text = await skiff('status --name lab', root)
    expect(text.code).toBe(0)
    expect(text.stdout).toContain(`lab: https://127.0.0.1:${config.port}`)
    expect(text.stdout).toMatch(/^api-server +ready +\d+ +0 /m)
    await control.call('stop-component', { name: 'scheduler' })
    const json = await skiff('status --name lab -o json', root)
    expect(json.code).toBe(exitCodes.failed)
    expect(JSON.parse(json.stdout)).toMatchObject({ name: 'lab', ready: false })

    expect((await skiff('status --all', root)).stdout).toMatch(/^lab +running +https:/m)
    const logs = await skiff('logs node-1 --name lab', root)
    expect(logs.stdout).toBe('node-1 starts as ready\n')
    expect((await skiff('logs nothing --name lab', root)).stderr).toContain(
      'hint: there are: api-server,',
    )
    expect((await skiff('restart node-1 --name lab', root)).stdout).toBe('node-1 restarted\n')
    expect((await skiff('kubeconfig --path --name lab', root)).stdout).toBe(
      `${paths.adminKubeconfig}\n`,
    )
    const unknown = await skiff('fault kill nothing --name lab', root)
    expect(unknown.code).toBe(exitCodes['not-found'])

    const down = await skiff('down --name lab', root)
    expect(down).toEqual({ code: 0, stdout: 'Cluster "lab" is gone\n', stderr: '' })
    expect((await skiff('status --name lab', root)).code).toBe(exitCodes['not-found'])
  })

  test('a cluster whose supervisor is gone is told from one that does not exist', async () => {
    const root = temporaryStateRoot()
    const { control } = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
    control.close()
    await skiff('down --keep-data --name lab', root)
    const { code, stderr } = await skiff('status --name lab', root)
    expect(code).toBe(exitCodes['not-running'])
    expect(stderr).toContain('skiff up')
  })

  test('certs check lists every certificate; renew makes new ones under the same CA', async () => {
    const root = temporaryStateRoot()
    const { paths } = await launchCluster(fixtureLaunch(root, { nodes: 0 }))
    const check = async () =>
      JSON.parse((await skiff('certs check --name lab -o json', root)).stdout) as {
        file: string
        serialNumber: string
        issuer: string
      }[]
    const before = await check()
    expect(before.map((row) => row.file)).toContain('pki/apiserver.crt')
    const serial = (rows: typeof before, name: string) =>
      rows.find((row) => row.file === join('pki', `${name}.crt`))?.serialNumber
    const { stdout } = await skiff('certs renew admin --name lab --restart=false', root)
    expect(stdout).toBe('renewed: admin\n')
    const after = await check()
    expect(serial(after, 'admin')).not.toBe(serial(before, 'admin'))
    expect(serial(after, 'ca')).toBe(serial(before, 'ca'))
    expect(serial(after, 'apiserver')).toBe(serial(before, 'apiserver'))
    expect((await skiff('certs renew nobody --name lab', root)).code).toBe(exitCodes.usage)
    expect(paths.pki).toContain('lab')
  })
})

describe('what is printed', () => {
  test('lines off a terminal are written once each, without escapes', () => {
    const clock = new FakeClock()
    const terminal = recorder()
    const progress = createProgress({ terminal, clock, names: ['api-server', 'node-1'] })
    progress.update('api-server', 'starting')
    progress.done('api-server', 'ready')
    progress.done('api-server', 'ready')
    progress.failed('node-1', 'exit code 1')
    progress.end()
    expect(terminal.stderr).toBe(
      ' ✓ api-server     0 ms  ready\n ✗ node-1         0 ms  exit code 1\n',
    )
    expect(clock.pending).toBe(0)
  })

  test('a node that is Ready stays done, whatever its process says afterwards', () => {
    const terminal = recorder()
    const progress = createUpProgress({ terminal, clock: new FakeClock() })
    const node = { name: 'node-1', program: 'node-agent', restarts: 0, sinceMs: 0 } as const
    const report = (state: 'starting' | 'ready', message?: string): void =>
      progress.report({
        kind: 'component',
        status: { ...node, state, ...(message === undefined ? {} : { message }) },
      })
    report('starting')
    report('starting', 'csr running')
    progress.report({ kind: 'node', name: 'node-1' })
    report('starting', 'register done')
    report('ready')
    progress.report({ kind: 'node', name: 'simulated-0' })
    progress.end()
    expect(terminal.stderr).toBe(' ✓ node-1                 0 ms  Ready\n')
  })

  test('on a terminal every line is redrawn in place and cut to its width', async () => {
    const clock = new FakeClock()
    const terminal = recorder({ isInteractive: true, columns: 30 })
    const progress = createProgress({ terminal, clock, names: ['node-1'] })
    progress.update('node-1', 'a note that is much too long for a narrow terminal')
    await clock.step(80)
    progress.end()
    const [first = '', second = ''] = terminal.stderr.split('\u001b[1A')
    expect(first).toBe('\u001b[2K ⠋ node-1     0 ms  waiting\n')
    expect(second).toBe('\u001b[2K ⠙ node-1    80 ms  a note th\n')
    expect(clock.pending).toBe(0)
  })

  test('NO_COLOR and TERM=dumb turn colours off', () => {
    expect(processTerminal({ NO_COLOR: '1' }).outColors).toBe(false)
    expect(processTerminal({ TERM: 'dumb' }).isInteractive).toBe(false)
  })

  test('tables, durations and log lines read well', () => {
    expect(
      table([
        ['A', 'LONG'],
        ['xyz', 'b'],
      ]),
    ).toBe('A    LONG\nxyz  b\n')
    expect([5, 1234, 65_000, 600_000, 10_000_000, 259_200_000].map(shortDuration)).toEqual([
      '5 ms',
      '1.2 s',
      '65.0 s',
      '10 min',
      '3 h',
      '3 d',
    ])
    const line =
      '{"time":"2025-01-01T10:20:30.456Z","level":"warn","message":"hm","error":{"message":"bad"},"n":1}'
    expect(readableLine(line)).toBe('10:20:30.456 warn  hm error=bad n=1')
    expect(readableLine('plain')).toBe('plain')
  })

  test('the next free node name, and flags for components', () => {
    expect(freeNodeName(['node-1', 'node-3'])).toBe('node-2')
    expect(
      parseExtraFlags([
        'scheduler.v=4',
        'scheduler.--log-level=debug',
        'node-agent.capacity=cpu=4',
      ]),
    ).toEqual({
      scheduler: { v: '4', 'log-level': 'debug' },
      'node-agent': { capacity: 'cpu=4' },
    })
  })
})
