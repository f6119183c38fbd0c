/**
 * startDrill: runs a drill in namespaces of its own (network, processes, mounts), which the kernel removes with all that is in
 * them when the first process ends, however it ends: nothing is left on the machine, and its own network is never touched.
 */
import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { diskProgram } from './disk.ts'
import { etcdProgram } from './members.ts'
import type { DrillOptions, DrillReport } from './report.ts'

const namespaces = '--net --pid --mount --fork --mount-proc --kill-child'.split(' ')
const enter = [...(process.getuid?.() === 0 ? [] : ['--map-root-user']), ...namespaces]
const needed = [
  'mount -t tmpfs tmpfs /run && mkdir /run/netns',
  'ip netns add probe && ip link add probe-br type bridge',
  'ip link add probe-out type veth peer name probe-in netns probe',
  'tc -n probe qdisc add dev probe-in root tbf rate 1mbit burst 8kb latency 1s',
  'tc -n probe qdisc add dev probe-in clsact',
  "tc -n probe filter add dev probe-in egress protocol all bpf bytecode '1,6 0 0 2' direct-action",
  `${diskProgram} -f -o /dev/null true`,
].join(' && ')

/** Why no drill can run here; undefined when one can. */
export function whyNoDrill(): string | undefined {
  for (const program of [etcdProgram, '/usr/bin/etcdctl', diskProgram])
    if (!existsSync(program))
      return `there is no ${program} (apt-get install etcd-server etcd-client strace)`
  try {
    execFileSync('unshare', [...enter, 'sh', '-c', needed], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `this user may not make network namespaces, or trace processes in them: ${(error as Error).message.trim()}`
  }
}

const main = join(import.meta.dirname, 'main.ts')

/** The first process outside of its namespaces: what is in them ends with it, and with its standard input. */
export function launchDrill(
  options: Omit<DrillOptions, 'program'>,
  environment: Readonly<Record<string, string>> = {},
): ChildProcessWithoutNullStreams {
  const program = join(import.meta.dirname, '../../dist/api-server.js')
  const words = [process.execPath, main, JSON.stringify({ ...options, program })]
  return spawn('unshare', [...enter, ...words], { env: { ...process.env, ...environment } })
}

/** Rejects when the drill itself fails; broken rules are in the report. */
export async function startDrill(
  options: Omit<DrillOptions, 'program'>,
): Promise<DrillReport & { readonly faultLines: string }> {
  const child = launchDrill(options)
  const [report, faultLines] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  if (child.exitCode !== 0)
    throw new Error(
      `the drill with seed ${options.seed} ended with ${child.exitCode}:\n${faultLines}`,
    )
  return { ...(JSON.parse(report) as DrillReport), faultLines }
}
