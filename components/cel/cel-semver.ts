/** Semantic versions in expressions that choose devices (upstream: staging/src/k8s.io/apiserver/pkg/cel/library/semverlib.go). */
import { box, createLibrary, unbox, type Library } from './cel-library.ts'
import { bool, int, opaque, string } from './cel-types.ts'
import type { CelMap } from '@bufbuild/cel'

export const semverType = opaque('kubernetes.Semver')

const identifier = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)'
const number = '(0|[1-9]\\d*)'
const form = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
)
/** Longer texts are none (upstream: the longest attribute). */
const longest = 256

interface Version {
  readonly numbers: readonly bigint[]
  /** Empty for a release. */
  readonly preRelease: readonly string[]
}

function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch, pre] = (text.length > longest ? null : form.exec(text)) ?? []
  if (major === undefined || minor === undefined || patch === undefined) return undefined
  return {
    numbers: [BigInt(major), BigInt(minor), BigInt(patch)],
    preRelease: pre === undefined ? [] : pre.split('.'),
  }
}

/** The box of a version; metadata of the build does not count. Throws an Error for a text that is no version. */
export function semverBox(text: string): Record<string, string> {
  if (parseVersion(text) === undefined) throw new Error(`parse semantic version: ${text}`)
  return box(semverType, text.replace(/\+.*$/, ''))
}

const versionOf = (value: CelMap): Version => parseVersion(unbox(semverType, value)) as Version

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
define('isSemver', [[string], bool], (text: string) => parseVersion(text) !== undefined)
for (const [i, name] of ['major', 'minor', 'patch'].entries()) {
  method(name, [semverType, [], int], (value: CelMap) => versionOf(value).numbers[i] ?? 0n)
}
// The functions of quantities compare versions, too: at run time both are maps.
overload({ name: 'compareTo', target: semverType, arguments: [semverType], result: int })
overload({ name: 'isGreaterThan', target: semverType, arguments: [semverType], result: bool })
overload({ name: 'isLessThan', target: semverType, arguments: [semverType], result: bool })

/** These functions. */
export const semverLibrary: Library = library
