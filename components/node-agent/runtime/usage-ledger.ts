/** UsageLedger: the meters of all simulated containers that run, and what ended ones used. */
import type { Pod } from '../../api/generated/types.ts'
import type { Clock } from '../../component-base/clock.ts'
import { containerSpecOf } from '../pods/pod-spec.ts'
import type { RuntimeContainer } from './container-runtime.ts'
import type { ContainerUsage } from './usage-meter.ts'
import { UsageMeter } from './usage-meter.ts'
import { usagePlansOf } from './usage-plans.ts'
import { noUsageRules } from './usage-rules.ts'

export class UsageLedger {
  readonly #clock: Clock
  readonly #meters = new Map<string, UsageMeter>()
  /** Cancel the kills of containers that will exceed their memory. */
  readonly #kills = new Map<string, () => void>()
  /** Core seconds by node. */
  readonly #ended = new Map<string, number>()
  /** For pods without annotations. */
  rules = noUsageRules

  constructor(clock: Clock) {
    this.#clock = clock
  }

  start({ id, state }: RuntimeContainer): void {
    if (state.kind === 'exited') return
    this.#meters.set(id, new UsageMeter(state.startedMs, this.#clock.now()))
  }

  /** The container answered an HTTP request. */
  request(id: string): void {
    this.#meters.get(id)?.request(this.#clock.now())
  }

  /** Undefined of a container that does not run. */
  read({ id, name }: RuntimeContainer, pod: Pod): ContainerUsage | undefined {
    const spec = containerSpecOf(pod, name)
    return (
      spec && this.#meters.get(id)?.read(usagePlansOf(pod, spec, this.rules), this.#clock.now())
    )
  }

  /** Calls `kill` when the container's memory exceeds its limit, unless it ends before. Takes the place of an earlier call. */
  watchMemory({ id, name }: RuntimeContainer, pod: Pod, kill: () => void): void {
    this.#cancelKill(id)
    const spec = containerSpecOf(pod, name)
    if (spec === undefined) return
    const plans = usagePlansOf(pod, spec, this.rules)
    const inMs = this.#meters.get(id)?.untilOverLimitMs(plans, this.#clock.now())
    if (inMs !== undefined) this.#kills.set(id, this.#clock.after(inMs, kill))
  }

  #cancelKill(id: string): void {
    this.#kills.get(id)?.()
    this.#kills.delete(id)
  }

  end(container: RuntimeContainer, pod: Pod): void {
    const nodeName = pod.spec?.nodeName ?? ''
    const used = this.read(container, pod)?.coreSeconds ?? 0
    this.#cancelKill(container.id)
    this.#meters.delete(container.id)
    this.#ended.set(nodeName, this.ended(nodeName) + used)
  }

  /** What containers of a node used that have ended, in core seconds. */
  ended(nodeName: string): number {
    return this.#ended.get(nodeName) ?? 0
  }
}
