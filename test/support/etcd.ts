/** A real etcd of one member, for test files; a file kills what it starts. Its folder goes with the file. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { systemClock } from '../../components/component-base/clock.ts'
import { GrpcClient, type GrpcTls } from '../../components/component-base/grpc/grpc-client.ts'
import {
  protobufFields,
  protobufMessage,
  type FieldValue,
  type ProtobufField,
} from '../../components/component-base/grpc/protobuf-fields.ts'
import { openEtcdStore, type EtcdStoreOptions } from '../../components/store/etcd/etcd-store.ts'
import { loadable } from '../../components/store/loadable.ts'
import { shiftedStore } from '../../components/store/shifted-store.ts'
import type { Store } from '../../components/store/store.ts'
import { eventually } from './eventually.ts'
import { ownPort } from './own-port.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Another release than Debian's, if wanted. */
const { SKIFF_TEST_ETCD: program = '/usr/bin/etcd' } = process.env

/** The tests that need etcd. Where it is not installed they are skipped, and standard error says so. */
export function requireEtcd(): typeof describe | typeof describe.skip {
  if (existsSync(program)) return describe
  const message = `NOT TESTED: the store on etcd; there is no ${program} (apt-get install etcd-server)`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return describe.skip
}

export interface TestEtcd {
  readonly url: string
  /** The same member again, on the same port and with what it has stored. */
  restart(): Promise<void>
  /** As a power failure would; every test file does so with its etcd at the end. */
  kill(): Promise<void>
  /** Stops it where it is, as if it hung. */
  pause(): void
  resume(): void
}

/** `flags` are etcd's; `scheme` is https where they make it one. */
export async function startEtcd(flags: readonly string[] = [], scheme = 'http'): Promise<TestEtcd> {
  const folder = temporaryFolder('etcd')
  const url = `${scheme}://127.0.0.1:${ownPort()}`
  const peer = `http://127.0.0.1:${ownPort()}`
  const words = [
    ...['--name=m', `--data-dir=${join(folder, 'data')}`, '--logger=zap', '--log-level=error'],
    ...[`--listen-client-urls=${url}`, `--advertise-client-urls=${url}`],
    ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
    ...[`--initial-cluster=m=${peer}`, '--max-request-bytes=8388608', ...flags],
  ]
  let child: ChildProcess | undefined
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const restart = async (): Promise<void> => {
    await kill()
    const started = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'] })
    child = started
    let log = ''
    started.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString()
    })
    await eventually(async () => {
      if (started.exitCode !== null) throw new Error(`etcd ended: ${log}`)
      await listens(url)
    })
  }
  await restart()
  return {
    url,
    restart,
    kill,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  }
}

async function listens(url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}

/** One call of etcd's API that the store does not need; resolves with the fields of the answer. */
export async function callEtcd(
  to: string | { url: string; tls: GrpcTls },
  method: string,
  ...fields: [number, FieldValue][]
): Promise<ProtobufField[]> {
  const { url, ...tls } = typeof to === 'string' ? { url: to } : to
  const address = { host: '127.0.0.1', port: Number(new URL(url).port) }
  const client = new GrpcClient({ address, clock: systemClock, ...tls })
  try {
    const answer = await client.unary(`/etcdserverpb.${method}`, protobufMessage(...fields))
    return [...protobufFields(answer)]
  } finally {
    client.close()
  }
}

/** Its patience is that of a machine with much else to do. */
export async function openTestStore(
  url: string,
  more: Partial<EtcdStoreOptions> = {},
): Promise<Store> {
  return await openEtcdStore({
    endpoints: [url],
    prefix: '/test',
    clock: systemClock,
    requestTimeoutMs: 120_000,
    openTimeoutMs: 120_000,
    ...more,
  })
}

/**
 * The same store with revisions that begin at 0 where etcd was when it was opened first: what contract and model expect of an
 * empty store. It holds as long as only this store is written to.
 */
export function fromZero(store: Store, start: number): Store {
  return shiftedStore(store, {
    shift: () => -start,
    load: async (kvs, revision) => {
      // What is invalid is to be refused with its own numbers.
      const all = await loadable(kvs, revision)
      await store.load(all, revision + start)
    },
  })
}
