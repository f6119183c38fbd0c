/** The machine under a cluster: its processes and where they listen, as the operating system tells it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Cluster } from '../../cluster/cluster.ts'
import { identify, isAlive, signalProcess } from '../../cluster/process-identity.ts'
import type { ProcessIdentity } from '../../cluster/process-identity.ts'
import { eventually } from '../support/eventually.ts'

/** Everything on this machine that listens by TCP: address and port in the form of proc(5), and the socket's inode. */
export function tcpListeners(): { address: string; inode: string }[] {
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === '0A') // LISTEN
      .map((fields) => ({ address: fields[1] ?? '', inode: fields[9] ?? '' })),
  )
}

/** Where a process listens by TCP. */
export function listeningAddresses(pid: number): string[] {
  const open = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
      } catch {
        return [] // closed meanwhile
      }
    }),
  )
  return tcpListeners()
    .filter(({ inode }) => open.has(`socket:[${inode}]`))
    .map(({ address }) => address)
}

/** Living processes with this folder somewhere in their command line, this one not counted. */
export function processesIn(folder: string): (ProcessIdentity & { command: string })[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .flatMap((entry) => {
      try {
        const command = readFileSync(`/proc/${entry}/cmdline`, 'utf8').replaceAll('\0', ' ')
        const identity = command.includes(folder) ? identify(Number(entry)) : undefined
        return identity === undefined ? [] : [{ ...identity, command }]
      } catch {
        return [] // gone meanwhile
      }
    })
}

/** The living process of a component of the cluster. */
export async function pidOf(cluster: Cluster, component: string): Promise<number> {
  const { components } = await cluster.control.call('status', {})
  const pid = components.find((one) => one.name === component)?.pid
  if (pid === undefined) throw new Error(`${component} does not run`)
  return pid
}

/** SIGKILL; resolves when the process is gone. */
export async function killHard(pid: number): Promise<void> {
  const process_ = identify(pid)
  if (process_ === undefined) throw new Error(`there is no process ${pid}`)
  signalProcess(process_, 'SIGKILL')
  await eventually(() => {
    if (isAlive(process_)) throw new Error(`process ${pid} lives on`)
  })
}
