/** The deprecation rules, on right and wrong entries and on the product's own data. */
import { describe, expect, it } from 'vitest'
import { compareReleases } from '../../../components/api/lifecycle.ts'
import {
  apiVersionFaults,
  behaviorFaults,
  cliFaults,
  gateFaults,
  metricFaults,
  storageFaults,
  type ApiVersionEntry,
  type BehaviorEntry,
  type CliEntry,
  type Fault,
  type GateEntry,
  type MetricEntry,
} from '../../../components/api/lifecycles/deprecation-rules.ts'
import {
  apiVersionEntries,
  behaviorEntries,
  cliEntries,
  gateEntries,
  metricEntries,
} from '../../../components/api/lifecycles/lifecycles.ts'
import { dialects } from '../../../components/api/dialect.ts'
import { releaseAfter } from '../../../components/api/lifecycles/release-calendar.ts'
import { resourcesOf } from '../../../components/api/resources.ts'
import { versionsAt } from '../../../components/api/lifecycles/version-timeline.ts'
import { servedRelease } from '../../../components/api/lifecycle.ts'
import { stabilityOf } from '../../../components/api/lifecycles/stability.ts'

const rules = (faults: readonly Fault[]): string[] => faults.map(({ rule }) => rule)
const version = (groupVersion: string, more: Partial<ApiVersionEntry> = {}): ApiVersionEntry => ({
  groupVersion,
  kind: 'Widget',
  introduced: '1.24',
  ...more,
})
const check = (groupVersion: string, more: Partial<ApiVersionEntry> = {}) =>
  rules(apiVersionFaults([version(groupVersion, more)]))

describe('versions of the API', () => {
  it('a fault names the entry and the rule', () => {
    expect(apiVersionFaults([version('batch/v1', { removed: '1.30' })])).toEqual([
      {
        entry: 'batch/v1 Widget',
        rule: 'rule 4a',
        message:
          'batch/v1 Widget breaks rule 4a: a stable version is not removed within major version 1',
      },
    ])
  })

  it('[VER-003][VER-030] an alpha version may go in any release, with or without a deprecation', () => {
    for (const removed of ['1.24', '1.25', '1.26', '1.31', '1.40']) {
      expect(check('batch/v1alpha1', { removed })).toEqual([])
      expect(check('batch/v1alpha1', { deprecated: '1.24', removed })).toEqual([])
    }
    expect(check('batch/v1beta1', { deprecated: '1.24', removed: '1.25' })).not.toEqual([])
    const removals = apiVersionEntries().filter(
      ({ groupVersion, removed }) => groupVersion.includes('alpha') && removed !== undefined,
    )
    expect(removals.length).toBeGreaterThan(5)
    expect(apiVersionFaults(removals)).toEqual([])
  })

  it('[VER-006][VER-029] a beta is deprecated in at most 9 months or 3 releases, and then served for as long', () => {
    const beta = (deprecated?: string, removed?: string) =>
      check('batch/v1beta1', {
        ...(deprecated === undefined ? {} : { deprecated }),
        ...(removed === undefined ? {} : { removed }),
      })
    for (const [deprecated, removed] of [
      ['1.25', '1.28'],
      ['1.26', '1.29'],
      ['1.27', '1.30'],
    ]) {
      expect(beta(deprecated, removed), deprecated).toEqual([])
    }
    expect(beta()).toEqual(['rule 4a'])
    expect(beta('1.27')).toEqual(['rule 4a'])
    expect(beta('1.28', '1.31')).toEqual(['rule 4a'])
    expect(beta('1.27', '1.29')).toEqual(['rule 4a'])
    expect(beta('1.27', '1.31')).toEqual(['rule 4a'])
    // Three releases came within nine months in 2018.
    const early = { introduced: '1.9', deprecated: '1.11', removed: '1.14' }
    expect(check('batch/v1beta1', early)).toEqual([])
    expect(check('batch/v1beta1', { ...early, removed: '1.13' })).toEqual(['rule 4a'])

    const betas = apiVersionEntries().filter(({ groupVersion }) => groupVersion.includes('beta'))
    expect(betas.length).toBeGreaterThan(60)
    // Upstream kept the older form of aggregated discovery, which is no endpoint, for clients of 1.26.
    expect(apiVersionFaults(betas).map(({ entry }) => entry)).toEqual([
      'apidiscovery/v2beta1 APIGroupDiscovery',
    ])
  })

  it('[VER-007] a change of a beta says how to migrate', () => {
    const dates = { deprecated: '1.26', removed: '1.29', replacement: 'batch/v1 Widget' }
    const what = 'spec.size is spec.replicas'
    const noted = { ...dates, changes: [{ what, migration: 'Rename it.' }] }
    expect(check('batch/v1beta1', noted)).toEqual([])
    expect(check('batch/v1beta1', { ...dates, changes: [{ what }] })).toEqual([
      'the migration rule of betas',
    ])
    const changed = apiVersionEntries().filter(({ changes }) => changes !== undefined)
    expect(changed.length).toBeGreaterThan(15)
    for (const { groupVersion, changes = [] } of changed) {
      expect(groupVersion).toMatch(/beta/)
      for (const { migration = '' } of changes) expect(migration).toMatch(/^[A-Z].*\.$/)
    }
  })

  it('[VER-009][VER-028] a stable version may be deprecated, and is not removed within the major version', () => {
    expect(check('batch/v1', { deprecated: '1.30' })).toEqual([])
    expect(check('batch/v1', { deprecated: '1.30', removed: '1.99' })).toEqual(['rule 4a'])
    expect(check('batch/v1', { deprecated: '1.30', removed: '2.0' })).not.toContain('rule 4a')
    const stable = apiVersionEntries().filter(({ groupVersion }) => /\/v\d+$/.test(groupVersion))
    expect(stable.length).toBeGreaterThan(50)
    expect(apiVersionFaults(stable)).toEqual([])
    expect(stable.filter(({ removed }) => removed !== undefined)).toEqual([])
  })

  it('[VER-018] a beta that a newer beta or a stable version replaces is deprecated then or later, and removed after that', () => {
    const entries = apiVersionEntries()
    const rank = (groupVersion: string): number => {
      const [, major, level = '', minor] = /v(\d+)(alpha|beta)?(\d*)$/.exec(groupVersion) ?? []
      return (
        Number(major) * 1000 + (level === '' ? 500 : level === 'beta' ? 100 + Number(minor) : 0)
      )
    }
    const group = (groupVersion: string): string => groupVersion.split('/')[0] ?? ''
    let replaced = 0
    for (const { groupVersion, kind, deprecated = '', removed = '' } of entries) {
      if (!groupVersion.includes('beta')) continue
      const newer = entries.filter(
        (other) =>
          other.kind === kind &&
          group(other.groupVersion) === group(groupVersion) &&
          !other.groupVersion.includes('alpha') &&
          rank(other.groupVersion) > rank(groupVersion),
      )
      const [first] = newer.map(({ introduced }) => introduced).toSorted(compareReleases)
      if (first === undefined) continue
      replaced += 1
      expect(compareReleases(deprecated, first), `${groupVersion} ${kind}`).toBeGreaterThanOrEqual(
        0,
      )
      expect(compareReleases(removed, deprecated), `${groupVersion} ${kind}`).toBeGreaterThan(0)
    }
    expect(replaced).toBeGreaterThan(30)
  })

  it('[VER-027] a replacement is at least as stable', () => {
    const dates = { deprecated: '1.25', removed: '1.28' }
    expect(check('batch/v1', { deprecated: '1.25', replacement: 'batch/v2beta1' })).toEqual([
      'rule 3',
    ])
    for (const [replacement, faults] of [
      ['batch/v1 Widget', []],
      ['batch/v1beta2 Widget', []],
      ['batch/v2alpha1 Widget', ['rule 3']],
      ['batch/latest Widget', ['rule 3']],
    ] as const) {
      expect(check('batch/v1beta1', { ...dates, replacement }), replacement).toEqual(faults)
    }
    const replaced = apiVersionEntries().filter(({ replacement }) => replacement !== undefined)
    expect(replaced.length).toBeGreaterThan(50)
    expect(rules(apiVersionFaults(replaced))).not.toContain('rule 3')
  })

  it('dates come in order, and versions are named by their level', () => {
    expect(check('batch/v1', { deprecated: '1.20' })).toEqual(['the order of releases'])
    expect(check('batch/v1gamma1')).toEqual(['the naming rule'])
  })

  it('[VER-031] what is stored could be read by the release before', () => {
    const storage = (before: string[], stored: string, served: string[], now: string) =>
      rules(
        storageFaults('Widget', [
          { release: '1.30', served: before, storage: stored },
          { release: '1.31', served, storage: now },
        ]),
      )
    expect(storage(['v1', 'v1beta1'], 'v1beta1', ['v1', 'v1beta1'], 'v1')).toEqual([])
    expect(storage(['v1beta1'], 'v1beta1', ['v1', 'v1beta1'], 'v1')).toEqual(['rule 4b'])
    expect(storage(['v1', 'v1beta1'], 'v1beta1', ['v1'], 'v1')).toEqual(['rule 4b'])
    expect(storage(['v1', 'v1beta1'], 'v1', ['v1', 'v1beta1'], 'v1beta1')).toEqual(['rule 4b'])
    expect(storage(['v1alpha1'], 'v1alpha1', ['v1beta1', 'v1alpha1'], 'v1beta1')).toEqual([])

    const kinds = Map.groupBy(
      apiVersionEntries().filter(({ introduced }) => introduced !== servedRelease),
      ({ groupVersion, kind }) => `${groupVersion.split('/')[0]} ${kind}`,
    )
    const several = [...kinds].filter(([, entries]) => entries.length > 1)
    expect(several.length).toBeGreaterThan(20)
    for (const [kind, entries] of several) {
      const lives = entries.map(({ groupVersion, ...life }) => ({
        ...life,
        version: groupVersion.split('/')[1] ?? '',
      }))
      const steps = Array.from({ length: 33 }, (_, minor) => `1.${minor}`).map((release) => ({
        release,
        ...versionsAt(lives, release),
      }))
      expect(storageFaults(kind, steps)).toEqual([])
    }

    // What this server writes, the release before can read after a roll-back: it served the stored version, too.
    const previous = releaseAfter(servedRelease, -1)
    const unreadable = resourcesOf(dialects.kubernetes)
      .all.filter(({ virtual }) => !virtual)
      .filter(({ kind, package: own, storageVersion }) => {
        const [group] = own.split('/')
        const [storedGroup, stored = ''] = storageVersion.package.split('/')
        const livesIn = (name: string | undefined) =>
          apiVersionEntries()
            .filter((entry) => entry.kind === kind && entry.groupVersion.startsWith(`${name}/`))
            .map(({ groupVersion, ...life }) => ({
              ...life,
              version: groupVersion.split('/')[1] ?? '',
            }))
        const before = versionsAt(livesIn(group), previous).served
        const isNew = before.every((one) => stabilityOf(one) === 'ALPHA')
        return !isNew && !versionsAt(livesIn(storedGroup), previous).served.includes(stored)
      })
    expect(unreadable.map(({ package: own, kind }) => `${own} ${kind}`)).toEqual([])
  })
})

describe('flags and commands', () => {
  const entry = (more: Partial<CliEntry>): CliEntry => ({
    name: 'skiff --old',
    audience: 'user',
    stability: 'GA',
    ...more,
  })
  const spans = (more: Partial<CliEntry>, removals: Record<string, string[]>): void => {
    for (const [removed, faults] of Object.entries(removals)) {
      expect(rules(cliFaults([entry({ ...more, removed })])), removed).toEqual(faults)
    }
  }

  it('[VER-036] what users type works on after its deprecation', () => {
    const deprecated = '1.28'
    spans({ deprecated }, { '1.29': ['rule 5a'], '1.30': ['rule 5a'], '1.31': [], '1.40': [] })
    spans({ deprecated, stability: 'BETA' }, { '1.28': ['rule 5a'], '1.29': [] })
    spans({ deprecated, stability: 'ALPHA' }, { '1.28': [] })
    spans({}, { '1.40': ['rule 5a'] })
    spans({ stability: 'ALPHA' }, { '1.28': [] })
    // Releases came every three months then: twelve months are four of them.
    spans({ deprecated: '1.9' }, { '1.12': ['rule 5a'], '1.13': [] })
    expect(cliFaults(cliEntries())).toEqual([])
  })

  it('[VER-037] flags of components work on after their deprecation', () => {
    const more = { audience: 'admin', deprecated: '1.28' } as const
    spans(more, { '1.28': ['rule 5b'], '1.29': ['rule 5b'], '1.30': [] })
    spans({ ...more, stability: 'BETA' }, { '1.28': ['rule 5b'], '1.29': [] })
    spans({ ...more, stability: 'ALPHA' }, { '1.28': [] })
    expect(cliEntries().filter(({ audience }) => audience === 'admin').length).toBeGreaterThan(0)
    expect(cliFaults(cliEntries())).toEqual([])
  })

  it('[VER-038] their replacement is at least as stable', () => {
    const by = (stability: CliEntry['stability'], replacing: CliEntry['stability']) =>
      rules(cliFaults([entry({ stability, replacement: { name: '--new', stability: replacing } })]))
    expect(by('GA', 'GA')).toEqual([])
    expect(by('BETA', 'GA')).toEqual([])
    expect(by('GA', 'BETA')).toEqual(['rule 5c'])
    expect(by('BETA', 'ALPHA')).toEqual(['rule 5c'])
  })
})

describe('behaviours', () => {
  const entry = (more: Partial<BehaviorEntry>): BehaviorEntry => ({
    name: 'a default',
    stability: 'GA',
    deprecated: '1.28',
    ...more,
  })

  it('[VER-041] a deprecated behaviour works for a year', () => {
    expect(rules(behaviorFaults([entry({ removed: '1.30' })]))).toEqual(['rule 7'])
    expect(behaviorFaults([entry({ removed: '1.31' })])).toEqual([])
    expect(behaviorFaults([entry({})])).toEqual([])
    expect(behaviorEntries.filter(({ removed }) => removed !== undefined)).not.toEqual([])
    expect(behaviorFaults(behaviorEntries)).toEqual([])
  })

  it('[VER-042] its alternative is at least as stable', () => {
    const beta = { name: 'another', stability: 'BETA' } as const
    expect(rules(behaviorFaults([entry({ replacement: beta })]))).toEqual(['rule 8'])
    expect(behaviorFaults([entry({ stability: 'BETA', replacement: beta })])).toEqual([])
    expect(behaviorEntries.filter(({ replacement }) => replacement !== undefined)).not.toEqual([])
    expect(behaviorFaults(behaviorEntries)).toEqual([])
  })
})

describe('feature gates', () => {
  const faults = (more: Omit<GateEntry, 'name'>) => rules(gateFaults([{ name: 'Gate', ...more }]))

  it('[VER-043] stay for their time after they became stable or were dropped', () => {
    const stages = { alpha: '1.24', beta: '1.26' }
    expect(faults({ ...stages, ga: '1.28', removed: '1.29' })).toEqual(['rule 9'])
    expect(faults({ ...stages, ga: '1.28', removed: '1.30' })).toEqual([])
    expect(faults({ ...stages, deprecated: '1.28', removed: '1.28' })).toEqual(['rule 9'])
    expect(faults({ ...stages, deprecated: '1.28', removed: '1.29' })).toEqual([])
    expect(faults({ ...stages, removed: '1.29' })).toEqual(['rule 9'])
    expect(faults({ alpha: '1.24', removed: '1.24' })).toEqual([])
    expect(faults({ alpha: '1.26', beta: '1.24' })).toEqual(['the order of releases'])
    const removed = gateEntries().filter((gate) => gate.removed !== undefined)
    expect(removed.length).toBeGreaterThan(3)
    expect(gateFaults(gateEntries())).toEqual([])
  })
})

describe('metrics', () => {
  const faults = (more: Partial<MetricEntry>) =>
    rules(metricFaults([{ name: 'metric', stability: 'STABLE', introduced: '1.20', ...more }]))

  it('[VER-047] live as long as their level promises', () => {
    const short = { introduced: '1.24', deprecated: '1.24' }
    expect(faults({ ...short, removed: '1.27' })).toContain('rule 11a')
    expect(faults({ ...short, removed: '1.28' })).toEqual([])
    const beta = { introduced: '1.25', deprecated: '1.25', stability: 'BETA' } as const
    expect(faults({ ...beta, removed: '1.26' })).toContain('rule 11a')
    expect(faults({ ...beta, removed: '1.27' })).toEqual([])
    expect(faults({ ...short, stability: 'ALPHA', removed: '1.24' })).toEqual([])
    expect(metricFaults(metricEntries())).toEqual([])
  })

  it('[VER-048] live on after their deprecation', () => {
    expect(faults({ deprecated: '1.28', removed: '1.30' })).toEqual(['rule 11b'])
    expect(faults({ deprecated: '1.28', removed: '1.31' })).toEqual([])
    expect(faults({ removed: '1.31' })).toEqual(['rule 11b'])
    const beta = { stability: 'BETA', deprecated: '1.28' } as const
    expect(faults({ ...beta, removed: '1.28' })).toEqual(['rule 11b'])
    expect(faults({ ...beta, removed: '1.29' })).toEqual([])
    expect(faults({ stability: 'ALPHA', deprecated: '1.28', removed: '1.28' })).toEqual([])
    expect(metricEntries().length).toBeGreaterThan(0)
    expect(metricFaults(metricEntries())).toEqual([])
  })
})
