/** Ranges of costs and sizes; larger values saturate at the largest (upstream: 64 bits, without overflow). */

export interface Range {
  readonly min: number
  readonly max: number
}

const largest = 2 ** 64

const bounded = (value: number): number => Math.min(value, largest)

export const fixed = (value: number): Range => ({ min: value, max: value })

export const nothing = fixed(0)

/** Of what nothing is known. */
export const atLeastUnknown: Range = { min: 0, max: largest }

export function plus(a: Range, b: Range): Range {
  return { min: bounded(a.min + b.min), max: bounded(a.max + b.max) }
}

export function times(a: Range, b: Range): Range {
  return { min: bounded(a.min * b.min), max: bounded(a.max * b.max) }
}

/** Rounded up. */
export function byFactor(size: Range, factor: number): Range {
  return { min: bounded(Math.ceil(size.min * factor)), max: bounded(Math.ceil(size.max * factor)) }
}

export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }
}
