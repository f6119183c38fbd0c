/** Starts a server as a child process and waits for its ready line on descriptor 3. */
import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { allocatorSettings } from '../../cluster/plan/plan.ts'
import { apiServerNodeOptions } from '../../cluster/plan/plan-api-servers.ts'
import type { Readable } from 'node:stream'
import { readStatusLines } from '../../cluster/lines.ts'
import { endWithBench } from './leave-nothing.ts'

export interface Served {
  readonly child: ChildProcess
  readonly port: number
  /** What its busiest isolate, the main thread, has allocated on the JavaScript heap until its last collection. */
  allocatedBytes(): number
  stop(): Promise<void>
}

/** `nodeOptions`: those of a cluster's API server unless given. */
export async function serve(
  file: string,
  args: readonly string[],
  nodeOptions: readonly string[] = apiServerNodeOptions,
): Promise<Served> {
  const child = spawn(process.execPath, [...nodeOptions, '--trace-gc-nvp', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...allocatorSettings },
  })
  endWithBench(child)
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4000)
  })
  const allocated = followAllocation(child.stdout as Readable)
  const port = await new Promise<number>((resolve, reject) => {
    void readStatusLines(child.stdio[3] as Readable, (status) => {
      if (status['ready'] === true) resolve(Number(status['port']))
    })
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}: ${errors}`)))
  })
  return {
    child,
    port,
    allocatedBytes: allocated,
    stop: async () => {
      if (child.exitCode !== null) return
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Reads what `--trace-gc-nvp` prints, a line for each collection; the function answers the sum of the busiest isolate. */
function followAllocation(output: Readable): () => number {
  const byIsolate = new Map<string, number>()
  createInterface({ input: output }).on('line', (line) => {
    const [, isolate = '', bytes = ''] = /^\[\d+:(\w+):\d+\].* allocated=(\d+)/.exec(line) ?? []
    // A collection that freed more than it found reports a negative number as an unsigned one.
    if (Number(bytes) > Number.MAX_SAFE_INTEGER) return
    byIsolate.set(isolate, (byIsolate.get(isolate) ?? 0) + Number(bytes))
  })
  return () => Math.max(0, ...byIsolate.values())
}

function threadUs(pid: number, thread: string | number): number {
  const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')
  return Number(text.split(' ')[0]) / 1000
}

/** Processor time of the main thread so far in µs. */
export function mainThreadUs(pid: number): number {
  return threadUs(pid, pid)
}

/** Processor time of all threads so far in µs, to the nanosecond where `usage` counts in ticks. */
export function processorUs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce((sum, thread) => sum + threadUs(pid, thread), 0)
}

/**
 * Resolves when the process has used less than a twentieth of a processor for a second: after its start a server reads what is
 * stored, for seconds or, with a million objects, minutes. That is no part of the cost of a request. Resolves after ten minutes anyway.
 */
export async function settled(pid: number): Promise<void> {
  let before = processorUs(pid)
  for (let second = 0; second < 600; second += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const now = processorUs(pid)
    if (now - before < 50_000) return
    before = now
  }
}

/** Resident memory in MB, its peak, and the processor time used so far in ms, as the kernel counts them. */
export function usage(pid: number): { residentMb: number; peakMb: number; cpuMs: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kb = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
  return { residentMb: kb('VmRSS') / 1024, peakMb: kb('VmHWM') / 1024, cpuMs: ticks * 10 }
}
