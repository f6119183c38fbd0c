/** The thread that owns the SQLite file: answers the calls of sqlite-messages.ts one after the other. A worker's entry. */
import { parentPort, type MessagePort } from 'node:worker_threads'
import { SqliteDatabase } from './sqlite-database.ts'
import type {
  AnswerMessage,
  CallMessage,
  Calls,
  PackedValues,
  StoredVersions,
} from './sqlite-messages.ts'
import { StoreError } from './store.ts'

/** The file, once it is open. */
class Writer {
  #database: SqliteDatabase | undefined

  #opened(): SqliteDatabase {
    if (this.#database === undefined) throw new StoreError('closed', 'the store has been closed')
    return this.#database
  }

  call({ name, request }: CallMessage): Calls[CallMessage['name']]['answer'] {
    switch (name) {
      case 'open':
        this.#database = new SqliteDatabase(request as Calls['open']['request'])
        return { compactedRevision: this.#database.compactedRevision() }
      case 'load':
        return this.#opened().load(request as Calls['load']['request'])
      case 'fill':
        this.#opened().fill(request as Calls['fill']['request'])
        return undefined
      case 'commit':
        return this.#opened().commit(request as Calls['commit']['request'])
      case 'read':
        return this.#opened().read(request as Calls['read']['request'])
      case 'compact':
        this.#opened().compact(request as Calls['compact']['request'])
        return undefined
      case 'room':
        return this.#opened().hasRoom()
      case 'check':
        return this.#opened().check()
      case 'releaseMemory':
        this.#opened().releaseMemory()
        globalThis.gc?.({ type: 'major', flavor: 'last-resort' })
        return undefined
      case 'close':
        this.#database?.close()
        this.#database = undefined
        return undefined
    }
  }
}

function answerOf(writer: Writer, message: CallMessage): AnswerMessage {
  try {
    return { ok: true, answer: writer.call(message) }
  } catch (error) {
    const { code, message, reason } =
      error instanceof StoreError
        ? error
        : new StoreError('unavailable', error instanceof Error ? error.message : String(error))
    return { ok: false, code, message, reason }
  }
}

/** The buffer that an answer transfers instead of copying it. */
function bytesOf(answer: Calls[CallMessage['name']]['answer']): ArrayBuffer | undefined {
  const packed = answer as Partial<PackedValues & StoredVersions> | undefined
  return packed?.bytes ?? packed?.values?.bytes
}

function serve(port: MessagePort): void {
  const writer = new Writer()
  port.on('message', (message: CallMessage) => {
    const reply = answerOf(writer, message)
    const bytes = reply.ok ? bytesOf(reply.answer) : undefined
    port.postMessage(reply, bytes === undefined ? [] : [bytes])
  })
}

if (parentPort !== null) serve(parentPort)
