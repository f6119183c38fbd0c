/** The release whose API is served, and what `/version` says. */

export const release = { major: '1', minor: '32', patch: '0' } as const

/** The release as metrics count it. */
export const metricsRelease = `${release.major}.${release.minor}`

/** Build metadata after `+` keeps the version comparable with upstream's for every client. */
const gitVersion = `v${release.major}.${release.minor}.${release.patch}+skiff`

export interface VersionInfo {
  readonly major: string
  readonly minor: string
  readonly gitVersion: string
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
  readonly goVersion: string
  readonly compiler: string
  readonly platform: string
}

/** What `scripts/build.ts` puts into a bundle about the commit it was built from. */
interface Build {
  readonly gitCommit: string
  readonly gitTreeState: string
  readonly buildDate: string
}
declare const __SKIFF_BUILD__: string | undefined

/** Run from its sources, it was not built. */
const build: Build =
  typeof __SKIFF_BUILD__ === 'string'
    ? (JSON.parse(__SKIFF_BUILD__) as Build)
    : { gitCommit: '', gitTreeState: '', buildDate: '1970-01-01T00:00:00Z' }

/** The body of `/version`; goVersion and compiler name the runtime, which clients only print. */
export function versionInfo(runtime: {
  version: string
  platform: string
  arch: string
}): VersionInfo {
  return {
    major: release.major,
    minor: release.minor,
    gitVersion,
    ...build,
    goVersion: `node${runtime.version}`,
    compiler: 'v8',
    platform: `${runtime.platform}/${runtime.arch === 'x64' ? 'amd64' : runtime.arch}`,
  }
}
