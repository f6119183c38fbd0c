/** Child commands: what the supervisor asks of a running component (component-base/commands.ts), over its descriptor 3. */
import type { Writable } from 'node:stream'
import type { CommandLine, ReplyLine } from '../../components/component-base/command-channel.ts'

/** `unknown`: the component has no such command. `refused`: its message says why. `ended`: it ended before it answered. */
export class CommandError extends Error {
  readonly why: 'unknown' | 'refused' | 'ended'

  constructor(why: CommandError['why'], message: string) {
    super(message)
    this.name = 'CommandError'
    this.why = why
  }
}

export class ChildCommands {
  readonly #channel: Writable | undefined
  readonly #name: string
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  #asked = 0
  #isEnded = false

  /** `name`: the component's, for messages. `channel` is undefined where the process could not be spawned. */
  constructor(name: string, channel: Writable | undefined) {
    this.#name = name
    this.#channel = channel
    channel?.on('error', () => {}) // its end is reported by the reading side
  }

  call(command: string, params: unknown): Promise<unknown> {
    if (this.#isEnded || this.#channel === undefined) return Promise.reject(this.#goneError())
    this.#asked += 1
    const line: CommandLine = { command, id: this.#asked, params }
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(line.id, waiting)
    this.#channel.write(`${JSON.stringify(line)}\n`)
    return waiting.promise
  }

  /** Takes a line from the component; false if it is no reply. */
  take(line: Readonly<Record<string, unknown>>): boolean {
    if (typeof line['reply'] !== 'number') return false
    const reply = line as unknown as ReplyLine
    const waiting = this.#waiting.get(reply.reply)
    this.#waiting.delete(reply.reply)
    if ('result' in reply) waiting?.resolve(reply.result)
    else waiting?.reject(new CommandError(reply.isUnknown ? 'unknown' : 'refused', reply.error))
    return true
  }

  /** The component has ended: what it has not answered is rejected. */
  end(): void {
    this.#isEnded = true
    for (const { reject } of this.#waiting.values()) reject(this.#goneError())
    this.#waiting.clear()
  }

  #goneError(): CommandError {
    return new CommandError('ended', `${this.#name} has ended`)
  }
}
