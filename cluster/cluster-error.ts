/** ClusterError: what a user of the command or the library can act on: one line, a hint, a kind that decides the exit code. */

export type ClusterErrorKind =
  'failed' | 'usage' | 'not-found' | 'already-exists' | 'not-running' | 'timeout' | 'permission'

export class ClusterError extends Error {
  readonly kind: ClusterErrorKind
  /** What to do about it, as one line. */
  readonly hint: string | undefined
  /** More lines that show the reason: the last lines of a log, usually. */
  readonly details: readonly string[]

  constructor(
    kind: ClusterErrorKind,
    message: string,
    more: { hint?: string; details?: readonly string[]; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ClusterError'
    this.kind = kind
    this.hint = more.hint
    this.details = more.details ?? []
  }
}
