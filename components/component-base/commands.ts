/**
 * Commands: what the process that started a component can ask of it while it runs, such as to obey a fault or to follow a clock. They are
 * for that process alone: no listener serves them.
 */

/** Parameters and results are JSON. Rejects with an error whose message says what is wrong with the parameters. */
export type CommandHandler = (params: unknown) => Promise<unknown>

/** Asks whether the event loop turns. Every component answers it. */
export const pulseCommand = 'pulse'

/** The commands of one component, by name. */
export class Commands {
  readonly #handlers = new Map<string, CommandHandler>()

  /** Adds a command. Throws for a name that is taken. */
  on(name: string, handler: CommandHandler): void {
    if (this.#handlers.has(name)) throw new Error(`command ${name} has a handler`)
    this.#handlers.set(name, handler)
  }

  /** Rejects with an UnknownCommandError for a name without a handler. */
  async call(name: string, params: unknown): Promise<unknown> {
    const handler = this.#handlers.get(name)
    if (handler === undefined) throw new UnknownCommandError(name)
    return await handler(params)
  }
}

/** The component has no such command: it does not follow what it was asked to. */
export class UnknownCommandError extends Error {
  constructor(name: string) {
    super(`unknown command ${name}`)
    this.name = 'UnknownCommandError'
  }
}
