/** UsageMeter: what one simulated container has used so far and uses now. */
import type { Usage } from '../../api/simulated-usage.ts'
import { firstAgeAbove, usageAt, usageBetween, usageOfRequest } from '../../api/simulated-usage.ts'

/** How a container uses one resource, in cores or bytes. */
export interface UsagePlan {
  readonly usage: Usage
  /** What percentages are of. */
  readonly requested: number
  /** Infinity without a limit. */
  readonly limit: number
}

export interface UsagePlans {
  readonly cpu: UsagePlan
  readonly memory: UsagePlan
}

/** What a container uses at one time. */
export interface ContainerUsage {
  readonly startedMs: number
  readonly timeMs: number
  /** On average of the last ten seconds, in cores. */
  readonly cores: number
  /** Since its start, in core seconds. */
  readonly coreSeconds: number
  readonly memoryBytes: number
}

/** CPU is averaged over this time, as cAdvisor does. */
const windowMs = 10_000

function spanOf(ageMs: number): number {
  return Math.max(1, Math.min(windowMs, ageMs))
}

export class UsageMeter {
  readonly #startedMs: number
  #readMs: number
  #coreSeconds = 0
  /** Answered since the last reading. */
  #unread = 0
  /** When requests of the last window were answered, by second. */
  readonly #requests = new Map<number, number>()

  constructor(startedMs: number, nowMs: number) {
    this.#startedMs = startedMs
    this.#readMs = nowMs
  }

  /** The container answered an HTTP request. */
  request(nowMs: number): void {
    const second = Math.floor(nowMs / 1000)
    this.#requests.set(second, (this.#requests.get(second) ?? 0) + 1)
    this.#unread += 1
    this.#forgetBefore(nowMs)
  }

  /** Moves on to `nowMs`. Plans that changed count from the last reading on. */
  read({ cpu, memory }: UsagePlans, nowMs: number): ContainerUsage {
    const ageMs = Math.max(0, nowMs - this.#startedMs)
    this.#forgetBefore(nowMs)
    const recent = this.#recentRequests()
    const spanMs = spanOf(ageMs)
    this.#count(cpu, ageMs, nowMs)
    const steady = usageBetween(cpu.usage, {
      fromMs: ageMs - Math.min(spanMs, ageMs),
      toMs: ageMs,
      requested: cpu.requested,
    })
    const asked = recent * usageOfRequest(cpu.usage, { ageMs, requested: cpu.requested })
    return {
      startedMs: this.#startedMs,
      timeMs: nowMs,
      cores: Math.min(cpu.limit, ((steady + asked) * 1000) / spanMs),
      coreSeconds: this.#coreSeconds,
      memoryBytes: Math.round(Math.min(memory.limit, this.#memoryAt(memory, ageMs))),
    }
  }

  /** How long it takes until the memory exceeds its limit, if no further request comes; undefined if it never does. */
  untilOverLimitMs({ memory }: UsagePlans, nowMs: number): number | undefined {
    const { usage, requested, limit } = memory
    if (limit === Infinity) return undefined
    const ageMs = Math.max(0, nowMs - this.#startedMs)
    this.#forgetBefore(nowMs)
    if (this.#memoryAt(memory, ageMs) > limit) return 0
    const atMs = firstAgeAbove(usage, { fromMs: ageMs, requested, limit })
    return atMs === undefined ? undefined : atMs - ageMs
  }

  /** Whatever the limit. */
  #memoryAt({ usage, requested }: UsagePlan, ageMs: number): number {
    const requestsPerSecond = (this.#recentRequests() * 1000) / Math.max(1000, spanOf(ageMs))
    return usageAt(usage, { ageMs, requestsPerSecond, requested })
  }

  #recentRequests(): number {
    return [...this.#requests.values()].reduce((sum, count) => sum + count, 0)
  }

  #count({ usage, requested, limit }: UsagePlan, ageMs: number, nowMs: number): void {
    const fromMs = Math.max(0, this.#readMs - this.#startedMs)
    if (ageMs <= fromMs) return
    const used =
      usageBetween(usage, { fromMs, toMs: ageMs, requested }) +
      this.#unread * usageOfRequest(usage, { ageMs, requested })
    this.#coreSeconds += Math.min(used, (limit * (ageMs - fromMs)) / 1000)
    this.#unread = 0
    this.#readMs = nowMs
  }

  #forgetBefore(nowMs: number): void {
    const first = Math.floor((nowMs - windowMs) / 1000)
    for (const second of this.#requests.keys()) {
      if (second > first) return
      this.#requests.delete(second)
    }
  }
}
