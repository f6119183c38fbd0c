/**
 * Suspension: how a component that shares its process with others is paused and killed as a process of its own would be. A component with a
 * process of its own has none.
 */
export interface Suspension {
  /** Undefined while the component runs. While it is paused, resolves when it goes on; once it was killed, never. */
  turn(): Promise<void> | undefined
  /** Aborts when it is killed: its listeners are gone at once, with all connections. */
  readonly killed: AbortSignal
}
