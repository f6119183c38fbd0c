/** Command line: what it says to wrong use, what it prints, and with which exit code it ends. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { clusterCommands } from '../../../cluster/cli/commands.ts'
import { exitCodes } from '../../../cluster/cli/exit-codes.ts'
import { freeNodeName } from '../../../cluster/free-node-name.ts'
import { createProgress } from '../../../cluster/cli/progress.ts'
import { createUpProgress } from '../../../cluster/cli/up-progress.ts'
import { runCli } from '../../../cluster/cli/run-cli.ts'
import {
  asTyped,
  processTerminal,
  programName,
  shortDuration,
  table,
} from '../../../cluster/cli/terminal.ts'
import type { Terminal } from '../../../cluster/cli/terminal.ts'
import { parseExtraFlags } from '../../../cluster/cli/up.ts'
import { launchCluster } from '../../../cluster/launch.ts'
import { readableLine } from '../../../cluster/log-tail.ts'
import { createStateDir, listClusters, statePaths } from '../../../cluster/state/state-dir.ts'
import { explainSystemError } from '../../../cluster/system-error.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { scenarioCommands } from '../../../scenarios/engine/scenario-command.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { fixtureLaunch, temporaryStateRoot } from '../temporary-state.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const entries = [
  ...clusterCommands,
  { name: 'scenario', summary: 'run, list', load: async () => scenarioCommands() },
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
  stateRoot = join(temporaryFolder('no-clusters'), 'skiff'),
): Promise<{ code: number; stdout: string; stderr: string }> {
  const terminal = recorder()
  const code = await runCli(entries, words.split(' ').filter(Boolean), {
    terminal,
    clock: systemClock,
    stateRoot,
    environment: { HOME: stateRoot },
    program: 'skiff',
    signal: new AbortController().signal,
  })
  return { code, stdout: terminal.stdout, stderr: terminal.stderr }
}

const joining = [
  '--control-plane https://127.0.0.1:1 --token abcdef.0123456789abcdef',
  `--discovery-token-ca-cert-hash sha256:${'0'.repeat(64)} --certificate-key ${'0'.repeat(64)}`,
].join(' ')

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
    [
      'why get pods --last',
      'error: skiff why --last takes one number as its argument\nhint: see: skiff why --help\n',
    ],
    [
      'why get pods --as ann --token-file x',
      'error: KIND NAME or VERB RESOURCE, -f, --token-file and --last cannot be combined\nhint: see: skiff why --help\n',
    ],
    ['why get pods', 'error: the user is missing: pass --as USER\nhint: see: skiff why --help\n'],
    [
      'why get --as ann',
      'error: with --as, skiff why needs VERB and RESOURCE\nhint: see: skiff why --help\n',
    ],
    [
      'why pod',
      'error: skiff why needs KIND NAME, pending, VERB RESOURCE with --as USER, -f FILE, --token-file FILE or --last\nhint: see: skiff why --help\n',
    ],
    [
      'why pod/a -A',
      'error: an object is in one namespace: pass -n NAMESPACE instead of -A\nhint: see: skiff why --help\n',
    ],
    [
      'why pending -o role',
      'error: -o role and --subresource are for requests: pass --as USER\nhint: see: skiff why --help\n',
    ],
    [
      'why get pods --as-group devs',
      'error: --as-group and --as-uid need --as USER\nhint: see: skiff why --help\n',
    ],
    ['restart', 'error: skiff restart needs COMPONENT\nhint: see: skiff restart --help\n'],
    ['up -x', 'error: skiff up: unknown flag -x\nhint: see: skiff up --help\n'],
    [
      'up --set scheduler=1',
      'error: invalid --set scheduler=1: must be COMPONENT.FLAG=VALUE\nhint: components: api-server, controller-manager, scheduler, node-agent, load-balancer, stage-runner, console, etcd\n',
    ],
    [
      'up --api-servers 0',
      'error: invalid --api-servers 0: must be from 1 to 9\nhint: omit --api-servers for one\n',
    ],
    [
      'up --api-servers 3',
      'error: --api-servers 3 needs a store that they can share\nhint: add --store etcd, or --etcd-servers URL,URL for an existing etcd\n',
    ],
    [
      'up --store sqlite --etcd-servers http://127.0.0.1:1',
      'error: --store sqlite and --etcd-servers cannot be combined\nhint: omit --store\n',
    ],
    [
      'up --store etcd --etcd-members 2',
      'error: invalid --etcd-members 2: must be 1, 3, 5 or 7\nhint: an even number tolerates no more failures than the odd number below it\n',
    ],
    [
      'up --etcd-members 3',
      'error: --etcd-members and --etcd-binary need --store etcd\nhint: add --store etcd\n',
    ],
    [
      'up --etcd-servers 127.0.0.1:2379',
      'error: invalid --etcd-servers: "127.0.0.1:2379" is not the URL of an etcd member\nhint: use URLs such as https://192.0.2.1:2379\n',
    ],
    [
      'up --etcd-servers http://127.0.0.1:1 --etcd-binary etcd',
      'error: --etcd-servers cannot be combined with --etcd-members or --etcd-binary\nhint: pass --etcd-servers for an existing etcd, or --store etcd for one that the cluster starts\n',
    ],
    [
      'up --etcd-cafile ca.crt',
      'error: --etcd-cafile, --etcd-certfile and --etcd-keyfile need --etcd-servers\nhint: omit them: an etcd that the cluster starts gets certificates of its own\n',
    ],
    [
      'up --etcd-servers https://127.0.0.1:1 --etcd-certfile client.crt',
      'error: --etcd-certfile and --etcd-keyfile go together\nhint: pass both, or none\n',
    ],
    [
      'up --store etcd --etcd-binary /nowhere/etcd',
      'error: --etcd-binary: /nowhere/etcd is not a program\nhint: install it (apt-get install etcd-server, dnf install etcd, brew install etcd), or pass --etcd-binary PATH\n',
    ],
    [
      'up --set etcd.data-dir=/tmp',
      'error: --set etcd.data-dir=/tmp: --data-dir cannot be set with this flag\nhint: the plan of the cluster sets it\n',
    ],
    [
      'up --certificate-key x',
      'error: a token, a CA pin and a certificate key need --control-plane\nhint: to run a node agent instead, use skiff join\n',
    ],
    [
      'up --control-plane http://127.0.0.1:1',
      'error: "http://127.0.0.1:1" is not the URL of an API server\nhint: use a URL such as https://192.0.2.1:6443\n',
    ],
    [
      'up --control-plane https://127.0.0.1:1 --token secret',
      'error: invalid bootstrap token\nhint: a token is 6 lower-case letters or digits, a dot, and 16 more\n',
    ],
    [
      'up --control-plane https://127.0.0.1:1 --token abcdef.0123456789abcdef',
      'error: invalid --discovery-token-ca-cert-hash "": must be sha256: and 64 hexadecimal digits\nhint: print it on the cluster: skiff token create --print-join-command\n',
    ],
    [
      `up --nodes 3 ${joining}`,
      'error: --control-plane and --nodes cannot be combined\nhint: add nodes when it runs: skiff node add NAME\n',
    ],
    [
      `up --store etcd ${joining}`,
      'error: --control-plane and --store cannot be combined\nhint: omit --store: the cluster that is joined has decided it\n',
    ],
    [
      `up ${joining}`,
      'error: skiff up --control-plane needs --address\nhint: give it the address of this machine at which the others reach it\n',
    ],
    [
      'join http://x --token a',
      'error: "http://x" is not the URL of an API server\nhint: use a URL such as https://192.0.2.1:6443\n',
    ],
    [
      'join https://x:1 --token a',
      'error: the CA pin is missing\nhint: pass --discovery-token-ca-cert-hash, or --discovery-token-unsafe-skip-ca-verification to join without it\n',
    ],
    [
      'up --wait -1s',
      'error: skiff up: invalid value "-1s" for --wait: must not be below 0s\nhint: see: skiff up --help\n',
    ],
    [
      'logs --tail -1',
      'error: skiff logs: invalid value "-1" for --tail: must not be below 0\nhint: see: skiff logs --help\n',
    ],
    [
      'up --set api-server.secure-port=1',
      'error: --set api-server.secure-port=1: --secure-port cannot be set with this flag\nhint: use --port, which sets it for all components\n',
    ],
    [
      'join https://x:1 --discovery-token-unsafe-skip-ca-verification --node-name ../../x',
      'error: invalid node name "../../x"\nhint: use lower case letters, digits, dashes and dots\n',
    ],
    [
      'join https://x:1 --discovery-token-unsafe-skip-ca-verification --node-name x --port 70000',
      'error: invalid --port 70000: must be from 0 to 65535\nhint: pass --port 0 for a free port\n',
    ],
    [
      'join https://x:1 --discovery-token-unsafe-skip-ca-verification --node-name x',
      'error: node "x" has no certificate yet and needs a token\nhint: pass --token-file or --token; create a token on the cluster: skiff token create\n',
    ],
    [
      'join https://x:1 --discovery-token-ca-cert-hash sha256:1',
      'error: invalid --discovery-token-ca-cert-hash "sha256:1": must be sha256: and 64 hexadecimal digits\nhint: print it on the cluster: skiff token create --print-join-command\n',
    ],
    [
      'scenario run token-join --junit /nonexistent/report.xml',
      'error: --junit: no such directory /nonexistent\nhint: pass --junit a file in an existing directory that you can write to\n',
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

describe('a file that cannot be used', () => {
  const joining = 'join https://x:1 --discovery-token-unsafe-skip-ca-verification --node-name x'
  test.each([
    ['/nonexistent/token', /^error: \/nonexistent\/token: no such file or directory\nhint: .+\n$/],
    ['/', /^error: \/ is a directory, not a file\nhint: .+\n$/],
  ])('%s is named, with a hint', async (file, message) => {
    const { code, stderr } = await skiff(`${joining} --token-file ${file}`)
    expect(stderr).toMatch(message)
    expect(code).toBe(exitCodes.failed)
  })

  test('what a parser says on several lines is one line with details', async () => {
    const file = join(temporaryStateRoot(), 'wrong.yaml')
    writeFileSync(file, 'a: [\n')
    const { code, stderr } = await skiff(`convert -f ${file}`)
    const [first, ...rest] = stderr.trimEnd().split('\n')
    expect(first).toMatch(/^error: .*wrong.yaml: /)
    expect(rest.length).toBeGreaterThan(0)
    for (const line of rest) expect(line).toMatch(/^( {2}\| |hint: )/)
    expect(code).toBe(exitCodes.failed)
  })

  test('no right to it is exit code 7', () => {
    const refused = Object.assign(new Error('EACCES: permission denied'), {
      code: 'EACCES',
      syscall: 'open',
      path: '/root/x',
    })
    expect(explainSystemError(refused)).toMatchObject({
      kind: 'permission',
      message: 'permission denied for /root/x (EACCES)',
    })
    expect(explainSystemError(refused, '/root/y')).toMatchObject({
      message: 'permission denied for /root/y (EACCES)',
    })
  })
})

test.each(['up', 'logs -f --name lab', 'version'])(
  'a command that is interrupted before it begins does nothing: %s',
  async (words) => {
    const stop = new AbortController()
    stop.abort(new Error('interrupted'))
    const root = temporaryStateRoot()
    const paths = statePaths(root, 'lab')
    createStateDir(paths)
    const terminal = recorder()
    const code = await runCli(entries, words.split(' '), {
      terminal,
      clock: systemClock,
      stateRoot: root,
      environment: { HOME: root },
      program: 'skiff',
      signal: stop.signal,
    })
    expect(code).toBe(exitCodes.interrupted)
    expect(terminal).toMatchObject({ stdout: '', stderr: 'interrupted\n' })
    expect(listClusters(root)).toEqual(['lab'])
  },
)

describe('short flags', () => {
  test.each(['-o json', '-ojson', '-o=json'])('%s is --output json', async (words) => {
    expect(JSON.parse((await skiff(`version ${words}`)).stdout)).toHaveProperty('api')
  })
  test('one that a command does not have is refused as it was typed', async () => {
    expect((await skiff('down -ojson')).stderr).toContain('unknown flag')
  })
})

describe('help', () => {
  test('help COMMAND is COMMAND --help', async () => {
    expect(await skiff('help node add')).toEqual(await skiff('node add --help'))
    expect((await skiff('help nothing-like-it')).code).toBe(exitCodes.usage)
  })

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
  test.each([
    'up --name',
    'down --name',
    'status --name',
    'node list --name',
    'restart api-server --name',
    'kubeconfig --name',
    'certs check --name',
    'logs --name',
    'fault kill scheduler --name',
    'scenario run scenarios/token-join.yaml --cluster',
  ])('%s takes no path for a name', async (words) => {
    const { code, stderr } = await skiff(`${words} ../x`, temporaryStateRoot())
    expect(stderr).toMatch(/^error: invalid cluster name "\.\.\/x"\nhint: /)
    expect(code).toBe(exitCodes.usage)
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
    expect((await skiff('logs node-1 --tail 0 --name lab', root)).stdout).toBe('')
    const lines = (await skiff('logs -o json --name lab', root)).stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toContainEqual({
      process: 'node-1',
      message: 'node-1 starts as ready',
    })
    expect((await skiff('logs --raw node-1 scheduler --name lab', root)).stdout).toContain(
      '\nscheduler starts as ready\n',
    )
    expect((await skiff('logs nothing --name lab', root)).stderr).toContain(
      'hint: components: api-server,',
    )
    expect((await skiff('restart node-1 --name lab', root)).stdout).toBe('node-1 restarted\n')
    expect((await skiff('kubeconfig --path --name lab', root)).stdout).toBe(
      `${paths.adminKubeconfig}\n`,
    )
    expect(JSON.parse((await skiff('kubeconfig --path -o json --name lab', root)).stdout)).toEqual({
      path: paths.adminKubeconfig,
    })
    const file = join(root, 'users-own')
    const merged = await skiff(`kubeconfig --merge --kubeconfig ${file} -o json --name lab`, root)
    expect(JSON.parse(merged.stdout)).toEqual({ file, context: 'skiff-lab' })
    expect((await skiff(`kubeconfig --kubeconfig ${file} --name lab`, root)).code).toBe(2)
    expect((await skiff('kubeconfig --path --merge --name lab', root)).code).toBe(2)
    const stopped = await skiff('fault kill scheduler --name lab', root)
    expect(stopped).toMatchObject({
      code: exitCodes['not-running'],
      stderr:
        'error: scheduler is not running\nhint: start it with: skiff restart scheduler --name lab\n',
    })
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
    expect(stderr).toBe(
      'error: the supervisor of cluster "lab" does not answer\n' +
        'hint: start it again with its data: skiff up --name lab; or remove the cluster: skiff down --name lab\n',
    )
    const scenario = await skiff('scenario run token-join --cluster lab', root)
    expect(scenario).toEqual({ code: exitCodes['not-running'], stdout: '', stderr })
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
    const secret = join(root, 'password')
    writeFileSync(secret, '\n')
    const weak = await skiff(
      `certs export --p12 ${root}/x.p12 --password-file ${secret} --name lab`,
      root,
    )
    expect(weak.stderr).toMatch(/^error: the first line of .*password is empty\nhint: /)
    writeFileSync(join(paths.pki, 'sa.key'), 'rubbish')
    const damaged = await skiff('certs check --name lab', root)
    expect(damaged.stderr).toMatch(
      /^error: .*sa\.key is damaged: it contains no private key\nhint: /,
    )
    expect(damaged.code).toBe(exitCodes.failed)
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

  test('of a crowd its count is shown, not the steps of one of them', async () => {
    const clock = new FakeClock()
    const terminal = recorder({ isInteractive: true })
    const progress = createUpProgress({ terminal, clock })
    const crowd = { name: 'simulated', program: 'node-agent', restarts: 0, sinceMs: 0 } as const
    progress.report({ kind: 'node', name: 'simulated-0' })
    progress.report({ kind: 'node', name: 'simulated-1' })
    const status = { ...crowd, state: 'starting', message: 'csr running' } as const
    progress.report({ kind: 'component', status })
    await clock.step(80)
    progress.end()
    expect(terminal.stderr).toContain('2 nodes Ready')
    expect(terminal.stderr).not.toContain('csr running')
  })

  test('texts name commands as the user types them', () => {
    const text =
      'What runs: skiff status    npx skiff up, kubectl skiff why, /usr/bin/skiff x, skiff.'
    expect(asTyped(text, 'skiff')).toBe(text)
    expect(asTyped(text, 'npx kube-skiff')).toBe(
      'What runs: npx kube-skiff status    npx skiff up, kubectl skiff why, /usr/bin/skiff x, skiff.',
    )
  })

  test('the program is named after the way it was started, with npx by the name of its package', () => {
    const npx = { npm_command: 'exec', npm_lifecycle_event: 'npx' }
    expect(programName('/usr/local/bin/skiff', {})).toBe('skiff')
    expect(programName('/home/me/skiff/bin/skiff.js', {})).toBe('skiff')
    expect(programName('/usr/local/bin/kube-skiff', {})).toBe('kube-skiff')
    expect(programName('/usr/local/bin/kubectl-skiff', {})).toBe('kubectl skiff')
    expect(programName('/app/node_modules/.bin/skiff', npx)).toBe('npx kube-skiff')
    expect(programName('C:\\app\\node_modules\\kube-skiff\\bin\\skiff.js', npx)).toBe(
      'npx kube-skiff',
    )
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
        'api-server.authorization-mode=Node,RBAC',
      ]),
    ).toEqual({
      'api-server': { 'authorization-mode': 'Node,RBAC' },
      scheduler: { v: '4', 'log-level': 'debug' },
      'node-agent': { capacity: 'cpu=4' },
    })
  })
})
