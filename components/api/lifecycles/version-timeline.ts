/** Which versions of a kind a release serves, has deprecated, and stores, from when each came, was deprecated and went. */
import type { Lifecycle } from '../../machinery/objects/resource.ts'
import { compareReleases } from '../lifecycle.ts'
import { releaseAfter } from './release-calendar.ts'
import { compareVersions, stabilityOf } from './stability.ts'

export interface VersionLife extends Lifecycle {
  readonly version: string
}

export interface VersionsAt {
  /** Preferred first. */
  readonly served: readonly string[]
  readonly deprecated: readonly string[]
  /** The version that is stored and preferred; undefined when none is served. */
  readonly storage: string | undefined
}

/** An alpha version goes in the release after the one that brought a later version, when it does not say itself. */
function removalOf(life: VersionLife, lives: readonly VersionLife[]): string | undefined {
  if (life.removed !== undefined || stabilityOf(life.version) !== 'ALPHA') return life.removed
  const [next] = lives
    .filter(({ version }) => compareVersions(version, life.version) > 0)
    .map(({ introduced }) => introduced)
    .toSorted(compareReleases)
  return next === undefined ? undefined : releaseAfter(next, 1)
}

function servedAt(lives: readonly VersionLife[], release: string): VersionLife[] {
  return lives
    .filter((life) => {
      const removed = removalOf(life, lives)
      return (
        compareReleases(life.introduced, release) <= 0 &&
        (removed === undefined || compareReleases(removed, release) > 0)
      )
    })
    .toSorted((a, b) => compareVersions(b.version, a.version))
}

/**
 * The state of a kind's versions in a release. The storage version is the most preferred one that the previous release also
 * served, so that it can read everything after a rollback; a kind's first release has no such choice.
 */
export function versionsAt(lives: readonly VersionLife[], release: string): VersionsAt {
  const served = servedAt(lives, release)
  const before = new Set(servedAt(lives, releaseAfter(release, -1)).map(({ version }) => version))
  const names = served.map(({ version }) => version)
  return {
    served: names,
    deprecated: served
      .filter(({ deprecated }) => deprecated !== undefined)
      .filter(({ deprecated = '' }) => compareReleases(deprecated, release) <= 0)
      .map(({ version }) => version),
    storage: names.find((version) => before.has(version)) ?? names[0],
  }
}
