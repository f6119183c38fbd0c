/**
 * HostInfo: what the machine is and has. The first answer comes from Node itself, at once; the rest is filled in later by
 * systeminformation, which takes too long and too much memory to be loaded at start.
 */
import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { arch, cpus, freemem, hostname, machine, platform, release, totalmem } from 'node:os'

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
}

/** What is left, for pressure conditions. */
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

/** What is known without asking anybody. */
export function basicHostInfo(): HostInfo {
  const kernel = release()
  const machineId = firstLine('/etc/machine-id')
  return {
    hostname: hostname(),
    architecture: architectures[arch()] ?? arch(),
    operatingSystem: platforms[platform()] ?? platform(),
    osImage: `${platform()} ${kernel} ${machine()}`,
    kernelVersion: kernel,
    machineId,
    systemUuid: machineId,
    bootId: firstLine('/proc/sys/kernel/random/boot_id'),
    cpuCount: cpus().length,
    memoryBytes: totalmem(),
  }
}

/** The same with the names that only the system's own tools know. Never rejects: what cannot be found stays as it was. */
export async function refinedHostInfo(basic: HostInfo): Promise<HostInfo> {
  try {
    const { osInfo } = await import('systeminformation')
    const found = await osInfo()
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
    memoryAvailableBytes: availableMemory(),
    diskAvailableBytes: disk.bavail * disk.bsize,
    diskTotalBytes: disk.blocks * disk.bsize,
    processesAvailable: processesTotal - running,
    processesTotal,
  }
}

/** Memory that could be had without swapping; free memory alone leaves out what caches would give back. */
function availableMemory(): number {
  try {
    const match = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))
    if (match?.[1] !== undefined) return Number(match[1]) * 1024
  } catch {
    // Not Linux: free memory is what there is to know.
  }
  return freemem()
}
