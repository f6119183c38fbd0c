/** Starts a server as a child process and waits for its ready line on descriptor 3. */
import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { allocatorSettings } from '../../cluster/plan/plan.ts'
import { apiServerNodeOptions } from '../../cluster/plan/plan-api-servers.ts'
import type { Readable } from 'node:stream'
import { readStatusLines } from '../../cluster/lines.ts'

export interface Served {
  readonly child: ChildProcess
  readonly port: number
  stop(): Promise<void>
}

export async function serve(file: string, args: readonly string[]): Promise<Served> {
  const child = spawn(
    process.execPath,
    // As a cluster's API server runs.
    [...apiServerNodeOptions, file, ...args],
    {
      stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
      env: { ...process.env, ...allocatorSettings },
    },
  )
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4000)
  })
  const port = await new Promise<number>((resolve, reject) => {
    void readStatusLines(child.stdio[3] as Readable, (status) => {
      if (status['ready'] === true) resolve(Number(status['port']))
    })
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code}: ${errors}`)))
  })
  return {
    child,
    port,
    stop: async () => {
      if (child.exitCode !== null) return
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Processor time of all threads so far in µs, to the nanosecond where `usage` counts in ticks. */
export function processorUs(pid: number): number {
  const ns = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const [taken = '0'] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')
    return Number(taken)
  })
  return ns.reduce((sum, taken) => sum + taken, 0) / 1000
}

/**
 * Resolves when the process has used less than a twentieth of a processor for a second: a server looks through what is stored
 * for some seconds after its start, which is no part of what a request costs. Resolves after a minute anyway.
 */
export async function settled(pid: number): Promise<void> {
  let before = processorUs(pid)
  for (let second = 0; second < 60; second += 1) {
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
