/** Bad input and damage that a user meets: each is one clear line with a hint and an exit code, and makes nothing worse. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCluster } from '../../cluster/cluster.ts'
import type { ClusterConfig } from '../../cluster/plan/cluster-config.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { Client } from '../../components/client/client.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { killHard, pidOf, processesIn } from './machine.ts'
import { createPlace } from './place.ts'

const place = createPlace()
const paths = statePaths(place.stateRoot, 'lab')
/** The state directory of a cluster that was stopped in good order; tests damage copies of it. */
const intact = join(place.root, 'intact')
let config: ClusterConfig

const configMap = (name: string, value = name) => ({
  metadata: { name, namespace: 'default' },
  data: { value },
})
const configMapsOf = (client: Client) => client.resource(resourcesOf(client.dialect).configMaps)

beforeAll(async () => {
  const cluster = await place.up('lab', ['--nodes', '1'])
  ;({ config } = cluster)
  await configMapsOf(cluster.client).create(configMap('kept'))
  cluster.disconnect()
  await place.run(['down', '--keep-data', '--name', 'lab'])
  cpSync(paths.dir, intact, { recursive: true })
})
afterAll(() => place[Symbol.asyncDispose]())

function restore(): void {
  rmSync(paths.dir, { recursive: true, force: true })
  cpSync(intact, paths.dir, { recursive: true })
}

test.each([
  [['upp'], 'unknown command "upp"', 'did you mean: skiff up'],
  [['node', 'ad'], 'unknown command "node ad"', 'did you mean: skiff node add'],
  [['up', '--nodse', '3'], 'skiff up: unknown flag --nodse; did you mean --nodes?', 'see: '],
  [['up', '--nodes', 'x'], 'invalid value "x" for --nodes: must be a whole number', 'see: '],
  [
    ['up', '--port', '99999'],
    'invalid port 99999: must be from 0 to 65535',
    'pass --port 0 for a free port',
  ],
  [['up', '--name', 'A b'], 'invalid cluster name "A b"', 'use at most 50'],
  [['down', 'x'], 'skiff down: unexpected argument "x"', 'see: skiff down --help'],
  [
    ['join', 'http://x', '--token', 'y'],
    '"http://x" is not the URL of an API server',
    'use a URL ',
  ],
])('skiff %j is wrong use: exit code 2, one line and a hint', async (words, error, hint) => {
  const before = readdirSync(place.stateRoot)
  const { code, stdout, stderr } = await place.run(words)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  const [first = '', second = '', ...rest] = stderr.split('\n')
  expect(first).toMatch(/^error: /)
  expect(first).toContain(error)
  expect(second.startsWith(`hint: ${hint}`)).toBe(true)
  expect(rest).toEqual([''])
  expect(readdirSync(place.stateRoot)).toEqual(before)
})

test('a stored cluster whose port somebody else has taken is not started, and is kept', async () => {
  restore()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(config.port, config.address, resolve))
  const up = await place.run(['up', '--name', 'lab'])
  await new Promise((resolve) => server.close(resolve))
  expect(up).toMatchObject({
    code: 1,
    stderr:
      `error: port ${config.port} on ${config.address} is in use\n` +
      "hint: end the process that listens there: the cluster's certificates and clients use this port\n",
  })
  expect(existsSync(paths.store)).toBe(true)
})

/** What is damaged, how, what is said of it, and as what hint. */
type Damage = [string, () => void, RegExp, RegExp?]
const damages: Damage[] = [
  [
    'a store that is no database',
    () => writeFileSync(paths.store, 'garbage '.repeat(1000)),
    /^error: api-server did not start: .*state\.db is damaged or not a store: file is not a database$/,
  ],
  [
    'a store that was cut off',
    () => truncateSync(paths.store, 20_000),
    /^error: api-server did not start: .*state\.db is damaged or not a store: .*malformed$/,
  ],
  [
    'a configuration that is no JSON',
    () => truncateSync(paths.config, 20),
    /^error: .*cluster\.json is damaged: it is not JSON$/,
  ],
  [
    'a configuration that says nothing',
    () => writeFileSync(paths.config, '{}'),
    /^error: .*cluster\.json is damaged: it is not a cluster's configuration$/,
  ],
  [
    'certificates that are gone',
    () => rmSync(paths.pki, { recursive: true }),
    /^error: .*ca\.crt is missing$/,
  ],
  [
    'a certificate that is none',
    () => writeFileSync(join(paths.pki, 'apiserver.crt'), 'garbage'),
    /^error: .*apiserver\.crt is damaged: it contains no certificate$/,
    /^hint: renew it with: skiff certs renew apiserver --name lab$/,
  ],
  [
    'a key that is not that of its certificate',
    () => cpSync(join(paths.pki, 'admin.key'), join(paths.pki, 'apiserver.key')),
    /^error: .*apiserver\.key is damaged: it is not the key of .*apiserver\.crt$/,
    /^hint: renew it with: skiff certs renew apiserver --name lab$/,
  ],
  ...(['admin', 'scheduler', 'controller-manager-serving', 'front-proxy-client'] as const).flatMap(
    (name): Damage[] => [
      [
        `the certificate ${name}.crt cut off`,
        () => truncateSync(join(paths.pki, `${name}.crt`), 100),
        new RegExp(`^error: .*/pki/${name}\\.crt is damaged: it contains no certificate$`),
        new RegExp(`^hint: renew it with: skiff certs renew ${name} --name lab$`),
      ],
      [
        `the key ${name}.key gone`,
        () => rmSync(join(paths.pki, `${name}.key`)),
        new RegExp(`^error: .*/pki/${name}\\.key is missing$`),
        new RegExp(`^hint: renew it with: skiff certs renew ${name} --name lab$`),
      ],
    ],
  ),
  [
    'a certificate that somebody else signed',
    () => {
      for (const end of ['crt', 'key']) {
        cpSync(join(paths.pki, `front-proxy-client.${end}`), join(paths.pki, `scheduler.${end}`))
      }
    },
    /^error: .*scheduler\.crt is damaged: it is not signed by the cluster's CA$/,
    /^hint: renew it with: skiff certs renew scheduler --name lab$/,
  ],
  [
    'a key of the CA that is none',
    () => writeFileSync(join(paths.pki, 'ca.key'), 'garbage'),
    /^error: .*ca\.key is damaged: it contains no private key$/,
  ],
  [
    'keys of service accounts that do not fit',
    () => cpSync(join(paths.pki, 'admin.key'), join(paths.pki, 'sa.key')),
    /^error: .*sa\.pub is damaged: it is not the public half of .*sa\.key$/,
  ],
  [
    'a kubeconfig that is none',
    () => writeFileSync(paths.adminKubeconfig, 'garbage'),
    /^error: .*kubeconfig is damaged: it contains no kubeconfig$/,
    /^hint: renew it with: skiff certs renew admin --name lab$/,
  ],
]
test.each(damages)(
  '%s: up says so in one line, keeps the files and runs nothing; down works',
  async (_, damage, line, hint = /^hint: .*skiff down --name lab$/) => {
    restore()
    damage()
    const before = existsSync(paths.store) ? statSync(paths.store).size : undefined
    const up = await place.run(['up', '--name', 'lab'])
    expect(up.code).toBe(1)
    const lines = up.stderr.split('\n').filter((one) => !one.startsWith(' ✗'))
    expect(lines[0]).toMatch(line)
    expect(lines[1]).toMatch(hint)
    expect(lines.slice(2)).toEqual([''])
    expect(processesIn(place.root)).toEqual([])
    expect(existsSync(paths.store) ? statSync(paths.store).size : undefined).toBe(before)
    expect((await place.run(['status', '--all'])).stdout).toMatch(/^lab /m)
    expect(await place.run(['down', '--name', 'lab'])).toMatchObject({ code: 0, stderr: '' })
    expect(existsSync(paths.dir)).toBe(false)
  },
)

test('damaged certificates of a running cluster are named by every command that reads them, and renewed', async () => {
  restore()
  const cluster = await place.up('lab')
  cluster.disconnect()
  const crt = join(paths.pki, 'admin.crt')
  writeFileSync(crt, 'garbage')
  const outcome = {
    code: 1,
    stderr:
      `error: ${crt} is damaged: it contains no certificate\n` +
      'hint: renew it with: skiff certs renew admin --name lab\n',
  }
  const reading = ['token list', 'node list', 'certs check']
  for (const words of reading) {
    expect(await place.run([...words.split(' '), '--name', 'lab'])).toMatchObject(outcome)
  }
  expect((await place.run(['certs', 'renew', 'admin', '--name', 'lab'])).code).toBe(0)
  for (const words of reading) {
    expect(await place.run([...words.split(' '), '--name', 'lab'])).toMatchObject({ code: 0 })
  }
  expect((await place.run(['down', '--name', 'lab'])).code).toBe(0)
})

test('a node whose certificate or kubeconfig is damaged joins again, and the data is there', async () => {
  restore()
  const node = join(paths.nodes, 'node-1')
  writeFileSync(join(node, 'pki', 'kubelet-client-current.pem'), 'garbage')
  writeFileSync(join(node, 'kubeconfig'), 'garbage')
  writeFileSync(paths.lock, 'garbage')
  writeFileSync(paths.processes, 'garbage')
  const cluster = await place.up('lab')
  const kept = await configMapsOf(cluster.client).get({ namespace: 'default', name: 'kept' })
  expect(kept['data']).toEqual({ value: 'kept' })
  const certificate = readFileSync(join(node, 'pki', 'kubelet-client-current.pem'), 'utf8')
  expect(certificate).toMatch(/^-----BEGIN CERTIFICATE-----/)
  await place.run(['down', '--name', 'lab'])
})

const isRoot = process.getuid?.() === 0
function hasProgram(name: string): boolean {
  try {
    execFileSync('which', [name], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const canBeNobody = isRoot && hasProgram('setpriv')
if (!canBeNobody) process.stderr.write('NOT TESTED: missing rights; that needs root and setpriv\n')
test.skipIf(!canBeNobody)(
  'missing rights on the state directory: exit code 7, one line and a hint',
  async () => {
    chmodSync(place.root, 0o755)
    const closed = join(place.root, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const nobody = {
      wrapper: ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'],
      environment: { XDG_STATE_HOME: join(closed, 'deep') },
    }
    for (const words of [['up'], ['status'], ['status', '--all'], ['down'], ['kubeconfig']]) {
      const { code, stderr } = await place.run(words, nobody)
      expect(stderr).toMatch(
        /^error: permission denied for the state directory \S+ \(EACCES\)\nhint: give your user access to it, or set XDG_STATE_HOME to a directory of yours\n$/,
      )
      expect(code).toBe(7)
    }
    rmSync(closed, { recursive: true })
  },
)

/** Mounts a file system so small that it can be filled; false when this user may not. */
function mountSmall(folder: string): boolean {
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

test('a full disk: writes are refused with a Status, nothing ends, nothing acknowledged is lost', async ({
  skip,
}) => {
  const small = join(place.root, 'small')
  if (!isRoot || !mountSmall(small)) {
    process.stderr.write('NOT TESTED: a full disk; that needs the right to mount one\n')
    skip()
  }
  const fill = join(small, 'fill')
  const fillUp = (): void => {
    const { bavail, bsize } = statfsSync(small)
    try {
      writeFileSync(fill, Buffer.alloc(bavail * bsize), { flag: 'a' })
    } catch (error) {
      // Something else took room meanwhile: it is full.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  const environment = { XDG_STATE_HOME: small }
  const stateRoot = join(small, 'skiff')
  try {
    fillUp()
    expect(await place.run(['up'], { environment })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^error: no space left for the state directory .*\nhint: .*\n$/,
      ) as string,
    })
    expect(readdirSync(small)).toEqual(['fill'])

    rmSync(fill)
    expect(await place.run(['up', '--nodes', '1'], { environment })).toMatchObject({ code: 0 })
    const cluster = await openCluster({ stateRoot })
    const configMaps = configMapsOf(cluster.client)
    await configMaps.create(configMap('before'))
    fillUp()
    const large = 'x'.repeat(100_000)
    const refused: string[] = []
    const acknowledged = ['before']
    for (let number = 0; refused.length < 5; number += 1) {
      try {
        await configMaps.create(configMap(`large-${number}`, large))
        acknowledged.push(`large-${number}`)
      } catch (error) {
        if (!isStatusError(error, '')) throw error
        refused.push(error.message)
      }
    }
    expect(new Set(refused)).toEqual(new Set(['etcdserver: mvcc: database space exceeded']))
    const pid = await pidOf(cluster, 'api-server')
    await killHard(pid)
    rmSync(fill)
    await cluster.waitForNodes(cluster.config.nodes, { waitMs: 90_000 })
    await configMaps.create(configMap('after'))
    const names = (await configMaps.list({ namespace: 'default' })).items.map(
      (one) => one.metadata.name,
    )
    expect(names.filter((name) => name !== 'kube-root-ca.crt')).toEqual(
      [...acknowledged, 'after'].toSorted(),
    )
    const { components } = await cluster.control.call('status', {})
    expect(components.map(({ name, restarts }) => `${name} ${restarts}`)).toEqual([
      'api-server 1',
      'controller-manager 0',
      'scheduler 0',
      'node-1 0',
    ])
    cluster.disconnect()

    fillUp()
    expect(await place.run(['down'], { environment })).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(small)).toEqual(['fill'])
  } finally {
    rmSync(fill, { force: true })
    await place.run(['down', '--all'], { environment })
    execFileSync('umount', [small])
  }
})
