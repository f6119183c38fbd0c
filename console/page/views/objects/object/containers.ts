/** containersOf: the containers of a pod with their states, in the order in which they start. Pure. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'

export interface ShownContainer {
  readonly name: string
  readonly image: string
  readonly is: 'init' | 'container' | 'ephemeral'
  /** `Running`, `Waiting: CrashLoopBackOff`, `Terminated: Error (1)`. */
  readonly state: string
  readonly message: string
  readonly isReady: boolean
  readonly restarts: number
}

interface Container {
  readonly name: string
  readonly image?: string
}

interface State {
  readonly running?: object
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: {
    readonly reason?: string
    readonly message?: string
    readonly exitCode?: number
  }
}

interface Status {
  readonly name: string
  readonly ready?: boolean
  readonly restartCount?: number
  readonly state?: State
}

function stateText({ running, waiting, terminated }: State): { state: string; message: string } {
  if (running !== undefined) return { state: 'Running', message: '' }
  if (terminated !== undefined) {
    const { reason = 'ended', exitCode, message = '' } = terminated
    return { state: `Terminated: ${reason} (${exitCode ?? '?'})`, message }
  }
  const { reason = 'not started', message = '' } = waiting ?? {}
  return { state: `Waiting: ${reason}`, message }
}

const types = [
  ['init', 'initContainers', 'initContainerStatuses'],
  ['container', 'containers', 'containerStatuses'],
  ['ephemeral', 'ephemeralContainers', 'ephemeralContainerStatuses'],
] as const

export function containersOf({ spec, status }: KubeObject): ShownContainer[] {
  return types.flatMap(([is, inSpec, inStatus]) => {
    const containers = (spec?.[inSpec] ?? []) as readonly Container[]
    const statuses = (status?.[inStatus] ?? []) as readonly Status[]
    return containers.map(({ name, image = '' }): ShownContainer => {
      const own = statuses.find((one) => one.name === name)
      const { ready: isReady = false, restartCount: restarts = 0, state = {} } = own ?? {}
      return { name, image, is, isReady, restarts, ...stateText(state) }
    })
  })
}
