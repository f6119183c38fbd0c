/** Which versions a release serves, has deprecated and stores. */
import { describe, expect, it } from 'vitest'
import {
  apiVersionFaults,
  storageFaults,
} from '../../../components/api/lifecycles/deprecation-rules.ts'
import { releaseAfter } from '../../../components/api/lifecycles/release-calendar.ts'
import { versionsAt } from '../../../components/api/lifecycles/version-timeline.ts'

/** The specification's example, with X = 1.24. */
const x = (count: number): string => releaseAfter('1.24', count)
const example = [
  { version: 'v1alpha1', introduced: x(0) },
  { version: 'v1alpha2', introduced: x(1) },
  { version: 'v1beta1', introduced: x(2), deprecated: x(3), removed: x(6) },
  { version: 'v1beta2', introduced: x(3), deprecated: x(5), removed: x(8) },
  { version: 'v1', introduced: x(5) },
]

describe('the example timeline', () => {
  it('[VER-032] serves, deprecates and stores what each release of it should', () => {
    const table = Array.from({ length: 10 }, (_, count) => {
      const { served, deprecated, storage } = versionsAt(example, x(count))
      return [count, served.join(' '), deprecated.join(' '), storage]
    })
    expect(table).toEqual([
      [0, 'v1alpha1', '', 'v1alpha1'],
      [1, 'v1alpha2 v1alpha1', '', 'v1alpha1'],
      [2, 'v1beta1 v1alpha2', '', 'v1alpha2'],
      [3, 'v1beta2 v1beta1', 'v1beta1', 'v1beta1'],
      [4, 'v1beta2 v1beta1', 'v1beta1', 'v1beta2'],
      [5, 'v1 v1beta2 v1beta1', 'v1beta2 v1beta1', 'v1beta2'],
      [6, 'v1 v1beta2', 'v1beta2', 'v1'],
      [7, 'v1 v1beta2', 'v1beta2', 'v1'],
      [8, 'v1', '', 'v1'],
      [9, 'v1', '', 'v1'],
    ])
  })

  it('breaks no rule', () => {
    const entries = example.map(({ version, ...life }) => ({
      groupVersion: `example/${version}`,
      kind: 'Widget',
      ...life,
    }))
    expect(apiVersionFaults(entries)).toEqual([])
    const steps = Array.from({ length: 10 }, (_, count) => ({
      release: x(count),
      ...versionsAt(example, x(count)),
    }))
    expect(storageFaults('Widget', steps)).toEqual([])
  })

  it('[VER-017] an alpha version goes in the release after the one with its replacement', () => {
    expect(versionsAt(example, x(1)).served).toContain('v1alpha1')
    expect(versionsAt(example, x(2)).served).not.toContain('v1alpha1')
    expect(versionsAt(example, x(2)).served).toContain('v1alpha2')
    expect(versionsAt(example, x(3)).served).not.toContain('v1alpha2')
  })

  it('a kind that is not there yet has no versions', () => {
    expect(versionsAt(example, x(-1))).toEqual({ served: [], deprecated: [], storage: undefined })
  })
})
