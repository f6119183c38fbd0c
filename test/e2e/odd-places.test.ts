/** Whole clusters in places that are not like most: without /proc, below odd names, with any umask, beside a read-only package. */
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { identify } from '../../cluster/state/process-identity.ts'
import { eventually } from '../support/eventually.ts'
import { inTurn } from '../support/start-turn.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { canUnshareMounts, testIf } from '../support/test-on.ts'
import { builtOnce } from './built.ts'
import { openPlace } from './place.ts'
import type { Place } from './place.ts'

const places: Place[] = []
afterEach(async () => {
  for (const place of places.splice(0)) await place[Symbol.asyncDispose]()
})

/** A place below a folder of blanks and non-Latin letters. */
function oddPlace(): Place {
  const root = join(temporaryFolder('e2e'), 'my clusters', 'кластер 集群')
  mkdirSync(root, { recursive: true })
  const place = openPlace(root)
  places.push(place)
  return place
}

/** Runs a command after these lines of sh, in mounts of its own. */
const after = (...lines: readonly string[]): readonly string[] => [
  ...['unshare', '--mount', 'sh', '-c'],
  [...lines, 'exec "$@"'].join(' && '),
  'sh',
]

const withMounts = testIf(canUnshareMounts(), 'odd places', 'the right to use `unshare --mount`')

/** Runs one command, which must succeed; gives what it printed. */
async function skiff(
  place: Place,
  words: readonly string[],
  wrapper: readonly string[] = [],
): Promise<string> {
  const { code, stdout, stderr } = await place.run(words, { wrapper })
  if (code !== 0)
    throw new Error(`skiff ${words.join(' ')} ended with ${code}:\n${stdout}${stderr}`)
  return stdout
}

interface Status {
  readonly components: readonly { name: string; state: string; pid: number; restarts: number }[]
}

withMounts(
  'without /proc a cluster is started, watched over, found again and taken down',
  async () => {
    const place = oddPlace()
    const withoutProc = after('mount -t tmpfs tmpfs /proc')
    const up = async () => await skiff(place, ['up', '--nodes', '1'], withoutProc)
    await inTurn(up)
    const folder = join(place.stateRoot, 'clusters', 'default')
    const supervisor = () =>
      JSON.parse(readFileSync(join(folder, 'lock'), 'utf8')) as { pid: number; startTime: string }
    expect(supervisor().startTime).toBe('unknown')

    const status = async () =>
      JSON.parse(await skiff(place, ['status', '--output', 'json'], withoutProc)) as Status
    const scheduler = async () =>
      (await status()).components.find(({ name }) => name === 'scheduler')
    await skiff(place, ['fault', 'kill', 'scheduler'], withoutProc)
    await eventually(async () =>
      expect(await scheduler()).toMatchObject({ state: 'ready', restarts: 1 }),
    )

    const first = (await status()).components.map(({ pid }) => pid)
    const { pid } = supervisor()
    process.kill(pid, 'SIGKILL')
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'))
    await inTurn(up)
    expect(supervisor().pid).not.toBe(pid)
    expect(first.flatMap((one) => identify(one) ?? [])).toEqual([])
    const second = (await status()).components.map((one) => one.pid)
    await skiff(place, ['down'], withoutProc)
    expect(second.flatMap((one) => identify(one) ?? [])).toEqual([])
    expect(place.leftovers()).toEqual([])
  },
)

test('below a folder of blanks and non-Latin letters a cluster is started, saved and started again', async () => {
  const place = oddPlace()
  const cluster = await place.up('lab', ['--nodes', '1'])
  expect(await skiff(place, ['node', 'add', 'extra', '--name', 'lab'])).toContain('extra')
  const merged = await skiff(place, ['kubeconfig', '--merge', '--name', 'lab'])
  expect(merged).toContain(join(place.root, 'home', '.kube', 'config'))
  const file = join(place.root, 'мой 集群.skiff')
  await skiff(place, ['save', 'lab', file])
  const { config } = cluster
  expect(readFileSync(join(cluster.paths.dir, 'kubeconfig'), 'utf8')).toContain(String(config.port))
  await skiff(place, ['down', '--name', 'lab'])
  const again = await place.up('again', ['--from', file])
  expect(again.config.nodes.map(({ name }) => name)).toEqual(['node-1', 'extra'])
  await skiff(place, ['down', '--name', 'again'])
})

test('a scenario below such a folder runs its commands there', async () => {
  const place = oddPlace()
  const file = join(place.root, 'сцена один.yaml')
  writeFileSync(
    file,
    [
      'description: A command whose folder and file have blanks.',
      'steps:',
      `  - run: { command: 'node -p "process.env.KUBECONFIG"', expect: { stdout: кластер } }`,
      '',
    ].join('\r\n'),
  )
  const { code, stdout, stderr } = await inTurn(
    async () => await place.run(['scenario', 'run', file]),
  )
  expect(code, `${stdout}${stderr}`).toBe(0)
})

/** Paths below the state directory that others than the owner may read or change, by their mode. */
function openToOthers(place: Place): string[] {
  const root = join(place.stateRoot, 'clusters')
  return readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => {
    const stat = statSync(join(root, path))
    return !stat.isDirectory() && (stat.mode & 0o077) !== 0
  })
}

testIf(
  process.platform !== 'win32',
  'umasks',
  'a Unix',
)(
  'with a umask of 000 nothing but certificates and public keys is readable by others, and with 077 all works',
  async () => {
    for (const umask of ['000', '077']) {
      const place = oddPlace()
      const wrapper = ['sh', '-c', `umask ${umask} && exec "$@"`, 'sh']
      await inTurn(async () => await skiff(place, ['up', '--nodes', '1'], wrapper))
      expect(statSync(join(place.stateRoot, 'clusters', 'default')).mode & 0o777).toBe(0o700)
      const open = openToOthers(place).filter((path) => !/\.(?:crt|pub)$/.test(path))
      expect(open).toEqual([])
      await skiff(place, ['down'], wrapper)
    }
  },
)

withMounts('a package on a read-only disk runs clusters, and is left as it was', async () => {
  const dist = join(import.meta.dirname, '..', '..', 'dist')
  await builtOnce()
  const place = oddPlace()
  // As it is installed: nothing that earlier commands have put there.
  const installed = join(temporaryFolder('installed'), 'dist')
  const isMade = (path: string): boolean => /[/\\](?:envtest|\.compile-cache)$/.test(path)
  cpSync(dist, installed, { recursive: true, filter: (path) => !isMade(path) })
  const readOnly = after(
    `mount --bind '${installed}' '${dist}'`,
    `mount -o remount,bind,ro '${dist}'`,
    `! touch '${dist}/touched' 2>/dev/null`,
  )
  await inTurn(async () => await skiff(place, ['up', '--nodes', '1'], readOnly))
  expect(await skiff(place, ['status'], readOnly)).toContain('node-1')
  const programs = (await skiff(place, ['envtest'], readOnly)).trim()
  expect(programs).toContain(join(place.root, 'home', '.cache'))
  expect(readdirSync(programs)).toContain('etcd')
  await skiff(place, ['down'], readOnly)
})

withMounts('a state directory on a read-only disk is an error that says what to do', async () => {
  const place = oddPlace()
  const state = join(place.root, 'state')
  const readOnly = after(`mount -t tmpfs -o ro tmpfs '${state}'`)
  const { code, stderr } = await place.run(['up', '--nodes', '0'], { wrapper: readOnly })
  expect({ code, stderr }).toEqual({
    code: 7,
    stderr:
      `error: cannot create the state directory ${join(state, 'skiff', 'clusters', 'default')}\n` +
      'hint: set XDG_STATE_HOME to a directory of yours on a disk that can be written\n',
  })
})
