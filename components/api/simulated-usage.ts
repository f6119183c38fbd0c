/**
 * Simulated usage: how much CPU or memory a container uses, as an annotation says it. Steps with commas between them, each
 * `AMOUNT`, with `+ AMOUNT per request` for HTTP requests that the container answers, and with `for TIME` if another step
 * follows. If every step has a time, they begin again after the last. An amount is a quantity or a percentage of what the
 * container requests.
 */
import { parseQuantity, QuantityError } from '../machinery/values/quantity.ts'
import { parseDuration } from '../component-base/flags.ts'

/** A quantity in cores or bytes, or a share of what the container requests. */
type Amount = { readonly units: number } | { readonly share: number }

interface UsageStep {
  readonly amount: Amount
  /** Added for each HTTP request a second. */
  readonly perRequest: Amount | undefined
  /** Undefined: it lasts. */
  readonly forMs: number | undefined
}

/** At least one step; all but the last have a time. */
export type Usage = readonly UsageStep[]

/** The values that `readUsage` accepts, for messages. */
export const usageForms =
  'an amount such as 250m, 64Mi or 80% (of the request), also "AMOUNT + AMOUNT per request", or steps such as 100m for 1m, 900m for 5m'

/** More are not accepted. */
const mostSteps = 100

function readAmount(text: string): Amount | undefined {
  const [, percent] = /^(\d{1,6}(?:\.\d{1,3})?)%$/.exec(text) ?? []
  if (percent !== undefined) return { share: Number(percent) / 100 }
  try {
    const { nanos } = parseQuantity(text)
    return nanos < 0n ? undefined : { units: Number(nanos) / 1e9 }
  } catch (error) {
    if (error instanceof QuantityError) return undefined
    throw error
  }
}

function readStep(text: string): UsageStep | undefined {
  const parts = /^(\S+)(?: ?\+ ?(\S+) per request)?(?: for (\S+))?$/.exec(text)
  if (parts === null) return undefined
  const [, base = '', added, time] = parts
  const amount = readAmount(base)
  const perRequest = added === undefined ? undefined : readAmount(added)
  const forMs = time === undefined ? undefined : parseDuration(time)
  if (amount === undefined || (added !== undefined && perRequest === undefined)) return undefined
  if (time !== undefined && !(forMs !== undefined && forMs > 0)) return undefined
  return { amount, perRequest, forMs }
}

/** Undefined for a text of another form. */
export function readUsage(text: string): Usage | undefined {
  const parts = text.split(',', mostSteps + 1)
  if (parts.length > mostSteps) return undefined
  const steps = parts.map((part) => readStep(part.trim()))
  const isWhole = (step: UsageStep | undefined): step is UsageStep => step !== undefined
  if (!steps.every(isWhole)) return undefined
  return steps.slice(0, -1).every(({ forMs }) => forMs !== undefined) ? steps : undefined
}

function unitsOf(amount: Amount | undefined, requested: number): number {
  if (amount === undefined) return 0
  return 'units' in amount ? amount.units : amount.share * requested
}

/** The sum of all times if the steps begin again, else undefined. */
function periodOf(usage: Usage): number | undefined {
  let periodMs = 0
  for (const { forMs } of usage) {
    if (forMs === undefined) return undefined
    periodMs += forMs
  }
  return periodMs
}

function stepAt(usage: Usage, ageMs: number): UsageStep {
  const periodMs = periodOf(usage)
  let leftMs = periodMs === undefined ? ageMs : ageMs % periodMs
  for (const step of usage) {
    if (step.forMs === undefined || leftMs < step.forMs) return step
    leftMs -= step.forMs
  }
  return usage[0] as UsageStep
}

/** Cores or bytes in use at an age of the container. */
export function usageAt(
  usage: Usage,
  at: { ageMs: number; requestsPerSecond: number; requested: number },
): number {
  const { amount, perRequest } = stepAt(usage, at.ageMs)
  return unitsOf(amount, at.requested) + unitsOf(perRequest, at.requested) * at.requestsPerSecond
}

/** What one HTTP request adds at an age of the container: core seconds, or bytes for each request a second. */
export function usageOfRequest(usage: Usage, at: { ageMs: number; requested: number }): number {
  return unitsOf(stepAt(usage, at.ageMs).perRequest, at.requested)
}

/** The first age from `fromMs` on at which the amount, without what requests add, exceeds the limit. Undefined: it never does. */
export function firstAgeAbove(
  usage: Usage,
  { fromMs, requested, limit }: { fromMs: number; requested: number; limit: number },
): number | undefined {
  const periodMs = periodOf(usage)
  const roundMs = periodMs === undefined ? 0 : Math.floor(fromMs / periodMs) * periodMs
  // A step that is over in this round comes again in the next.
  for (const firstMs of periodMs === undefined ? [0] : [roundMs, roundMs + periodMs]) {
    let startMs = firstMs
    for (const { amount, forMs = Infinity } of usage) {
      const endMs = startMs + forMs
      if (endMs > fromMs && unitsOf(amount, requested) > limit) return Math.max(startMs, fromMs)
      startMs = endMs
    }
  }
  return undefined
}

/** Unit seconds from the start to an age, without what requests add. */
function sumUntil(usage: Usage, ageMs: number, requested: number): number {
  const periodMs = periodOf(usage)
  const partSum = (untilMs: number): number => {
    let leftMs = untilMs
    let sum = 0
    for (const { amount, forMs = Infinity } of usage) {
      sum += (unitsOf(amount, requested) * Math.min(leftMs, forMs)) / 1000
      leftMs -= forMs
      if (leftMs <= 0) break
    }
    return sum
  }
  if (periodMs === undefined) return partSum(ageMs)
  return Math.floor(ageMs / periodMs) * partSum(periodMs) + partSum(ageMs % periodMs)
}

/** Unit seconds between two ages of the container, without what requests add. */
export function usageBetween(
  usage: Usage,
  between: { fromMs: number; toMs: number; requested: number },
): number {
  const { fromMs, toMs, requested } = between
  return sumUntil(usage, toMs, requested) - sumUntil(usage, fromMs, requested)
}
