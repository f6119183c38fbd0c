/**
 * HostInfo: what the machine is and has. The first answer comes from Node and a few files, at once; where those are not
 * there, systeminformation fills in the rest later: it takes too long and too much memory to be loaded at start.
 */
import { readFileSync, statfsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { arch, cpus, hostname, machine, platform, release, totalmem } from 'node:os'
import { availableMemory } from './available-memory.ts'

export interface HostInfo {
  readonly hostname: string
  /** Go's names: amd64, arm64; linux, darwin, windows. */
  readonly architecture: string
  readonly operatingSystem: string
  readonly osImage: string
  readonly kernelVersion: string
  readonly machineId: string
  readonly systemUuid: string
  readonly bootId: string
  readonly cpuCount: number
  readonly memoryBytes: number
  /** Of the disk that holds the agent's files; undefined when it cannot be measured. */
  readonly diskBytes?: number | undefined
  /** False when `osImage` is only put together from what Node knows. */
  readonly hasReleaseName: boolean
}

/** Free memory, disk and processes, for pressure conditions. */
export interface HostRoom {
  readonly memoryAvailableBytes: number
  readonly diskAvailableBytes: number
  readonly diskTotalBytes: number
  readonly processesAvailable: number
  readonly processesTotal: number
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }
const platforms: Readonly<Record<string, string>> = { win32: 'windows' }

function firstLine(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\n')[0]?.trim() ?? ''
  } catch {
    // Only some systems have this file; an empty value says so.
    return ''
  }
}

/** The facts that are known without running a command. */
export function basicHostInfo(): HostInfo {
  const kernel = release()
  const machineId = firstLine('/etc/machine-id')
  const image = releaseName()
  return {
    hostname: hostname(),
    architecture: architectures[arch()] ?? arch(),
    operatingSystem: platforms[platform()] ?? platform(),
    osImage: image === '' ? `${platform()} ${kernel} ${machine()}` : image,
    hasReleaseName: image !== '',
    kernelVersion: kernel,
    machineId,
    systemUuid: machineId,
    bootId: firstLine('/proc/sys/kernel/random/boot_id'),
    cpuCount: cpus().length,
    memoryBytes: totalmem(),
  }
}

/** Size of the disk that holds `folder`; undefined when it cannot be measured. */
export function diskSize(folder: string): number | undefined {
  try {
    const { blocks, bsize } = statfsSync(folder)
    return blocks * bsize
  } catch {
    // A file system without statfs: the node has no such resource.
    return undefined
  }
}

/** The system's name for itself, where a file has it (os-release(5)). */
function releaseName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? ''
  } catch {
    // Not Linux: the system's tools have to be asked.
    return ''
  }
}

/** Adds the facts that only the system's own tools know. Never rejects: facts that they cannot find stay as they were. */
export async function refinedHostInfo(basic: HostInfo): Promise<HostInfo> {
  if (basic.hasReleaseName) return basic
  try {
    // The package is CommonJS: inside a bundle only its default export is there.
    const { default: system } = await import('systeminformation')
    const found = await system.osInfo()
    const image = `${found.distro} ${found.release}`.trim()
    return {
      ...basic,
      osImage: image === '' ? basic.osImage : image,
      kernelVersion: found.kernel || basic.kernelVersion,
      systemUuid: found.serial || basic.systemUuid,
    }
  } catch {
    // A closed-off system: the basic facts are good enough.
    return basic
  }
}

/** Measures now; `folder` is on the disk that counts. */
export async function hostRoom(folder: string): Promise<HostRoom> {
  const disk = await statfs(folder)
  const processesTotal = Number(firstLine('/proc/sys/kernel/pid_max')) || Infinity
  const running = Number(firstLine('/proc/loadavg').split(/[ /]/)[4] ?? 0)
  return {
    memoryAvailableBytes: await availableMemory(),
    diskAvailableBytes: disk.bavail * disk.bsize,
    diskTotalBytes: disk.blocks * disk.bsize,
    processesAvailable: processesTotal - running,
    processesTotal,
  }
}
