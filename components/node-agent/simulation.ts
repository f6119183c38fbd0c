/**
 * Simulation: how pods and nodes ask a simulated node for trouble, by annotations. A pod's annotation applies to all of its
 * containers; with `.<container>` appended it applies to that one. Times are durations (`5s`) or bare seconds (`5`).
 */
import { parseDuration } from '../component-base/flags.ts'
import type { ObjectMeta } from '../machinery/object.ts'

const domain = 'skiff.dev'

/** Annotations on pods. */
export const podAnnotations = {
  /** The container ends by itself after this time. */
  exitAfter: `${domain}/exit-after`,
  /** With what code; default 0. */
  exitCode: `${domain}/exit-code`,
  /** How long it takes to start. */
  startDelay: `${domain}/start-delay`,
  /** `fail`: the container cannot be created; `image-pull-error`: its image cannot be pulled. */
  start: `${domain}/start`,
  /** How long it takes to end when asked to; past the grace period it is killed (exit code 137). */
  stopAfter: `${domain}/stop-after`,
  /** How often it writes a line to its log; without it, only when it starts and ends. */
  logEvery: `${domain}/log-every`,
  /** What probes find: `ok`, `fail`, `after 10s` (fails before), `until 20s` (fails from then on). */
  startup: `${domain}/startup`,
  readiness: `${domain}/readiness`,
  liveness: `${domain}/liveness`,
  /** The ports, with commas between them, on which something answers HTTP. */
  listen: `${domain}/listen`,
  /** `unsupported`, `fail`, or a time that it takes. */
  checkpoint: `${domain}/checkpoint`,
} as const

/** Annotations on nodes, with value `true`. */
export const nodeAnnotations = {
  memoryPressure: `${domain}/memory-pressure`,
  diskPressure: `${domain}/disk-pressure`,
  pidPressure: `${domain}/pid-pressure`,
  /** The container runtime is down: the node is not ready. Any other text than `true` is the reason given. */
  runtimeDown: `${domain}/runtime-down`,
} as const

/** `5s`, `1m30s` or bare seconds, in milliseconds; undefined for anything else. */
export function simulatedTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : parseDuration(text)
  return ms === undefined || ms < 0 ? undefined : ms
}

/** The annotation's value for a container: its own, else the pod's. */
export function simulated(
  metadata: ObjectMeta,
  annotation: string,
  container: string,
): string | undefined {
  const { annotations } = metadata
  return annotations?.[`${annotation}.${container}`] ?? annotations?.[annotation]
}

/** `80,8080` as numbers; what is no port is left out. */
export function simulatedPorts(text: string | undefined): number[] {
  return (text ?? '')
    .split(',')
    .map((port) => Number(port.trim()))
    .filter((port) => Number.isInteger(port) && port > 0 && port < 65_536)
}

/** What a probe finds `ageMs` after the container's start, by the annotation's text. Unreadable text counts as `ok`. */
export function simulatedProbe(text: string | undefined, ageMs: number): boolean {
  if (text === 'fail') return false
  const [, word, time] = /^(after|until) (\S+)$/.exec(text ?? '') ?? []
  const boundary = simulatedTime(time)
  if (boundary === undefined) return true
  return word === 'after' ? ageMs >= boundary : ageMs < boundary
}
