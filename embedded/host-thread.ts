/**
 * HostThread: the other end of the thread that hosts embedded clusters. It keeps the process alive only while a call is under way, and
 * ends when it has had no cluster for a while: the test file that started it cannot know whether another one follows.
 */
import { systemClock } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import { Worker } from 'node:worker_threads'
import { workerFile } from '../components/component-base/worker-file.ts'
import { ComponentError } from './component-error.ts'
import type { HostAnswer, HostCall, HostCallName, HostCalls, HostFaults } from './host-protocol.ts'

interface Caller {
  readonly resolve: (answer: never) => void
  readonly reject: (error: Error) => void
}

/** Test files that follow each other find it ready. */
const idleMs = 10_000

export class HostThread {
  readonly #clock: Pick<Clock, 'after'>
  readonly #worker: Worker
  readonly #callers = new Map<number, Caller>()
  readonly #faults = new Map<number, AbortController>()
  #called = 0
  #clusters = 0
  #cancelEnd = (): void => {}
  #end: Error | undefined

  constructor(clock: Pick<Clock, 'after'> = systemClock) {
    this.#clock = clock
    const entry = workerFile(import.meta.url, 'embedded-host')
    this.#worker = new Worker(entry, {
      name: 'embedded-host',
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Young objects die young: with less, a start spends a seventh of its time on collecting them.
      resourceLimits: { maxYoungGenerationSizeMb: 32 },
    })
    this.#worker.unref()
    this.#worker.on('message', (message: HostAnswer | HostFaults) => {
      if ('faults' in message) this.#noteFaults(message)
      else this.#receive(message)
    })
    this.#worker.on('error', (error) => this.#fail(error))
    this.#worker.on('exit', () => this.#fail(new Error('it has ended')))
    this.#endWhenIdle()
  }

  /** Its clusters are gone, and it takes no more calls. */
  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  /** Aborts with a ComponentError when a component of the cluster fails. When all of them run again, there is another signal. */
  faultOf(cluster: number): AbortSignal {
    return this.#faultsOf(cluster).signal
  }

  #faultsOf(cluster: number): AbortController {
    const known = this.#faults.get(cluster) ?? new AbortController()
    this.#faults.set(cluster, known)
    return known
  }

  #noteFaults({ cluster, faults }: HostFaults): void {
    if (faults.length > 0) this.#faultsOf(cluster).abort(new ComponentError(faults))
    else if (this.#faults.get(cluster)?.signal.aborted === true) this.#faults.delete(cluster)
  }

  /** Starts a cluster for the first `start` with the same options. It keeps neither the process nor the thread alive. */
  prepare(request: HostCalls['prepare']['request']): void {
    const message: HostCall<'prepare'> = { id: 0, name: 'prepare', request }
    if (!this.hasEnded) this.#worker.postMessage(message)
  }

  async call<Name extends HostCallName>(
    name: Name,
    request: HostCalls[Name]['request'],
  ): Promise<HostCalls[Name]['answer']> {
    if (this.#end !== undefined) throw this.#end
    this.#called += 1
    const message: HostCall<Name> = { id: this.#called, name, request }
    if (this.#callers.size === 0) this.#worker.ref()
    this.#cancelEnd()
    try {
      const answer = await new Promise<HostCalls[Name]['answer']>((resolve, reject) => {
        this.#callers.set(message.id, { resolve, reject })
        this.#worker.postMessage(message)
      })
      if (name === 'start' || name === 'fork') this.#clusters += 1
      if (name === 'close') {
        this.#clusters -= 1
        this.#faults.delete((request as HostCalls['close']['request']).cluster)
      }
      return answer
    } finally {
      this.#endWhenIdle()
    }
  }

  #endWhenIdle(): void {
    if (this.#clusters > 0 || this.#callers.size > 0 || this.hasEnded) return
    this.#cancelEnd()
    this.#cancelEnd = this.#clock.after(idleMs, () => {
      this.#end = new Error('the thread of the embedded clusters has ended, since it had none')
      void this.#worker.terminate()
    })
  }

  #receive(message: HostAnswer): void {
    const caller = this.#callers.get(message.id)
    this.#callers.delete(message.id)
    if (this.#callers.size === 0) this.#worker.unref()
    if (caller === undefined) return
    if ('answer' in message) {
      caller.resolve(message.answer as never)
      return
    }
    const error = new Error(message.error.message)
    error.name = message.error.name
    caller.reject(error)
  }

  #fail(cause: Error): void {
    this.#end ??= new Error(`the thread of the embedded clusters failed: ${cause.message}`, {
      cause,
    })
    for (const { reject } of this.#callers.values()) reject(this.#end)
    this.#callers.clear()
  }
}
