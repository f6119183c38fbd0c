/** Levels of stability, and how a version's name gives its level. */

export type Stability = 'ALPHA' | 'BETA' | 'GA'

const ranks: Readonly<Record<Stability, number>> = { ALPHA: 0, BETA: 1, GA: 2 }

/** Negative when `a` is less stable than `b`. */
export function compareStability(a: Stability, b: Stability): number {
  return ranks[a] - ranks[b]
}

const form = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/

/** `v1beta2` -> BETA; undefined for what is no version. */
export function stabilityOf(version: string): Stability | undefined {
  const [matched, , stage] = form.exec(version) ?? []
  if (matched === undefined) return undefined
  return stage === undefined ? 'GA' : stage === 'beta' ? 'BETA' : 'ALPHA'
}

/** Order of preference: positive when `a` is preferred, by stability, then by number (upstream: apimachinery pkg/version). */
export function compareVersions(a: string, b: string): number {
  const [, majorA, , minorA = '0'] = form.exec(a) ?? []
  const [, majorB, , minorB = '0'] = form.exec(b) ?? []
  return (
    compareStability(stabilityOf(a) ?? 'ALPHA', stabilityOf(b) ?? 'ALPHA') ||
    Number(majorA) - Number(majorB) ||
    Number(minorA) - Number(minorB)
  )
}
