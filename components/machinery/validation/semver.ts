/** Semantic versions (semver.org, 2.0.0). */

const identifier = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)'
const number = '(0|[1-9]\\d*)'
const form = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
)
/** Longer texts are none. */
const longest = 256

export interface Semver {
  readonly numbers: readonly bigint[]
  /** Empty for a release. */
  readonly preRelease: readonly string[]
}

/** Undefined for a text that is no version. */
export function parseSemver(text: string): Semver | undefined {
  const [, major, minor, patch, pre] = (text.length > longest ? null : form.exec(text)) ?? []
  if (major === undefined || minor === undefined || patch === undefined) return undefined
  return {
    numbers: [BigInt(major), BigInt(minor), BigInt(patch)],
    preRelease: pre === undefined ? [] : pre.split('.'),
  }
}

export function isSemver(text: string): boolean {
  return parseSemver(text) !== undefined
}
