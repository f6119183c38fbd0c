/** Control address: sockets with long paths, and pipes with names as Windows has them. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { connectOverLink, namedPipe, pipePrefixOf } from '../../../cluster/control-address.ts'
import { connectControl } from '../../../cluster/control-client.ts'
import { createStateDir, statePaths } from '../../../cluster/state/state-dir.ts'
import type { StatePaths } from '../../../cluster/state/state-dir.ts'
import { serveControl } from '../../../cluster/supervisor/control-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testOn } from '../../support/test-on.ts'
import { expectMode } from '../../support/file-mode.ts'

const handlers = { status: async () => ({ components: [] }) } as never

/** The state directory of a cluster below `folder`. */
function place(...folder: readonly string[]): StatePaths {
  const paths = statePaths(join(temporaryFolder('control'), ...folder), 'lab')
  createStateDir(paths)
  return paths
}

/** Serves from inside the directory, as a supervisor does. */
async function serveIn(paths: StatePaths, pipePrefix = ''): Promise<() => Promise<void>> {
  const before = process.cwd()
  if (pipePrefix === '') process.chdir(paths.dir)
  const socketPath = pipePrefix === '' ? 'control.sock' : paths.socket
  const served = await serveControl(socketPath, handlers, { pipePrefix })
  process.chdir(before)
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => (closed ??= served.close())
  onTestFinished(close)
  return close
}

async function statusOf(paths: StatePaths): Promise<unknown> {
  const control = await connectControl(paths)
  try {
    return await control.call('status', {})
  } finally {
    control.close()
  }
}

/** Deeper than any socket address is long; of blanks and of letters that take several bytes each. */
const deep = ['my clusters', '集群'.repeat(20), 'x'.repeat(60)]

const here = testOn('unix', 'sockets in folders')

here('a supervisor is reached whatever the length and the letters of its path', async () => {
  const paths = place(...deep)
  await serveIn(paths)
  const before = process.cwd()
  expect(await statusOf(paths)).toEqual({ components: [] })
  expect(process.cwd()).toBe(before)
})

here('a thread, which cannot change its folder, reaches it too, and leaves no link', async () => {
  const paths = place(...deep)
  await serveIn(paths)
  const links = temporaryFolder('l')
  const client = new URL('../../../cluster/control-client.ts', import.meta.url).href
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    import(${JSON.stringify(client)}).then(async ({ connectControl }) => {
      const control = await connectControl(workerData)
      parentPort.postMessage(await control.call('status', {}))
      control.close()
    })`
  const thread = new Worker(code, {
    eval: true,
    workerData: paths,
    env: { ...process.env, TMPDIR: links },
  })
  const answer = await new Promise((resolve, reject) => {
    thread.once('message', resolve).once('error', reject)
  })
  await thread.terminate()
  expect(answer).toEqual({ components: [] })
  expect(readdirSync(links)).toEqual([])
})

here('a link to a folder where nothing listens is an error of the connection', async () => {
  const paths = place(...deep)
  const links = temporaryFolder('l')
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => {
    connectOverLink(paths.socket, links).once('error', resolve)
  })
  expect(error.code).toBe('ENOENT')
  expect(readdirSync(links)).toEqual([])
})

// Where the system has no such pipes, the names are those of sockets in a folder.
const prefix = (): string =>
  process.platform === 'win32' ? pipePrefixOf('win32') : join(temporaryFolder('pipes'), 'skiff-')

test('on Windows a supervisor listens on a pipe, whose random name is in a private file', async () => {
  expect(pipePrefixOf('win32')).toBe('\\\\.\\pipe\\skiff-')
  expect([pipePrefixOf('linux'), pipePrefixOf('darwin')]).toEqual(['', ''])
  const paths = place('state')
  const names = prefix()
  const close = await serveIn(paths, names)
  const name = readFileSync(paths.socket, 'utf8')
  expect(name.startsWith(names)).toBe(true)
  expect(name.slice(names.length)).toMatch(/^[0-9a-f-]{36}$/)
  expectMode(paths.socket, 0o600)
  expect(await statusOf(paths)).toEqual({ components: [] })
  await close()
  expect(existsSync(paths.socket)).toBe(false)
  await expect(connectControl(paths)).rejects.toMatchObject({ kind: 'not-running' })
})

test('a pipe that is listened on stays its server; the name of a dead one is replaced', async () => {
  const paths = place('state')
  mkdirSync(paths.dir, { recursive: true })
  const names = prefix()
  writeFileSync(paths.socket, `${names}of-a-dead-one`)
  await serveIn(paths, names)
  const name = namedPipe(paths.socket)
  await expect(serveControl(paths.socket, handlers, { pipePrefix: names })).rejects.toMatchObject({
    kind: 'already-exists',
    message: `another supervisor listens on ${paths.socket}`,
  })
  expect(namedPipe(paths.socket)).toBe(name)
})
