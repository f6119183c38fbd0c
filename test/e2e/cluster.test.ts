/** The command on real processes: up, what it leaves when it fails, being killed in every way, and down. */
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { processesIn } from './machine.ts'
import { createPlace } from './place.ts'
import { exportLine } from '../../cluster/shell-word.ts'
import { statePaths } from '../../cluster/state/state-dir.ts'
import type { Place } from './place.ts'

interface Status {
  readonly ready: boolean
  readonly server: string
  readonly components: { name: string; state: string; pid: number; restarts: number }[]
  readonly nodes: Record<string, string>
}

/** A place of the running test's own, and the command in it. */
function begin(): { place: Place; skiff: (...words: string[]) => ReturnType<Place['run']> } {
  const place = createPlace()
  onTestFinished(() => place[Symbol.asyncDispose]())
  return { place, skiff: (...words) => place.run(words) }
}

async function statusOf(place: Place): Promise<Status> {
  return JSON.parse((await place.run(['status', '-o', 'json'])).stdout) as Status
}

test('up ends with exit code 0, three Ready nodes and what to type next; down leaves nothing', async () => {
  const { place, skiff } = begin()
  const up = await skiff('up')
  expect(up.stderr).toMatch(/✓ api-server .* ready\n/)
  expect(up.stderr).toMatch(/✓ node-3 .* Ready\n/)
  expect(up.code).toBe(0)
  const { adminKubeconfig } = statePaths(place.stateRoot, 'default')
  expect(up.stdout).toContain(exportLine('KUBECONFIG', adminKubeconfig))
  expect(up.stdout).toContain('kubectl get nodes')

  const status = await statusOf(place)
  expect(status.ready).toBe(true)
  expect(status.nodes).toEqual({ 'node-1': 'Ready', 'node-2': 'Ready', 'node-3': 'Ready' })
  // One process per component and node, and the supervisor; none shows a secret.
  const processes = processesIn(place.root)
  expect(processes).toHaveLength(7)
  expect(processes.map(({ command }) => command).join()).not.toMatch(/[a-z0-9]{6}\.[a-z0-9]{16}/)

  const again = await skiff('up')
  expect(again.code).toBe(4)
  expect(again.stderr).toContain('cluster "default" is already running')

  expect(await skiff('down')).toMatchObject({ code: 0, stdout: 'Cluster "default" is gone\n' })
  expect(processesIn(place.root)).toEqual([])
  expect(place.leftovers()).toEqual([])
})

test('every process survives kill -9: it comes back, and the nodes are Ready', async () => {
  const { place, skiff } = begin()
  await skiff('up', '--nodes', '1')
  const before = await statusOf(place)
  expect(before.components.map(({ name }) => name)).toEqual([
    'api-server',
    'controller-manager',
    'scheduler',
    'node-1',
  ])
  for (const { pid } of before.components) process.kill(pid, 'SIGKILL')
  await expect
    .poll(
      async () =>
        (await statusOf(place)).components.map(({ state, restarts }) => [state, restarts]),
      {
        timeout: 170_000,
      },
    )
    .toEqual(before.components.map(() => ['ready', 1]))
  await expect
    .poll(async () => (await statusOf(place)).nodes)
    .toEqual({
      'node-1': 'Ready',
    })
  expect((await statusOf(place)).server).toBe(before.server)
})

test('a cluster that was left goes on with its data, its port and its nodes', async () => {
  const { place, skiff } = begin()
  await skiff('up', '--nodes', '1')
  const { server } = await statusOf(place)
  await skiff('token', 'create', '--description', 'a thing to find again')
  expect((await skiff('down', '--keep-data')).code).toBe(0)
  expect(processesIn(place.root)).toEqual([])
  expect((await skiff('up')).code).toBe(0)
  expect((await statusOf(place)).server).toBe(server)
  expect((await skiff('token', 'list')).stdout).toContain('a thing to find again')
})

test('nodes are added, removed and listed; tokens are made and deleted', async () => {
  const { skiff } = begin()
  await skiff('up', '--nodes', '0')
  expect((await skiff('node', 'add')).stdout).toMatch(/^node-1 Ready after /)
  expect((await skiff('node', 'add', 'crowd', '--simulated', '5')).stdout).toMatch(/^5 nodes Ready/)
  const list = await skiff('node', 'list')
  expect(list.stdout).toMatch(/^crowd-4 +ready +True$/m)
  expect((await skiff('node', 'remove', 'node-1')).code).toBe(0)
  expect((await skiff('node', 'list')).stdout).not.toContain('node-1')
  expect((await skiff('node', 'remove', 'node-1')).code).toBe(3)

  const token = (await skiff('token', 'create', '--ttl', '1h')).stdout.trim()
  expect(token).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)
  const id = token.slice(0, 6)
  expect((await skiff('token', 'list')).stdout).toContain(id)
  expect((await skiff('token', 'delete', id)).code).toBe(0)
  expect((await skiff('token', 'delete', id)).code).toBe(3)
})

test('clusters that are started at the same time all get a port of their own', async () => {
  const { place, skiff } = begin()
  const names = ['one', 'two', 'three']
  const ups = await Promise.all(
    names.map((name) =>
      place.run(['up', '--name', name, '--nodes', '0', '-o', 'json'], { choosesPort: true }),
    ),
  )
  expect(ups.map(({ code }) => code)).toEqual([0, 0, 0])
  const servers = ups.map(({ stdout }) => (JSON.parse(stdout) as { server: string }).server)
  expect(new Set(servers).size).toBe(3)
  expect((await skiff('status', '--all')).stdout.match(/ running /g)).toHaveLength(3)
})

test('Ctrl-C during up undoes it', async () => {
  const { place } = begin()
  let isSent = false
  const up = await place.run(['up'], {
    onError: (text, child) => {
      if (isSent || !text.includes('api-server')) return
      isSent = true
      child.kill('SIGINT')
    },
  })
  expect(up.code).toBe(130)
  expect(up.stderr).toContain('interrupted\n')
  expect(processesIn(place.root)).toEqual([])
  expect(place.leftovers()).toEqual([])
})

test('a port in use is one line and a hint; nothing is left', async () => {
  const { place, skiff } = begin()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const up = await skiff('up', '--port', String(port))
  server.close()
  expect(up.code).toBe(1)
  expect(up.stderr).toBe(
    `error: port ${port} on 127.0.0.1 is in use\n` +
      'hint: choose another with --port, or omit --port for a free one\n',
  )
  expect(place.leftovers()).toEqual([])
})

test('a component that cannot start is named with its reason; nothing is left', async () => {
  const { place, skiff } = begin()
  const up = await skiff('up', '--set', 'controller-manager.no-such-flag=1')
  expect(up.code).toBe(1)
  expect(up.stderr).toContain(
    'error: controller-manager did not start: unknown flag --no-such-flag\nhint: see its flags: ',
  )
  expect(processesIn(place.root)).toEqual([])
  expect(place.leftovers()).toEqual([])
})

test('the svc dialect comes up too', async () => {
  const { skiff } = begin()
  expect((await skiff('up', '--nodes', '1', '--dialect', 'svc')).code).toBe(0)
  const { kubeconfig } = JSON.parse(
    (await skiff('kubeconfig', '-o', 'json')).stdout.replace(/^/, '{"kubeconfig":') + '}',
  ) as { kubeconfig: { 'current-context': string } }
  expect(kubeconfig['current-context']).toBe('skiff-default')
  expect((await skiff('certs', 'check')).stdout).toContain(
    join('nodes', 'node-1', 'pki', 'kubelet-client-current.pem'),
  )
})
