/**
 * YAML bodies: short ones are read and written at once, all others by a thread of its own: to parse 3 MB of YAML can take a
 * second, for which no other request may wait. The thread is started when it is first needed, and ends when it has been idle.
 */
import { Worker } from 'node:worker_threads'
import { backgroundOf } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { workerFile } from '../../component-base/worker-file.ts'
import { TooManyValuesError } from '../../machinery/values/value-limit.ts'
import { tooManyRequests } from '../../machinery/objects/status-error.ts'
import { load, loadLenient, yamlOf, type LenientYaml } from '../../machinery/values/yaml.ts'
import type { YamlAnswer, YamlRequest } from './yaml-messages.ts'

/** Bodies up to this size are parsed, and written from JSON of this size, in a few milliseconds. */
const shortBytes = 8 * 1024
/** An anchor or alias, with which little text can become much. */
const aliased = /(?:^|[\s[{,:-])[&*][^\s"',]/
/** What may wait for the thread, as bytes of bodies. */
const mostWaitingBytes = 32 * 1024 * 1024
/** How much memory a document may take while it is parsed, in megabytes. */
const mostHeapMb = 512
/** How long the thread stays when there is nothing to do. */
const idleMs = 10_000

interface Waiting {
  readonly bytes: number
  readonly resolve: (answer: YamlAnswer) => void
  readonly reject: (error: Error) => void
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

export class YamlBodies {
  readonly #clock: Clock
  #thread: Worker | undefined
  /** The thread answers in order, so the oldest gets the next answer. */
  #waiting: Waiting[] = []
  #waitingBytes = 0
  #lastWrite: Promise<unknown> = Promise.resolve()
  #stopIdle: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Reads one document; with `isLenient` a key given twice is named and no error. Rejects with an error whose message is the
   * fault in one line, with TooManyValuesError, and with a TooManyRequests StatusError when too much waits already.
   */
  async read(body: Buffer, { isLenient = false } = {}): Promise<LenientYaml> {
    if (body.length <= shortBytes) {
      const text = body.toString()
      if (!aliased.test(text)) {
        return isLenient ? loadLenient(text) : { value: load(text), repeatedKey: undefined }
      }
    }
    if (this.#waitingBytes + body.length > mostWaitingBytes) throw tooManyRequests()
    const yaml = new Uint8Array(body)
    const answer = await this.#ask({ what: 'read', yaml, isLenient }, yaml)
    if (answer.ok) {
      const value: unknown = JSON.parse(bufferOf(answer.text).toString())
      return { value, repeatedKey: answer.repeatedKey }
    }
    throw answer.hasTooManyValues ? new TooManyValuesError() : new Error(answer.message)
  }

  /** Writes JSON text as YAML. Long texts are written one at a time, so that few are copied at once. */
  write(json: Buffer): Promise<Buffer> {
    if (json.length <= shortBytes) return Promise.resolve(Buffer.from(yamlOf(json.toString())))
    const written = this.#lastWrite.then(() => this.#writeLong(json))
    this.#lastWrite = written
    return written
  }

  /** Never rejects: the write that is answered may have been stored. */
  async #writeLong(original: Buffer): Promise<Buffer> {
    try {
      const json = new Uint8Array(original)
      const answer = await this.#ask({ what: 'write', json }, json)
      if (answer.ok) return bufferOf(answer.text)
    } catch {
      // Another document exhausted the thread, or the server stops.
    }
    return Buffer.from(yamlOf(original.toString()))
  }

  /** Ends the thread; pending calls reject. */
  async close(): Promise<void> {
    this.#stopIdle?.()
    const thread = this.#thread
    this.#fail(new Error('the server stops'))
    await thread?.terminate()
  }

  /** The request's text is given away. */
  #ask(request: YamlRequest, text: Uint8Array): Promise<YamlAnswer> {
    const bytes = text.length
    this.#stopIdle?.()
    this.#thread ??= this.#start()
    this.#waitingBytes += bytes
    this.#thread.postMessage(request, [text.buffer as ArrayBuffer])
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, resolve, reject })
    })
  }

  #start(): Worker {
    const thread = new Worker(workerFile(import.meta.url, 'yaml-worker'), {
      name: 'yaml',
      resourceLimits: { maxOldGenerationSizeMb: mostHeapMb },
    })
    thread.unref()
    const isOurs = (): boolean => this.#thread === thread
    thread.on('message', (answer: YamlAnswer) => {
      if (isOurs()) this.#receive(answer)
    })
    thread.on('error', (error) => {
      if (isOurs()) this.#fail(new Error('the thread for YAML failed', { cause: error }))
    })
    return thread
  }

  #receive(answer: YamlAnswer): void {
    const first = this.#waiting.shift()
    this.#waitingBytes -= first?.bytes ?? 0
    first?.resolve(answer)
    if (this.#waiting.length > 0) return
    this.#stopIdle = backgroundOf(this.#clock).after(idleMs, () => {
      if (this.#waiting.length === 0) void this.close()
    })
  }

  #fail(error: Error): void {
    this.#thread = undefined
    this.#waitingBytes = 0
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}
