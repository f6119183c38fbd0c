/** UnknownKindError: a kind that the server does not have; the message suggests the nearest name. */
export class UnknownKindError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnknownKindError'
  }
}
