/** The thread for YAML: a document in, its JSON out, or the other way round, one after the other. A worker's entry. */
import { parentPort } from 'node:worker_threads'
import { TooManyValuesError } from '../../machinery/values/value-limit.ts'
import { load, loadLenient, yamlOf } from '../../machinery/values/yaml.ts'
import type { YamlAnswer, YamlRequest } from './yaml-messages.ts'

function answer(request: YamlRequest): YamlAnswer {
  if (request.what === 'write') {
    const text = new TextEncoder().encode(yamlOf(textOf(request.json)))
    return { ok: true, text, repeatedKey: undefined }
  }
  const { yaml, isLenient } = request
  try {
    const source = textOf(yaml)
    const read = isLenient ? loadLenient(source) : { value: load(source), repeatedKey: undefined }
    const text = new TextEncoder().encode(JSON.stringify(read.value ?? null))
    return { ok: true, text, repeatedKey: read.repeatedKey }
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    return { ok: false, message, hasTooManyValues: error instanceof TooManyValuesError }
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
}

parentPort?.on('message', (request: YamlRequest) => {
  const answered = answer(request)
  parentPort?.postMessage(answered, answered.ok ? [answered.text.buffer as ArrayBuffer] : [])
})
