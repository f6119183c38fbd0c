/** Process table of macOS and other Unix systems: the output of ps. */
import { execFileSync } from 'node:child_process'
import { environment } from '../../../components/component-base/environment.ts'
import type { ProcessTable } from './process-table.ts'
import { isThere } from './signal-zero.ts'

/** Runs ps; gives its output, and '' when it lists no process. Throws when ps cannot be run. */
export type Ps = (words: readonly string[]) => string

function runPs(words: readonly string[]): string {
  try {
    return execFileSync('ps', words, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
      // Start times are compared as text: the same for users of every language and time zone.
      env: { ...environment, LC_ALL: 'C', TZ: 'UTC0' },
    })
  } catch (error) {
    // It exits with 1 when no process matches.
    if ((error as { status?: unknown }).status === 1) return ''
    throw error
  }
}

/** What makes ps list environments: BSD's flag, and the one of Linux's ps. */
const withEnvironments: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ['axeww'],
}
const withEnvironmentsOfBsd = ['-A', '-E', '-ww']

export function psListing(platform: NodeJS.Platform, ps: Ps = runPs): ProcessTable {
  const environments = withEnvironments[platform] ?? withEnvironmentsOfBsd
  // One -o for each column: after a `=`, some systems take the rest of the word as a heading.
  const rowOf = (pid: number): string =>
    ps(['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)]).trim()
  return {
    isSlow: true,
    startTimeOf: (pid) => {
      const [, state = '', startTime] = /^(\S+)\s+(.+)$/.exec(rowOf(pid)) ?? []
      return state.startsWith('Z') ? undefined : startTime
    },
    isStopped: () => false,
    hasGroup: (group) =>
      isThere(-group) &&
      ps(['-A', '-o', 'pgid=', '-o', 'stat='])
        .split('\n')
        .some((row) => {
          const [of, state = 'Z'] = row.trim().split(/\s+/)
          return of === String(group) && !state.startsWith('Z')
        }),
    // Variables follow the command line, set apart by blanks.
    withVariable: (name, value) =>
      ps([...environments, '-o', 'pid=', '-o', 'command='])
        .split('\n')
        .filter((row) => `${row} `.includes(` ${name}=${value} `))
        .map((row) => Number.parseInt(row, 10)),
  }
}
