/** The machine under a cluster: its processes and where they listen, as the operating system tells it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Cluster } from '../../cluster/cluster.ts'
import { identify, isAlive, signalProcess } from '../../cluster/state/process-identity.ts'
import type { ProcessIdentity } from '../../cluster/state/process-identity.ts'
import { eventually } from '../support/eventually.ts'
import { listProcesses } from '../support/process-list.ts'

interface TcpSocket {
  /** Address and port in the form of proc(5). */
  readonly address: string
  readonly peer: string
  readonly state: string
  readonly inode: string
}

function tcpSockets(): TcpSocket[] {
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .map(([, address = '', peer = '', state = '', , , , , , inode = '']) => {
        return { address, peer, state, inode }
      }),
  )
}

/** Everything on this machine that listens by TCP. */
export function tcpListeners(): TcpSocket[] {
  return tcpSockets().filter(({ state }) => state === '0A') // LISTEN
}

/** Where the descriptors of a process lead. */
function openPaths(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return [] // closed meanwhile
    }
  })
}

/** The files that a process has open whose path begins so. */
export function openFiles(pid: number, path: string): string[] {
  return openPaths(pid).filter((one) => one.startsWith(path))
}

/** Where a process listens by TCP. */
export function listeningAddresses(pid: number): string[] {
  const open = new Set(openPaths(pid))
  return tcpListeners()
    .filter(({ inode }) => open.has(`socket:[${inode}]`))
    .map(({ address }) => address)
}

const portOf = (address: string): number => parseInt(address.split(':')[1] ?? '', 16)

/** The TCP connections that a process opened itself, each as the `address:port` at the other end, the address in the form of proc(5). */
export function connectionsOf(pid: number): string[] {
  const open = new Set(openPaths(pid))
  const own = new Set(listeningAddresses(pid).map(portOf))
  return tcpSockets()
    .filter(({ state, inode }) => state === '01' && open.has(`socket:[${inode}]`)) // ESTABLISHED
    .filter(({ address }) => !own.has(portOf(address)))
    .map(({ peer }) => `${peer.split(':')[0]}:${portOf(peer)}`)
}

/** Living processes with this folder somewhere in their command line, this one not counted. */
export function processesIn(folder: string): (ProcessIdentity & { command: string })[] {
  return listProcesses()
    .filter(({ pid, command }) => pid !== process.pid && command.includes(folder))
    .flatMap(({ pid, command }) => {
      const identity = identify(pid)
      return identity === undefined ? [] : [{ ...identity, command }]
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
