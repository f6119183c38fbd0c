/**
 * How fast and how far an autoscaler may scale: bounds, rates and stabilization (upstream: horizontal.go
 * normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors; KEP-853).
 */
import type {
  HPAScalingPolicy,
  HPAScalingRules,
  HorizontalPodAutoscalerBehavior,
} from '../../api/generated/types.ts'

/** What one autoscaler recommended and did lately. */
export interface History {
  readonly recommendations: readonly { readonly replicas: number; readonly atMs: number }[]
  /** Positive for pods added, negative for pods removed. */
  readonly changes: readonly { readonly change: number; readonly atMs: number }[]
}

interface Wanted {
  readonly desired: number
  readonly current: number
  readonly min: number
  readonly max: number
  readonly behavior?: HorizontalPodAutoscalerBehavior
  readonly history: History
  /** Of --horizontal-pod-autoscaler-downscale-stabilization. */
  readonly downscaleStabilizationMs: number
  readonly nowMs: number
}

interface Verdict {
  readonly reason: string
  readonly message: string
}

interface Normalized {
  readonly replicas: number
  readonly able: Verdict
  readonly limited: Verdict & { readonly isLimited: boolean }
  /** With the recommendation, without what no window holds any more. */
  readonly history: History
}

const downStabilized = {
  reason: 'ScaleDownStabilized',
  message:
    'recent recommendations were higher than current one, applying the highest recent recommendation',
}
const upStabilized = {
  reason: 'ScaleUpStabilized',
  message:
    'recent recommendations were lower than current one, applying the lowest recent recommendation',
}
const ready = {
  reason: 'ReadyForNewScale',
  message: 'recommended size matches current size',
}
const withinRange = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
}
const tooMany = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
}
const tooFew = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
}
const upLimited = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
}
const downLimited = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
}

/** The server fills these in; an object from before it did may lack them. */
const defaultPolicies: Readonly<Record<'up' | 'down', readonly HPAScalingPolicy[]>> = {
  up: [
    { type: 'Percent', value: 100, periodSeconds: 15 },
    { type: 'Pods', value: 4, periodSeconds: 15 },
  ],
  down: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
}

/** Without a behavior: at most double, or four, at a time; down only to the highest of the recent recommendations. */
function plainBounds({ current, min, max }: Wanted, stabilized: number) {
  const upLimit = Math.max(2 * current, 4)
  const allowed = Math.min(max, upLimit)
  if (stabilized < min) return { replicas: min, why: tooFew }
  if (stabilized > allowed) {
    return { replicas: allowed, why: max > upLimit ? upLimited : tooMany }
  }
  return { replicas: stabilized, why: withinRange }
}

/** Pods added, and pods removed, within the period. */
function changesWithin({ history, nowMs }: Wanted, periodSeconds: number) {
  const sinceMs = nowMs - periodSeconds * 1000
  let added = 0
  let removed = 0
  for (const { change, atMs } of history.changes) {
    if (atMs <= sinceMs) continue
    if (change > 0) added += change
    else removed -= change
  }
  return { added, removed }
}

/** The replicas up to, or down to, which the policies let the workload go now. */
function rateLimit(
  wanted: Wanted,
  direction: 'up' | 'down',
  rules: HPAScalingRules | undefined,
): number {
  const { current } = wanted
  const select = rules?.selectPolicy ?? 'Max'
  if (select === 'Disabled') return current
  const proposals = (rules?.policies ?? defaultPolicies[direction]).map((policy) => {
    const { added, removed } = changesWithin(wanted, policy.periodSeconds)
    const start = current - added + removed
    const sign = direction === 'up' ? 1 : -1
    if (policy.type === 'Pods') return start + sign * policy.value
    // Upstream's floating point, which makes 12 of 10 and 10 %.
    const share = start * (1 + (sign * policy.value) / 100)
    return direction === 'up' ? Math.ceil(share) : Math.trunc(share)
  })
  const isHighest = (direction === 'up') === (select === 'Max')
  const limit = isHighest ? Math.max(...proposals) : Math.min(...proposals)
  // Past changes may have used up more than the policies grant.
  return direction === 'up' ? Math.max(current, limit) : Math.min(current, limit)
}

function behaviorBounds(wanted: Wanted, stabilized: number) {
  const { current, min, max, behavior } = wanted
  if (stabilized > current) {
    const limit = rateLimit(wanted, 'up', behavior?.scaleUp)
    const allowed = Math.min(max, limit)
    if (stabilized > allowed) return { replicas: allowed, why: max > limit ? upLimited : tooMany }
  } else if (stabilized < current) {
    const limit = rateLimit(wanted, 'down', behavior?.scaleDown)
    const allowed = Math.max(min, limit)
    if (stabilized < allowed) return { replicas: allowed, why: min < limit ? downLimited : tooFew }
  }
  return { replicas: stabilized, why: withinRange }
}

/** The windows, in ms, over which recommendations are compared. */
function windowsOf({ behavior, downscaleStabilizationMs }: Wanted) {
  const { scaleUp, scaleDown } = behavior ?? {}
  const downSeconds = scaleDown?.stabilizationWindowSeconds
  return {
    upMs: (scaleUp?.stabilizationWindowSeconds ?? 0) * 1000,
    downMs: downSeconds === undefined ? downscaleStabilizationMs : downSeconds * 1000,
  }
}

function stabilize(wanted: Wanted): { stabilized: number; why: Verdict } {
  const { desired, current, history, behavior, nowMs } = wanted
  const { upMs, downMs } = windowsOf(wanted)
  const recent = (windowMs: number): number[] => [
    desired,
    ...history.recommendations
      .filter(({ atMs }) => atMs > nowMs - windowMs)
      .map(({ replicas }) => replicas),
  ]
  const highest = Math.max(...recent(downMs))
  if (behavior === undefined) return { stabilized: highest, why: downStabilized }
  const lowest = Math.min(...recent(upMs))
  const stabilized = Math.min(Math.max(current, lowest), highest)
  return { stabilized, why: desired >= current ? upStabilized : downStabilized }
}

/** The replicas that the workload may have now, and what to say of it. */
export function normalizeReplicas(wanted: Wanted): Normalized {
  const { desired, history, nowMs } = wanted
  const { stabilized, why } = stabilize(wanted)
  const bounds = wanted.behavior === undefined ? plainBounds : behaviorBounds
  const { replicas, why: limit } = bounds(wanted, stabilized)
  const { upMs, downMs } = windowsOf(wanted)
  const oldestMs = nowMs - Math.max(upMs, downMs)
  return {
    replicas,
    able: stabilized === desired ? ready : why,
    limited: { isLimited: replicas !== stabilized, ...limit },
    history: {
      changes: history.changes,
      recommendations: [
        ...history.recommendations.filter(({ atMs }) => atMs >= oldestMs),
        { replicas: desired, atMs: nowMs },
      ],
    },
  }
}

/** The API's longest period of a policy. */
const longestPeriodMs = 1800 * 1000

/** The history with a change of replicas that was made. */
export function withChange(history: History, change: number, nowMs: number): History {
  const changes = history.changes.filter(({ atMs }) => atMs > nowMs - longestPeriodMs)
  return { ...history, changes: [...changes, { change, atMs: nowMs }] }
}
