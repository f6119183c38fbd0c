/** Node faults: what a lab lets the machine of a node suffer. The command `node-faults` says all that holds from now on. */
import { join } from 'node:path'
import type { Commands } from '../../component-base/commands.ts'
import type { Files } from '../../component-base/files.ts'
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts'
import type { Pressure } from './eviction-thresholds.ts'
import type { HostInfo } from './host-info.ts'
import type { HostWatch } from './host-watch.ts'

/** Parameters of the command `node-faults`. */
export interface NodeFaultState {
  readonly is: readonly (
    'memory-pressure' | 'disk-pressure' | 'pid-pressure' | 'runtime-down' | 'disk-lost'
  )[]
  /** Of the machine since its last reboot; absent: as it was. */
  readonly bootId?: string
  /** It boots now: all containers have ended. */
  readonly boots?: boolean
}

const downText = {
  'runtime-down': 'container runtime is down',
  'disk-lost': 'container runtime is down: the disk is lost: input/output error',
} as const

/** The host as the faults show it. `changed` is called after every change. In `folder` the machine's boot outlives the agent. */
export async function followNodeFaults(
  commands: Commands | undefined,
  parts: {
    readonly host: HostWatch
    readonly runtime: SimulatedRuntime
    readonly files: Files
    readonly folder: string
    readonly changed: () => void
  },
): Promise<{ readonly host: HostWatch }> {
  const { host, runtime, files, folder, changed } = parts
  let state: NodeFaultState = { is: [] }
  const bootFile = join(folder, 'boot-id')
  let bootId = await files.read(bootFile).catch(() => '') // it was never rebooted
  const has = (name: NodeFaultState['is'][number]): boolean => state.is.includes(name)
  commands?.on('node-faults', async (params) => {
    const hadDisk = !has('disk-lost')
    state = params as NodeFaultState
    const down = (['disk-lost', 'runtime-down'] as const).find(has)
    runtime.setFault(down === undefined ? undefined : downText[down])
    // The first time: containers and images were on the disk.
    if (has('disk-lost') && hadDisk) runtime.lose({ images: true })
    if (state.boots === true) runtime.lose({ images: false })
    const isNewBoot = state.bootId !== undefined && state.bootId !== bootId
    bootId = state.bootId ?? bootId
    changed()
    if (isNewBoot) await files.write(bootFile, bootId)
  })
  return {
    host: {
      info: (): HostInfo => ({ ...host.info(), ...(bootId === '' ? {} : { bootId }) }),
      pressure: async (): Promise<Pressure> => {
        const { memory, disk, processes } = await host.pressure()
        return {
          memory: memory || has('memory-pressure'),
          disk: disk || has('disk-pressure'),
          processes: processes || has('pid-pressure'),
        }
      },
      refine: () => host.refine(),
    },
  }
}
