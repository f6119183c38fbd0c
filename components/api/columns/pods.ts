/** Columns of pods: one status word for the whole pod, as upstream derives it (pkg/printers/internalversion printPod). */
import { ageOf } from '../../machinery/values/duration.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { TablePrinter } from '../../machinery/objects/table-printer.ts'
import { age, ageDescription, column, nameDescription } from './table-printer.ts'

interface ContainerStatus {
  readonly name?: string
  readonly ready?: boolean
  readonly started?: boolean
  readonly restartCount?: number
  readonly state?: ContainerState
  readonly lastState?: ContainerState
}

interface ContainerState {
  readonly running?: object
  readonly waiting?: { readonly reason?: string }
  readonly terminated?: {
    readonly exitCode?: number
    readonly signal?: number
    readonly reason?: string
    readonly finishedAt?: string
  }
}

export interface PodSummary {
  readonly ready: number
  readonly total: number
  readonly status: string
  readonly restarts: number
  /** When a container last ended before a restart; '' for never. */
  readonly lastRestart: string
}

type Condition = { readonly type?: string; readonly status?: string; readonly reason?: string }

const wide = true

const columns = [
  column(['Name', nameDescription], () => null, { format: 'name' }),
  column(['Ready', 'Containers that are ready, of those that should be.'], () => null),
  column(['Status', 'What the pod is doing, from its phase and its containers.'], () => null),
  column(['Restarts', 'How often its containers were restarted, and when last.'], () => null, {
    type: 'integer',
  }),
  column(['Age', ageDescription], () => null),
  column(['IP', 'First address of the pod.'], () => null, { wide }),
  column(['Node', 'Node the pod is bound to.'], () => null, { wide }),
  column(['Nominated Node', 'Node on which room is being made for the pod.'], () => null, { wide }),
  column(['Readiness Gates', 'Extra readiness conditions that hold, of all.'], () => null, {
    wide,
  }),
].map((entry) => entry.column)

export const podPrinter: TablePrinter = {
  columns,
  cells: (pod, nowMs) => {
    const { ready, total, status, restarts, lastRestart } = podSummary(pod)
    return [
      pod.metadata.name ?? '',
      `${ready}/${total}`,
      status,
      restarts !== 0 && lastRestart !== ''
        ? `${restarts} (${ageOf(lastRestart, nowMs)} ago)`
        : String(restarts),
      age(pod, nowMs),
      pod['status']?.podIPs?.[0]?.ip || pod['status']?.podIP || '<none>',
      pod['spec']?.nodeName || '<none>',
      pod['status']?.nominatedNodeName || '<none>',
      readinessGates(pod),
    ]
  },
}

/** The pod as its row shows it: ready containers, the status word, restarts. */
export function podSummary(pod: KubeObject): PodSummary {
  const spec = pod['spec'] ?? {}
  const podStatus = pod['status'] ?? {}
  const conditions: readonly Condition[] = podStatus.conditions ?? []
  const initial: string = podStatus.reason || podStatus.phase || ''
  const isGated = conditions.some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
  )
  const sidecars = new Set<string | undefined>(
    (spec.initContainers ?? [])
      .filter((container: { restartPolicy?: string }) => container.restartPolicy === 'Always')
      .map((container: { name: string }) => container.name),
  )
  const init = initialisation(podStatus.initContainerStatuses ?? [], {
    sidecars,
    count: (spec.initContainers ?? []).length,
    status: isGated ? 'SchedulingGated' : initial,
  })
  const total = (spec.containers ?? []).length + sidecars.size
  const isPastInit = !init.isInitialising || isTrue(conditions, 'Initialized')
  const main = isPastInit
    ? running(podStatus.containerStatuses ?? [], {
        status: init.status,
        restarts: init.sidecarRestarts,
        lastRestart: init.lastSidecarRestart,
        isReady: isTrue(conditions, 'Ready'),
      })
    : { ready: 0, status: init.status, restarts: init.restarts, lastRestart: init.lastRestart }
  return {
    ...main,
    ready: init.ready + main.ready,
    total,
    status: deletion(pod) ?? main.status,
  }
}

function deletion(pod: KubeObject): string | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined
  const { reason, phase } = pod['status'] ?? {}
  if (reason === 'NodeLost') return 'Unknown'
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating'
}

/** Goes through the init containers in order, up to the first that is still in the way. */
function initialisation(
  statuses: readonly ContainerStatus[],
  given: { sidecars: ReadonlySet<string | undefined>; count: number; status: string },
) {
  const result = {
    status: given.status,
    isInitialising: false,
    ready: 0,
    restarts: 0,
    lastRestart: '',
    sidecarRestarts: 0,
    lastSidecarRestart: '',
  }
  for (const [index, container] of statuses.entries()) {
    const isSidecar = given.sidecars.has(container.name)
    const ended = container.lastState?.terminated?.finishedAt ?? ''
    result.restarts += container.restartCount ?? 0
    result.lastRestart = later(result.lastRestart, ended)
    if (isSidecar) {
      result.sidecarRestarts += container.restartCount ?? 0
      result.lastSidecarRestart = later(result.lastSidecarRestart, ended)
    }
    const { terminated, waiting } = container.state ?? {}
    if (terminated !== undefined && (terminated.exitCode ?? 0) === 0) continue
    if (isSidecar && container.started === true) {
      if (container.ready === true) result.ready++
      continue
    }
    result.isInitialising = true
    if (terminated !== undefined) result.status = `Init:${endOf(terminated)}`
    else if (waiting?.reason && waiting.reason !== 'PodInitializing') {
      result.status = `Init:${waiting.reason}`
    } else result.status = `Init:${index}/${given.count}`
    break
  }
  return result
}

/** Goes through the containers from last to first, so that the first one in trouble gives the status. */
function running(
  statuses: readonly ContainerStatus[],
  given: { status: string; restarts: number; lastRestart: string; isReady: boolean },
) {
  let { status, restarts, lastRestart } = given
  let ready = 0
  let isRunning = false
  for (const container of statuses.toReversed()) {
    restarts += container.restartCount ?? 0
    lastRestart = later(lastRestart, container.lastState?.terminated?.finishedAt ?? '')
    const { waiting, terminated, running: runs } = container.state ?? {}
    if (waiting?.reason) status = waiting.reason
    else if (terminated !== undefined) status = endOf(terminated)
    else if (container.ready === true && runs !== undefined) {
      isRunning = true
      ready++
    }
  }
  if (status === 'Completed' && isRunning) status = given.isReady ? 'Running' : 'NotReady'
  return { ready, status, restarts, lastRestart }
}

function endOf(end: NonNullable<ContainerState['terminated']>): string {
  if (end.reason) return end.reason
  return end.signal ? `Signal:${end.signal}` : `ExitCode:${end.exitCode ?? 0}`
}

/** RFC 3339 in UTC with whole seconds compares as text. */
function later(a: string, b: string): string {
  return a < b ? b : a
}

function isTrue(conditions: readonly Condition[], type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True')
}

function readinessGates(pod: KubeObject): string {
  const gates: readonly { conditionType?: string }[] = pod['spec']?.readinessGates ?? []
  if (gates.length === 0) return '<none>'
  const conditions: readonly Condition[] = pod['status']?.conditions ?? []
  const holding = gates.filter(
    ({ conditionType }) => conditions.find(({ type }) => type === conditionType)?.status === 'True',
  )
  return `${holding.length}/${gates.length}`
}
