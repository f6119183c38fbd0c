/** An etcd of one member for a bench. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { endWithBench } from './leave-nothing.ts'

export const etcdProgram = '/usr/bin/etcd'

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export interface RunningEtcd {
  readonly url: string
  readonly pid: number
  /** From its start to its first answer. */
  readonly startMs: number
  stop(): Promise<void>
}

/** A new one that answers; its data lie in `folder`, which the caller removes. */
export async function startEtcd(folder: string): Promise<RunningEtcd> {
  const url = `http://127.0.0.1:${await freePort()}`
  const peer = `http://127.0.0.1:${await freePort()}`
  const startedMs = performance.now()
  const child = spawn(
    etcdProgram,
    [
      ...['--name=m', `--data-dir=${folder}`, '--log-level=error'],
      ...[`--listen-client-urls=${url}`, `--advertise-client-urls=${url}`],
      ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
      `--initial-cluster=m=${peer}`,
    ],
    { stdio: 'ignore' },
  )
  endWithBench(child)
  const exited = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => undefined)
    const startMs = performance.now() - startedMs
    if (answer?.ok === true) return { url, pid: child.pid ?? 0, startMs, stop }
    if (startMs > 30_000) throw new Error('etcd does not answer')
  }
}
