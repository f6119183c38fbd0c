/**
 * The deprecation rules (specification: "Deprecation rules") as checks of lifecycle data. Each takes entries and gives what
 * is wrong with them: the entry, the rule it breaks, and how. Rule 1 is in schema-changes.ts, rule 2 is a property of
 * conversions, rules 6 and 10 are those of components when they read their flags.
 */
import { compareReleases } from '../lifecycle.ts'
import { lasts, spanBetween, type Span } from './release-calendar.ts'
import { compareStability, compareVersions, stabilityOf, type Stability } from './stability.ts'

export interface Fault {
  readonly entry: string
  readonly rule: string
  /** One sentence that names both. */
  readonly message: string
}

/** One kind in one version. */
export interface ApiVersionEntry {
  /** `batch/v1beta1`. */
  readonly groupVersion: string
  readonly kind: string
  readonly introduced: string
  readonly deprecated?: string
  readonly removed?: string
  /** The version (and kind) to use instead: `batch/v1 CronJob`. */
  readonly replacement?: string
  /** What the successor changed, with how to migrate. */
  readonly changes?: readonly { readonly what: string; readonly migration?: string }[]
}

/** A flag, command or argument. */
export interface CliEntry {
  readonly name: string
  /** Users have client tools, administrators have components. */
  readonly audience: 'user' | 'admin'
  readonly stability: Stability
  readonly deprecated?: string
  readonly removed?: string
  readonly replacement?: { readonly name: string; readonly stability: Stability }
}

export interface BehaviorEntry {
  readonly name: string
  readonly stability: Stability
  readonly deprecated: string
  readonly removed?: string
  readonly replacement?: { readonly name: string; readonly stability: Stability }
}

/** The releases in which a gate reached each stage. */
export interface GateEntry {
  readonly name: string
  readonly alpha?: string
  readonly beta?: string
  readonly ga?: string
  /** A gate without a future, be its feature alpha or beta. */
  readonly deprecated?: string
  readonly removed?: string
}

export interface MetricEntry {
  readonly name: string
  readonly stability: 'ALPHA' | 'BETA' | 'STABLE'
  readonly introduced: string
  readonly deprecated?: string
  readonly removed?: string
}

type Report = (rule: string, why: string) => void

function collect<Entry>(
  entries: readonly Entry[],
  nameOf: (entry: Entry) => string,
  check: (entry: Entry, report: Report) => void,
): Fault[] {
  return entries.flatMap((entry) => {
    const name = nameOf(entry)
    const faults: Fault[] = []
    check(entry, (rule, why) => {
      faults.push({ entry: name, rule, message: `${name} breaks ${rule}: ${why}` })
    })
    return faults
  })
}

function spanText({ months, releases }: Span): string {
  return `${months} months and ${releases} release${releases === 1 ? '' : 's'}`
}

/** Reports a time from `from` to `to` that is shorter than it has to be. */
function needSpan(
  at: { from: string; to: string; needed: Span; what: string },
  report: (why: string) => void,
): void {
  const span = spanBetween(at.from, at.to)
  if (lasts(span, at.needed)) return
  report(`${at.what} lasts ${spanText(span)}, not ${spanText(at.needed)}`)
}

function checkOrder(
  dates: Readonly<Record<string, string | undefined>>,
  report: (why: string) => void,
): void {
  const known = Object.entries(dates).filter(
    (date): date is [string, string] => date[1] !== undefined,
  )
  for (const [index, [name, release]] of known.entries()) {
    const before = known[index - 1]
    if (before !== undefined && compareReleases(before[1], release) > 0) {
      report(`${name} in ${release} comes before ${before[0]} in ${before[1]}`)
    }
  }
}

const betaSpan: Span = { months: 9, releases: 3 }

/** Betas that came before this release were bound to an end only by their replacement. */
const firstBoundRelease = '1.22'

function checkBeta(entry: ApiVersionEntry, report: Report): void {
  const { introduced, deprecated, removed, changes = [] } = entry
  for (const { what, migration = '' } of changes) {
    if (migration === '') report('the migration rule of betas', `${what} has no migration note`)
  }
  const isBound = compareReleases(introduced, firstBoundRelease) >= 0
  const tooLong = (from: string, to: string): boolean => {
    const { months, releases } = spanBetween(from, to)
    return months > betaSpan.months && releases > betaSpan.releases
  }
  if (deprecated === undefined) {
    if (isBound) report('rule 4a', 'a beta says from the start when it will be deprecated')
    return
  }
  if (isBound && tooLong(introduced, deprecated)) {
    report('rule 4a', `a beta of ${introduced} is deprecated later than 3 releases on`)
  }
  if (removed === undefined) {
    report('rule 4a', 'a deprecated beta says when it will be removed')
    return
  }
  const at = { from: deprecated, to: removed, needed: betaSpan, what: 'its deprecation' }
  needSpan(at, (why) => report('rule 4a', why))
  if (isBound && tooLong(deprecated, removed)) {
    report('rule 4a', `a beta deprecated in ${deprecated} is served longer than 3 releases on`)
  }
}

function versionOf(groupVersion: string): string {
  return groupVersion.slice(groupVersion.indexOf('/') + 1)
}

/** Rules 3 and 4a: replacements, and when a version may be deprecated and removed. */
export function apiVersionFaults(entries: readonly ApiVersionEntry[]): Fault[] {
  const nameOf = (entry: ApiVersionEntry) => `${entry.groupVersion} ${entry.kind}`
  return collect(entries, nameOf, (entry, report) => {
    const { introduced, deprecated, removed, replacement } = entry
    const stability = stabilityOf(versionOf(entry.groupVersion))
    if (stability === undefined) {
      report('the naming rule', 'versions are named v1, v1beta1 or v1alpha1')
      return
    }
    checkOrder({ introduced, deprecated, removed }, (why) => report('the order of releases', why))
    if (replacement !== undefined) {
      const [groupVersion = ''] = replacement.split(' ')
      const other = stabilityOf(versionOf(groupVersion))
      if (other === undefined || compareStability(other, stability) < 0) {
        report('rule 3', `its replacement ${replacement} is less stable`)
      }
    }
    if (stability === 'BETA') checkBeta(entry, report)
    if (stability === 'GA' && removed !== undefined) {
      const [major] = removed.split('.')
      if (major === introduced.split('.')[0]) {
        report('rule 4a', `a stable version is not removed within major version ${major}`)
      }
    }
  })
}

/** Rule 4b: what a release stores, the release before could read. Versions of one kind at a time, with what each release stores. */
export function storageFaults(
  kind: string,
  steps: readonly {
    readonly release: string
    readonly served: readonly string[]
    readonly storage: string | undefined
  }[],
): Fault[] {
  return collect(
    steps.slice(1).map((step, index) => ({ step, before: steps[index] })),
    ({ step }) => `${kind} in ${step.release}`,
    ({ step, before }, report) => {
      const { storage } = step
      // Alpha versions promise nothing, so there is nothing to roll back to.
      const stable = before?.served.filter((version) => stabilityOf(version) !== 'ALPHA') ?? []
      if (storage === undefined || stable.length === 0 || before === undefined) return
      if (!before.served.includes(storage)) {
        report('rule 4b', `${storage} is stored, which ${before.release} did not serve`)
      }
      const stored = before.storage ?? ''
      if (stabilityOf(stored) === undefined || stabilityOf(stored) === 'ALPHA') return
      if (!step.served.includes(stored)) {
        report('rule 4b', `${stored} was stored until now, and is gone`)
      }
      if (compareVersions(storage, stored) < 0) {
        report('rule 4b', `${storage} is stored after ${stored}`)
      }
    },
  )
}

const cliSpans: Readonly<
  Record<CliEntry['audience'], { rule: string; spans: Record<Stability, Span> }>
> = {
  user: {
    rule: 'rule 5a',
    spans: {
      GA: { months: 12, releases: 2 },
      BETA: { months: 3, releases: 1 },
      ALPHA: { months: 0, releases: 0 },
    },
  },
  admin: {
    rule: 'rule 5b',
    spans: {
      GA: { months: 6, releases: 1 },
      BETA: { months: 3, releases: 1 },
      ALPHA: { months: 0, releases: 0 },
    },
  },
}

function checkReplacement(
  entry: Pick<CliEntry, 'stability' | 'replacement'>,
  report: (why: string) => void,
): void {
  const { stability, replacement } = entry
  if (replacement === undefined || compareStability(replacement.stability, stability) >= 0) return
  report(`its replacement ${replacement.name} is ${replacement.stability}, less than ${stability}`)
}

/** Rules 5a, 5b and 5c. */
export function cliFaults(entries: readonly CliEntry[]): Fault[] {
  return collect(
    entries,
    ({ name }) => name,
    (entry, report) => {
      const { deprecated, removed, stability, audience } = entry
      const { rule, spans } = cliSpans[audience]
      checkReplacement(entry, (why) => report('rule 5c', why))
      if (removed === undefined) return
      const needed = spans[stability]
      if (deprecated === undefined) {
        if (stability !== 'ALPHA') report(rule, `it is removed in ${removed} without a deprecation`)
        return
      }
      const at = { from: deprecated, to: removed, needed, what: 'its deprecation' }
      needSpan(at, (why) => report(rule, why))
    },
  )
}

/** Rules 7 and 8. */
export function behaviorFaults(entries: readonly BehaviorEntry[]): Fault[] {
  return collect(
    entries,
    ({ name }) => name,
    (entry, report) => {
      checkReplacement(entry, (why) => report('rule 8', why))
      if (entry.removed === undefined) return
      const needed = { months: 12, releases: 0 }
      const at = { from: entry.deprecated, to: entry.removed, needed, what: 'its deprecation' }
      needSpan(at, (why) => report('rule 7', why))
    },
  )
}

const gateGaSpan: Span = { months: 6, releases: 2 }
const gateBetaSpan: Span = { months: 3, releases: 1 }

/** Rule 9: how long a gate stays after its feature became stable or was dropped. */
export function gateFaults(entries: readonly GateEntry[]): Fault[] {
  return collect(
    entries,
    ({ name }) => name,
    (entry, report) => {
      const { alpha, beta, ga, deprecated, removed } = entry
      checkOrder({ alpha, beta, ga, removed }, (why) => report('the order of releases', why))
      if (removed === undefined) return
      if (ga !== undefined) {
        const at = { from: ga, to: removed, needed: gateGaSpan, what: 'its time as a GA gate' }
        needSpan(at, (why) => report('rule 9', why))
        return
      }
      if (beta === undefined) return
      if (deprecated === undefined) {
        report('rule 9', `a beta gate is removed in ${removed} without a deprecation`)
        return
      }
      const at = { from: deprecated, to: removed, needed: gateBetaSpan, what: 'its deprecation' }
      needSpan(at, (why) => report('rule 9', why))
    },
  )
}

const metricSpans: Readonly<Record<MetricEntry['stability'], { life: Span; deprecation: Span }>> = {
  STABLE: { life: { months: 12, releases: 4 }, deprecation: { months: 9, releases: 3 } },
  BETA: { life: { months: 8, releases: 2 }, deprecation: { months: 4, releases: 1 } },
  ALPHA: { life: { months: 0, releases: 0 }, deprecation: { months: 0, releases: 0 } },
}

/** Rules 11a and 11b. */
export function metricFaults(entries: readonly MetricEntry[]): Fault[] {
  return collect(
    entries,
    ({ name }) => name,
    (entry, report) => {
      const { introduced, deprecated, removed, stability } = entry
      checkOrder({ introduced, deprecated, removed }, (why) => report('the order of releases', why))
      if (removed === undefined) return
      const { life, deprecation } = metricSpans[stability]
      const whole = { from: introduced, to: removed, needed: life, what: 'its life' }
      needSpan(whole, (why) => report('rule 11a', why))
      if (deprecated === undefined) {
        if (stability !== 'ALPHA') {
          report('rule 11b', `it is removed in ${removed} without a deprecation`)
        }
        return
      }
      const last = { from: deprecated, to: removed, needed: deprecation, what: 'its deprecation' }
      needSpan(last, (why) => report('rule 11b', why))
    },
  )
}
