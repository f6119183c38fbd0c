/** The agent under a real systemd: an instance of its own in its own namespaces, one unit for each restart policy. */
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatToken } from '../../cluster/plan/bootstrap-token.ts'
import type { Cluster } from '../../cluster/cluster.ts'
import { observe } from '../../cluster/observe.ts'
import { readyCondition } from '../../cluster/wait-for-nodes.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { eventually } from '../support/eventually.ts'
import { createPlace } from './place.ts'

const manager = ['/lib/systemd/systemd', '/usr/lib/systemd/systemd'].find((path) =>
  existsSync(path),
)
/** A process tree of its own that ends with the test, and a /run of its own, where systemd looks whether the system is its own. */
const namespaces = '--pid --mount --cgroup --fork --mount-proc --kill-child'.split(' ')
const intoNamespaces = [...(process.getuid?.() === 0 ? [] : ['--map-root-user']), ...namespaces]
const bootedBySystemd = 'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system'

/** Why there is no systemd to be had; undefined when there is. */
function whyNot(): string | undefined {
  if (manager === undefined) return 'it is not installed (apt-get install systemd)'
  try {
    execFileSync('unshare', [...intoNamespaces, 'sh', '-c', bootedBySystemd], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `this user may not make its namespaces: ${(error as Error).message.trim()}`
  }
}
const reason = whyNot()
if (reason !== undefined) process.stderr.write(`NOT TESTED: agents under systemd; ${reason}\n`)

const agentProgram = join(import.meta.dirname, '..', '..', 'dist', 'node-agent.js')
const place = createPlace()
const folder = join(place.root, 'systemd')
const environment = {
  ...process.env,
  HOME: join(place.root, 'home'),
  XDG_RUNTIME_DIR: join(folder, 'run'),
  SYSTEMD_UNIT_PATH: join(folder, 'units'),
}
let cluster: Cluster
let instance: ReturnType<typeof spawn> | undefined

/** The first process of the namespaces; its namespaces have to be entered to talk to systemd, which looks who is calling. */
function firstProcess(): string {
  const { pid = 0 } = instance ?? {}
  return execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' }).trim()
}

function systemctl(...words: string[]): string {
  const entering = ['--target', firstProcess(), '--pid', '--mount', 'systemctl', '--user']
  return execFileSync('nsenter', [...entering, ...words], {
    env: environment,
    encoding: 'utf8',
    timeout: 170_000,
    stdio: 'pipe',
  })
}

/** A property of a unit, such as `NRestarts`. */
const property = (unit: string, name: string): string =>
  systemctl('show', '--value', '-p', name, unit).trim()

const watchdogSeconds = 6
const policies = ['always', 'on-failure', 'on-watchdog', 'on-abnormal', 'no'] as const
const unitOf = (policy: string): string => `agent-${policy}.service`
const nodeOf = (policy: string): string => `under-${policy}`

/** The unit of an agent, with what its documentation says it needs. */
async function writeUnit(policy: string): Promise<void> {
  const root = join(folder, nodeOf(policy))
  mkdirSync(root, { recursive: true })
  const config = join(root, 'flags.json')
  const token = formatToken(await cluster.createToken())
  writeFileSync(config, JSON.stringify({ 'bootstrap-token': token }), { mode: 0o600 })
  const command = [
    process.execPath,
    agentProgram,
    `--config=${config}`,
    `--server=${cluster.server}`,
    `--discovery-token-ca-cert-hash=${cluster.config.caHash}`,
    `--node-name=${nodeOf(policy)}`,
    `--root-dir=${root}`,
    '--address=127.0.0.1',
    '--port=0',
    '--feature-gates=SystemdWatchdog=true',
  ]
  const unit = `[Unit]
DefaultDependencies=no
[Service]
Type=notify
NotifyAccess=all
WatchdogSec=${watchdogSeconds}
Restart=${policy}
RestartSec=0
LimitCORE=0
StandardOutput=null
StandardError=append:${root}/log
ExecStart=${command.join(' ')}
`
  writeFileSync(join(environment.SYSTEMD_UNIT_PATH, unitOf(policy)), unit)
}

beforeAll(async () => {
  if (reason !== undefined) return
  cluster = await place.up('lab', ['--nodes', '0'])
  for (const path of [environment.XDG_RUNTIME_DIR, environment.SYSTEMD_UNIT_PATH]) {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  }
  writeFileSync(join(environment.SYSTEMD_UNIT_PATH, 'default.target'), '[Unit]\n')
  for (const policy of policies) await writeUnit(policy)
  const script = `${bootedBySystemd} && ${manager ?? ''} --user --log-target=console & wait`
  const log = openSync(join(folder, 'log'), 'a')
  instance = spawn('unshare', [...intoNamespaces, 'sh', '-c', script], {
    env: environment,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  try {
    await eventually(() => systemctl('list-units'))
  } catch (error) {
    const said = readFileSync(join(folder, 'log'), 'utf8')
    throw new Error(`systemd does not answer; it said: ${said}`, { cause: error })
  }
  for (const policy of policies) systemctl('start', unitOf(policy))
})
afterAll(async () => {
  // Its namespace ends with it, and every process in there.
  instance?.kill('SIGKILL')
  await place[Symbol.asyncDispose]()
})

/** Resolves when that node has reported to be Ready after `sinceMs`. */
async function untilReady(node: string, sinceMs: number): Promise<void> {
  const { client } = cluster
  const { nodes } = resourcesOf(client.dialect)
  const watched = { client: client.resource(nodes), clock: client.clock }
  await observe({ ...watched, signal: AbortSignal.timeout(90_000) }, (all) => {
    const condition = all.has(node) ? readyCondition(all.get(node)!) : undefined
    const heardMs = Date.parse(condition?.lastHeartbeatTime ?? '')
    return condition?.status === 'True' && heardMs >= sinceMs ? true : undefined
  })
}

test.skipIf(reason !== undefined)(
  '[NODE-028] an agent that hangs is restarted by systemd under each of the four policies, and is a working node again',
  async () => {
    await Promise.all(policies.map((policy) => untilReady(nodeOf(policy), 0)))
    // While they keep alive, longer than the watchdog waits, nobody touches them.
    await new Promise((resolve) => setTimeout(resolve, 2 * watchdogSeconds * 1000))
    const before = policies.map((policy) => property(unitOf(policy), 'MainPID'))
    expect(policies.map((policy) => property(unitOf(policy), 'NRestarts'))).toEqual(
      policies.map(() => '0'),
    )

    for (const policy of policies) systemctl('kill', '--signal=STOP', unitOf(policy))
    const stoppedMs = Date.now()
    for (const [index, policy] of policies.entries()) {
      const unit = unitOf(policy)
      if (policy === 'no') continue
      await eventually(() => expect(property(unit, 'NRestarts')).toBe('1'))
      expect(property(unit, 'MainPID')).not.toBe(before[index])
      await untilReady(nodeOf(policy), stoppedMs)
      expect(property(unit, 'ActiveState')).toBe('active')
    }
    // It was the watchdog: where nothing is to be restarted, that is what ended the agent.
    const left = unitOf('no')
    await eventually(() => expect(property(left, 'ActiveState')).toBe('failed'))
    expect(property(left, 'Result')).toBe('watchdog')
    expect(property(left, 'NRestarts')).toBe('0')
  },
)
