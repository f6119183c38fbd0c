/** What a scenario and the keeper of one of its commands say to each other. */

/** The keeper's first message: what to run. Later ones are `end` and `kill`. */
export interface KeeperWork {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

export type KeeperReport =
  | { readonly kind: 'started'; readonly pid: number }
  /** It could not be started: a code of the system, such as ENOENT. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** It has ended, and its whole group with it. */
  | { readonly kind: 'ended'; readonly code: number | null; readonly signal: string | null }
