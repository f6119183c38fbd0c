/** The thread that owns the SQLite file: answers the calls of sqlite-messages.ts one after the other. A worker's entry. */
import { parentPort } from 'node:worker_threads'
import { SqliteDatabase } from './sqlite-database.ts'
import type {
  AnswerMessage,
  CallMessage,
  Calls,
  PackedValues,
  StoredVersions,
} from './sqlite-messages.ts'
import { StoreError } from './store.ts'

let database: SqliteDatabase | undefined

function opened(): SqliteDatabase {
  if (database === undefined) throw new StoreError('closed', 'the store has been closed')
  return database
}

function call({ name, request }: CallMessage): Calls[CallMessage['name']]['answer'] {
  switch (name) {
    case 'open':
      database = new SqliteDatabase(request as Calls['open']['request'])
      return { compactedRevision: database.compactedRevision() }
    case 'load':
      return opened().load(request as Calls['load']['request'])
    case 'commit':
      return opened().commit(request as Calls['commit']['request'])
    case 'read':
      return opened().read(request as Calls['read']['request'])
    case 'compact':
      opened().compact(request as Calls['compact']['request'])
      return undefined
    case 'room':
      return opened().hasRoom()
    case 'check':
      return opened().check()
    case 'releaseMemory':
      opened().releaseMemory()
      globalThis.gc?.({ type: 'major', flavor: 'last-resort' })
      return undefined
    case 'close':
      database?.close()
      database = undefined
      return undefined
  }
}

function answer(message: CallMessage): AnswerMessage {
  try {
    return { ok: true, answer: call(message) }
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

parentPort?.on('message', (message: CallMessage) => {
  const reply = answer(message)
  const bytes = reply.ok ? bytesOf(reply.answer) : undefined
  parentPort?.postMessage(reply, bytes === undefined ? [] : [bytes])
})
