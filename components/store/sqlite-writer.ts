/** The thread that owns the SQLite file: answers the calls of sqlite-messages.ts one after the other. A worker's entry. */
import { parentPort } from 'node:worker_threads'
import { SqliteDatabase } from './sqlite-database.ts'
import type { AnswerMessage, CallMessage, Calls, PackedValues } from './sqlite-messages.ts'
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
    const code = error instanceof StoreError ? error.code : 'unavailable'
    return { ok: false, code, message: error instanceof Error ? error.message : String(error) }
  }
}

parentPort?.on('message', (message: CallMessage) => {
  const reply = answer(message)
  const values = reply.ok ? (reply.answer as Partial<PackedValues> | undefined) : undefined
  parentPort?.postMessage(reply, values?.bytes === undefined ? [] : [values.bytes])
})
