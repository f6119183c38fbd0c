/** compare-versions: the order of version names. */

/** Stable before beta before alpha, newer before older, other names last by name (upstream: version.CompareKubeAwareVersionStrings). */
export function compareVersions(a: string, b: string): number {
  const left = rank(a)
  const right = rank(b)
  if (left === undefined || right === undefined) {
    if (left === right) return a < b ? -1 : a > b ? 1 : 0
    return left === undefined ? 1 : -1
  }
  return right.stage - left.stage || right.major - left.major || right.minor - left.minor
}

function rank(version: string): { stage: number; major: number; minor: number } | undefined {
  const match = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/.exec(version)
  if (match === null) return undefined
  const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0
  return { stage, major: Number(match[1]), minor: Number(match[3] ?? 0) }
}
