/** RestObserver: what a REST client tells of its requests, so that a process can count and time them. */

export interface RestObserver {
  /** A request begins. A `stream` is one whose answer is read as it comes. */
  begin(of: {
    readonly method: string
    /** Of the server, with its port. */
    readonly host: string
    readonly isStream: boolean
  }): RequestObserver
}

/** One request, which is sent again for as long as the server asks for that. */
export interface RequestObserver {
  /** It is sent, with a body of that size. */
  sent(bytes: number): void
  /** What was sent got that status, or undefined: no answer. */
  answered(status: number | undefined): void
  /** The body of the last answer was read, not as a stream. */
  received(bytes: number): void
  /** A request that is no stream has ended, well or not. */
  ended(): void
}

export const unobserved: RequestObserver = {
  sent: () => {},
  answered: () => {},
  received: () => {},
  ended: () => {},
}
