/** The thread that reads YAML: a document in, its JSON out, one after the other. A worker's entry. */
import { parentPort } from 'node:worker_threads'
import { TooManyValuesError } from '../machinery/value-limit.ts'
import { load, loadLenient } from './yaml.ts'
import type { YamlAnswer, YamlRequest } from './yaml-messages.ts'

function answer({ text, isLenient }: YamlRequest): YamlAnswer {
  try {
    const source = Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString()
    const read = isLenient ? loadLenient(source) : { value: load(source), repeatedKey: undefined }
    const json = new TextEncoder().encode(JSON.stringify(read.value ?? null))
    return { ok: true, json, repeatedKey: read.repeatedKey }
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    return { ok: false, message, hasTooManyValues: error instanceof TooManyValuesError }
  }
}

parentPort?.on('message', (request: YamlRequest) => {
  const answered = answer(request)
  parentPort?.postMessage(answered, answered.ok ? [answered.json.buffer as ArrayBuffer] : [])
})
