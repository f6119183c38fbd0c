/** The main thread's end of the writer's thread: a call is a promise, and the death of the thread fails them all. */
import { Worker } from 'node:worker_threads'
import { workerFile } from '../component-base/worker-file.ts'
import type { AnswerMessage, CallMessage, CallName, Calls } from './sqlite-messages.ts'
import { StoreError } from './store.ts'

interface Caller {
  readonly resolve: (answer: never) => void
  readonly reject: (error: StoreError) => void
}

export class SqliteThread {
  readonly #worker: Worker
  /** The thread answers in order, so the oldest caller gets the next answer. */
  readonly #callers: Caller[] = []
  readonly #death = Promise.withResolvers<StoreError>()
  #end: StoreError | undefined

  constructor() {
    this.#worker = new Worker(workerFile(import.meta.url, 'sqlite-writer'), {
      name: 'sqlite-writer',
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    this.#worker.on('message', (message: AnswerMessage) => this.#receive(message))
    this.#worker.on('error', (error) => this.#fail(`failed: ${String(error)}`, error))
    this.#worker.on('exit', () => this.#fail('has ended'))
  }

  /** Resolves with why when the thread has died; never when it was stopped. */
  get died(): Promise<StoreError> {
    return this.#death.promise
  }

  /** Rejects with what the thread answers, with `unavailable` when it has died and with `closed` after `stop`. */
  async call<Name extends CallName>(
    name: Name,
    request: Calls[Name]['request'],
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Calls[Name]['answer']> {
    if (this.#end !== undefined) throw this.#end
    const message: CallMessage = { name, request }
    return new Promise((resolve, reject) => {
      this.#callers.push({ resolve, reject })
      this.#worker.postMessage(message, transfer)
    })
  }

  /** Lets the thread answer what it has been asked, closes the file and ends the thread. Resolves also when it has died. */
  async stop(): Promise<void> {
    const closed = this.#end === undefined ? this.call('close', undefined) : undefined
    this.#end ??= new StoreError('closed', 'the store has been closed')
    try {
      await closed
    } finally {
      await this.#worker.terminate()
    }
  }

  #receive(message: AnswerMessage): void {
    const caller = this.#callers.shift()
    if (message.ok) caller?.resolve(message.answer as never)
    else {
      const { code, message: text, reason } = message
      caller?.reject(new StoreError(code, text, { reason }))
    }
  }

  #fail(what: string, cause?: unknown): void {
    if (this.#end === undefined) {
      const reason = cause instanceof Error ? { reason: cause.message } : {}
      const message = `the thread that writes the store ${what}`
      this.#end = new StoreError('unavailable', message, { cause, ...reason })
      this.#death.resolve(this.#end)
    }
    for (const caller of this.#callers.splice(0)) caller.reject(this.#end)
  }
}
