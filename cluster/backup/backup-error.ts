/** BackupError: a file is not a whole backup that this release can read. The message goes on after the name of the file. */
export class BackupError extends Error {
  /** Said of what decrypts the file, which knows no parts. */
  readonly isOfWhole: boolean

  constructor(
    message: string,
    more: { readonly cause?: unknown; readonly isOfWhole?: boolean } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'BackupError'
    this.isOfWhole = more.isOfWhole ?? false
  }

  /** With the part that was read last, when nothing named it yet. */
  after(part: string): BackupError {
    if (!this.isOfWhole) return this
    return new BackupError(`${this.message} after ${part}`, { cause: this })
  }
}
