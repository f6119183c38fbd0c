/** Messages between a scenario and the keeper of one of its commands. */

/** The first message to the keeper: the command. Later messages are `end` and `kill`. */
export interface KeeperWork {
  readonly command: string
  readonly args: readonly string[]
  /** The arguments are a command line of Windows, quoted already. */
  readonly windowsVerbatimArguments: boolean
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

export type KeeperReport =
  | { readonly kind: 'started'; readonly pid: number }
  /** The command did not start: a system error code, such as ENOENT. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** The command and its whole group have ended. */
  | { readonly kind: 'ended'; readonly code: number | null; readonly signal: string | null }
