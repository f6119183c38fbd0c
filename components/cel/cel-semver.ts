/** Semantic versions in expressions that choose devices (upstream: staging/src/k8s.io/apiserver/pkg/cel/library/semverlib.go). */
import { box, createLibrary, unbox, type Library } from './cel-library.ts'
import { bool, int, opaque, string } from './cel-types.ts'
import type { CelMap } from '@bufbuild/cel'
import { parseSemver, type Semver } from '../machinery/validation/semver.ts'

export const semverType = opaque('kubernetes.Semver')

/** The box of a version; metadata of the build does not count. Throws an Error for a text that is no version. */
export function semverBox(text: string): Record<string, string> {
  if (parseSemver(text) === undefined) throw new Error(`parse semantic version: ${text}`)
  return box(semverType, text.replace(/\+.*$/, ''))
}

const versionOf = (value: CelMap): Semver => parseSemver(unbox(semverType, value)) as Semver

function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  // What has fewer comes first.
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1
  const [isLeftNumber, isRightNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isLeftNumber && isRightNumber) return sign(BigInt(a), BigInt(b))
  if (isLeftNumber !== isRightNumber) return isLeftNumber ? -1 : 1
  return sign(a, b)
}

function sign<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Negative when `a` is the older version. */
export function compareSemver(a: CelMap, b: CelMap): number {
  const [left, right] = [versionOf(a), versionOf(b)]
  for (const [i, part] of left.numbers.entries()) {
    const order = sign(part, right.numbers[i] ?? 0n)
    if (order !== 0) return order
  }
  const [pre, other] = [left.preRelease, right.preRelease]
  if (pre.length === 0 || other.length === 0)
    return sign(String(pre.length === 0), String(other.length === 0))
  for (let i = 0; i < Math.max(pre.length, other.length); i++) {
    const order = compareIdentifiers(pre[i], other[i])
    if (order !== 0) return order
  }
  return 0
}

/** Functions that only expressions about devices have. */
export const deviceFunctions: ReadonlySet<string> = new Set(['semver', 'isSemver'])

const { define, method, overload, library } = createLibrary()

define('semver', [[string], semverType], (text: string) => semverBox(text))
define('isSemver', [[string], bool], (text: string) => parseSemver(text) !== undefined)
for (const [i, name] of ['major', 'minor', 'patch'].entries()) {
  method(name, [semverType, [], int], (value: CelMap) => versionOf(value).numbers[i] ?? 0n)
}
// The functions of quantities compare versions, too: at run time both are maps.
overload({ name: 'compareTo', target: semverType, arguments: [semverType], result: int })
overload({ name: 'isGreaterThan', target: semverType, arguments: [semverType], result: bool })
overload({ name: 'isLessThan', target: semverType, arguments: [semverType], result: bool })

/** These functions. */
export const semverLibrary: Library = library
