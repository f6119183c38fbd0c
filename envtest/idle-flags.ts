/** IdleFlags: flags of an upstream program that are accepted because suites pass them, and have no effect here. */
import { flag } from '../components/component-base/flags.ts'
import type { Log } from '../components/component-base/log.ts'

export interface IdleFlagNames {
  /** Flags that need no value. */
  readonly switches: readonly string[]
  /** Flags with a value. */
  readonly values: readonly string[]
}

/** Their declarations, which --help does not show. The type keeps them out of what a program may read. */
export function idleFlags({ switches, values }: IdleFlagNames): object {
  const description = 'No effect.'
  return Object.fromEntries([
    ...switches.map((name) => [name, flag.bool(description, undefined, { hidden: true })]),
    ...values.map((name) => [
      name,
      flag.list(description, undefined, { hidden: true, isWhole: true }),
    ]),
  ])
}

/** Says in the log which of them were given. */
export function reportIdleFlags(
  { switches, values }: IdleFlagNames,
  options: Readonly<Record<string, unknown>>,
  log: Log,
): void {
  const given = [...switches, ...values].filter((name) => options[name] !== undefined)
  if (given.length === 0) return
  log.info('flags without effect', { flags: given.toSorted().map((name) => `--${name}`) })
}
