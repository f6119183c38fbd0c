/** Process control: what a supervisor can do to its processes on a system. */

export interface ProcessControl {
  /**
   * How a process is asked to stop. `signal`: by SIGTERM. `channel`: its IPC channel ends, on Windows, where SIGTERM ends a process at
   * once. A component that has a channel also ends with its supervisor, however that ends.
   */
  readonly stopBy: 'signal' | 'channel'
  /** Whether a process can be stopped by SIGSTOP and continued by SIGCONT. */
  readonly canPause: boolean
}

export type ControlWay = 'signals' | 'channels'

const ways: Readonly<Record<ControlWay, ProcessControl>> = {
  signals: { stopBy: 'signal', canPause: true },
  channels: { stopBy: 'channel', canPause: false },
}

export const controlWays = Object.keys(ways) as ControlWay[]

/** The way that the system has. */
export function controlWayOf(platform: NodeJS.Platform): ControlWay {
  return platform === 'win32' ? 'channels' : 'signals'
}

export function processControlOf(way: ControlWay): ProcessControl {
  return ways[way]
}
